"""``python -m benchmarks [name ...] [--quick]``: run benchmarks and write their tables into the docs."""

import argparse

from benchmarks import book, reading, startup
from benchmarks.linear import choice, convergence, picks, real, scan, solvers, synthetic, threads
from benchmarks.online import accuracy as online_accuracy
from benchmarks.online import reach as online_reach
from benchmarks.online import sparsity as online_sparsity
from benchmarks.sifs import dual as sifs_sdca
from benchmarks.sifs import reach as sifs_reach
from benchmarks.sifs import real as sifs_real
from benchmarks.sifs import synthetic as sifs_synthetic

BENCHMARKS = {
    "synthetic": synthetic,
    "picks": picks,
    "real": real,
    "choice": choice,
    "scan": scan,
    "threads": threads,
    "solvers": solvers,
    "convergence": convergence,
    "sifs_reach": sifs_reach,
    "sifs_synthetic": sifs_synthetic,
    "sifs_real": sifs_real,
    "sifs_sdca": sifs_sdca,
    "online_accuracy": online_accuracy,
    "online_sparsity": online_sparsity,
    "online_reach": online_reach,
    "reading": reading,
    "startup": startup,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in asked.names or BENCHMARKS:
        text = BENCHMARKS[name].report(asked.quick)
        print(f"{text}\n", flush=True)
        if not asked.quick:
            book.write(name, f"{text}\n\n{book.machine_line()}")


if __name__ == "__main__":
    main()
