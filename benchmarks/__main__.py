"""``python -m benchmarks [name ...] [--quick]``: run benchmarks and write their tables into the docs.

``python -m benchmarks --stale [name ...]`` lists the tables that are older than their code, and runs nothing.
"""

import argparse
import importlib
import sys

from benchmarks import book, freshness

BENCHMARKS = {
    "small": "benchmarks.linear.small",
    "small_own": "benchmarks.linear.own",
    "reach": "benchmarks.linear.ratios",
    "synthetic": "benchmarks.linear.synthetic",
    "picks": "benchmarks.linear.picks",
    "real": "benchmarks.linear.real",
    "choice": "benchmarks.linear.choice",
    "scan": "benchmarks.linear.scan",
    "threads": "benchmarks.linear.threads",
    "solvers": "benchmarks.linear.solvers",
    "convergence": "benchmarks.linear.convergence",
    "sifs_reach": "benchmarks.sifs.reach",
    "sifs_synthetic": "benchmarks.sifs.synthetic",
    "sifs_real": "benchmarks.sifs.real",
    "sifs_sdca": "benchmarks.sifs.dual",
    "sifs_hard": "benchmarks.sifs.hard",
    "sifs_defaults": "benchmarks.sifs.defaults",
    "online_accuracy": "benchmarks.online.accuracy",
    "online_sparsity": "benchmarks.online.sparsity",
    "online_reach": "benchmarks.online.reach",
    "reading": "benchmarks.reading",
    "startup": "benchmarks.startup",
    "structured_groups": "benchmarks.structured.groups",
    "structured_kernels": "benchmarks.structured.kernels",
    "products_reach": "benchmarks.products.reach",
    "products_real": "benchmarks.products.real",
    "alignment_path": "benchmarks.alignment.path",
    "alignment_half": "benchmarks.alignment.half",
    "alignment_cost": "benchmarks.alignment.cost",
    "alignment_svm": "benchmarks.alignment.kernel_svm",
    "measures_macro": "benchmarks.measures.macro",
    "measures_sets": "benchmarks.measures.sets",
    "measures_curves": "benchmarks.measures.curves",
    "measures_cost": "benchmarks.measures.cost",
    "bags_accuracy": "benchmarks.bags.accuracy",
    "bags_size": "benchmarks.bags.size",
}
BY_ITSELF = {"versions": "benchmarks.versions"}  # has a table, but is run by itself: it needs a revision


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    parser.add_argument("--stale", action="store_true", help="list tables older than their code; exit 1 if any")
    asked = parser.parse_args()
    known = BENCHMARKS | BY_ITSELF if asked.stale else BENCHMARKS
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    chosen = {name: known[name] for name in asked.names or known}
    if asked.stale:
        sys.exit(list_stale(chosen))
    for name, module in chosen.items():
        code, _ = freshness.digest(module), freshness.revision()  # kept: files may change while it runs
        text = importlib.import_module(module).report(asked.quick)
        print(f"{text}\n", flush=True)
        if not asked.quick:
            book.write(name, text, code)


def list_stale(modules):
    """Print a line for each stale table; 1 if there are any."""
    found = freshness.stale(book.PAGE.read_text(encoding="utf-8"), modules)
    for name, why in found.items():
        print(f"{name}: {why}")
    if not found:
        print(f"{len(modules)} tables, none older than its code")
    return int(bool(found))


if __name__ == "__main__":
    main()
