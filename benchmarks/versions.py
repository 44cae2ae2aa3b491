"""``python -m benchmarks.versions REV``: is this version as fast as another? Alternating runs of both, and ratios.

REV is checked out beside; each job of ``version_jobs`` runs in new processes, one version after the other, several
times, so that a slow hour of the machine falls on both alike. With ``--write`` the table goes into docs/benchmarks.md.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from benchmarks import book, freshness
from benchmarks.book import table
from benchmarks.version_jobs import JOBS

ROOT = pathlib.Path(__file__).parents[1]
START = "import time; t = time.perf_counter(); from thresher import FGMClassifier; {}print(time.perf_counter() - t)"
FIT = "import numpy as np; X = np.random.default_rng(0).random((100, 200)); FGMClassifier(5).fit(X, X[:, 0] > 0.5); "
STARTS = {"import of FGMClassifier": START.format(""), "import and a first small fit, warm cache": START.format(FIT)}


def seconds(source, arguments):
    """What a child with this source of thresher prints."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    return float(done.stdout)


def compared(name, arguments, sources, rounds):
    """A row of the table: medians of both, and the median of the ratios round by round."""
    times = [[seconds(source, arguments) for source in sources] for _ in range(rounds)]
    old, new = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = sorted(after / before for before, after in times)
    print(name, f"{old:.3f} {new:.3f} {statistics.median(ratios):.3f}", file=sys.stderr, flush=True)
    return name, f"{old:.3f}", f"{new:.3f}", f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("revision", help="the version to compare with, as git knows it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="jobs whose name has this in it")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "other"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", other, asked.revision], check=True, cwd=ROOT)
        try:
            sources = other / "src", ROOT / "src"
            todo = {name: ["-m", "benchmarks.version_jobs", name, "3"] for name in JOBS}
            todo |= {name: ["-c", code] for name, code in STARTS.items()}
            rows = [compared(name, how, sources, asked.rounds) for name, how in todo.items() if asked.only in name]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], check=False, cwd=ROOT)
    text = report(asked.revision, asked.rounds, rows)
    print(text)
    if asked.write:
        book.write("versions", text, freshness.digest("benchmarks.versions"))


def report(revision, rounds, rows):
    """The table with a line that says what it is."""
    words = (
        f"## Before and after\n\n`python -m benchmarks.versions {revision} --rounds {rounds} --write`: medians of "
        f"{rounds} alternating runs of both versions in new processes, and the median of the ratios round by round."
    )
    return words + "\n\n" + table(("job", f"s, {revision}", "s, here", "ratio", "from round to round"), rows)


if __name__ == "__main__":
    main()
