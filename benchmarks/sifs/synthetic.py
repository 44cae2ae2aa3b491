"""Paper 5, table 1: 1000 points on syn1 to syn3, with each set of rules."""

from benchmarks import alone
from benchmarks.sifs.data import made_sets
from benchmarks.sifs.runner import PAPERS, TINY, contest, pinned
from benchmarks.sifs.tables import both, called, detail_rows, legend, method, seconds_row

LIMIT = 120.0
PAPER = (
    "The paper, with prox-SDCA as its solver on one core of 3.5 GHz: syn1 499 s alone, 15 s with SIFS (x 34); syn2 "
    "8750 s and 163 s (x 54); syn3 1280 s and 17 s (x 77); `sifs_sdca` below is that experiment with such a solver."
)


def report(quick=False):
    """The section of docs/benchmarks.md."""
    grid, rows, details = TINY if quick else PAPERS, [], []
    with pinned():
        for data in made_sets(quick):
            runs = contest(data, grid, limit=LIMIT, repeats=1 if quick else 3)
            rows.append(seconds_row(data, runs))
            details.extend(detail_rows(data, runs))
            for name, run in runs.items():
                print(data.name, called(name), run, sep="  ", flush=True)
    title = "### Made data (paper 5, table 1)"
    return "\n\n".join([title, method(grid), PAPER, *both(rows, details), legend()])


if __name__ == "__main__":
    alone.run(report, __doc__)
