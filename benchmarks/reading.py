"""Reading text, on the same files: our reader of svmlight text and scikit-learn's, our reader of csv and pandas'."""

import gzip
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import real_set, text_like
from benchmarks.timing import interleaved, peak_growth
from thresher.io import read

HEAD = ("file", "rows x columns", "MB", "ours, MB/s", "ours on one thread, MB/s", "scikit-learn, MB/s",
        "times faster", "... on one thread", "memory over that of X: ours", "scikit-learn")  # fmt: skip


def matrices(quick):
    """(name, X): few digits and many, sparse and dense, made and real."""
    rows = 1000 if quick else 20_000
    counts = sparse.csr_matrix(text_like(rows, 5 * rows, 100 * rows, np.float32))
    counts.data = np.ceil(5.0 * counts.data)
    yield "word counts", counts
    weights = counts.copy()
    weights.data = np.random.default_rng(0).random(counts.nnz)
    yield "weights of 17 digits", weights
    yield "dense, 6 digits", np.round(np.random.default_rng(0).standard_normal((rows // 10, 1000)), 5)
    found = None if quick else real_set("news20_bigram")
    if found is not None:
        yield "news20_bigram", found[0]


def bytes_of(X):
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def line(name, path, X, repeats):
    """A line of the table: what both give is compared bit for bit before anything is timed."""
    ours, (theirs, _) = read(path).X, load_svmlight_file(str(path))
    assert ours.data.astype(np.float64).tobytes() == theirs.data.tobytes()
    assert np.array_equal(ours.indices, theirs.indices)
    calls = {
        "two": partial(read, path),
        "one": partial(read, path, n_jobs=1),
        "sk": partial(load_svmlight_file, str(path)),
    }
    memory = [peak_growth(calls["two"]) / bytes_of(ours), peak_growth(calls["sk"]) / bytes_of(theirs)]
    del ours, theirs
    seconds = {key: times.median for key, times in interleaved(calls, repeats, warm_up=False).items()}
    size = path.stat().st_size / 1e6
    return (
        name,
        f"{X.shape[0]} x {X.shape[1]}",
        f"{size:.0f}",
        *(f"{size / seconds[key]:.0f}" for key in ("two", "one", "sk")),
        f"{seconds['sk'] / seconds['two']:.1f}",
        f"{seconds['sk'] / seconds['one']:.1f}",
        *(f"{each:.1f}" for each in memory),
    )


CSV_HEAD = (
    "file",
    "MB",
    "ours, MB/s",
    "ours on one thread, MB/s",
    "pandas, MB/s",
    "memory over that of X: ours",
    "pandas",
)


def tables(quick):
    """(name, text) of csv files: many rows and many columns, of many digits and of few."""
    shapes = ((2000, 50), (20, 10_000)) if quick else ((200_000, 50), (200, 100_000))
    for rows, columns in shapes:
        for decimals in (17, 4):
            X = np.round(np.random.default_rng(0).standard_normal((rows, columns)), decimals)
            lines = (",".join(map(repr, row)) + f",c{i % 2}" for i, row in enumerate(X.tolist()))
            header = ",".join([*(f"g{j}" for j in range(columns)), "label"])
            yield f"{rows:,} x {columns:,}, {decimals} decimals", "\n".join([header, *lines]) + "\n"


def csv_line(name, path, repeats):
    """A line of the table of csv: what both give is compared before anything is timed."""
    import pandas

    ours, theirs = read(path).X, pandas.read_csv(path, float_precision="round_trip").iloc[:, :-1].to_numpy()
    assert np.array_equal(ours, theirs)
    size_of_X = ours.nbytes
    del ours, theirs
    calls = {"two": partial(read, path), "one": partial(read, path, n_jobs=1), "pandas": partial(pandas.read_csv, path)}
    memory = [f"{peak_growth(calls[key]) / size_of_X:.1f}" for key in ("two", "pandas")]
    seconds = {key: times.median for key, times in interleaved(calls, repeats, warm_up=False).items()}
    size = path.stat().st_size / 1e6
    return name, f"{size:.0f}", *(f"{size / seconds[key]:.0f}" for key in calls), *memory


def report(quick=False):
    """The section of docs/benchmarks.md."""
    lines, repeats = [], 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        for name, X in matrices(quick):
            path = Path(folder) / "data.svm"
            dump_svmlight_file(X, np.ones(X.shape[0]), str(path), zero_based=False)
            lines.append(line(name, path, X, repeats))
        packed = Path(folder) / "data.svm.gz"
        packed.write_bytes(gzip.compress(path.read_bytes(), compresslevel=6))
        lines.append(line(f"{name}, gzip", packed, X, repeats))
    text = (
        "Both read the same file into CSR; values and indices are equal bit for bit. MB are those of the file. Medians "
        f"of {repeats} interleaved rounds. Memory: growth of anonymous pages while reading, as multiples of the matrix "
        "that comes out; ours has 32-bit values where every one is exact so."
    )
    csv_lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, content in tables(quick):
            path = Path(folder) / "data.csv"
            path.write_text(content)
            csv_lines.append(csv_line(name, path, repeats))
    csv_text = "Ours is by pyarrow, in pieces of whole rows, with every field checked; values are equal bit for bit."
    svmlight_part = f"## Reading svmlight text\n\n{text}\n\n{table(HEAD, lines)}"
    return f"{svmlight_part}\n\n### csv\n\n{csv_text}\n\n{table(CSV_HEAD, csv_lines)}"


if __name__ == "__main__":
    alone.run(report, __doc__)
