"""Feed the readers what libFuzzer thinks of: ``python tests/fuzz/fuzz_readers.py KIND [options]``.

Kinds are svmlight, csv, npz, model and checkpoint. Options are libFuzzer's: ``-max_total_time=600``,
``-max_len=4096``, a folder of seeds. Any bytes are read or refused; what is read as svmlight must be what scikit-learn
reads. Needs atheris: ``make fuzz`` installs it.
"""

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import warnings
import zipfile

import atheris
import numpy as np
from sklearn.datasets import load_svmlight_file

import thresher.loops.text  # noqa: F401  (compiled code cannot be instrumented, so it is imported before)
from thresher.data.workers import SERIAL
from thresher.errors import InvalidDataError, ModelFileError
from thresher.estimators.stream.classifier import StreamClassifier

with atheris.instrument_imports(include=["thresher.io", "thresher.models"]):
    from thresher.io import read
    from thresher.io.text import parsed, pieces, svmlight_rows
    from thresher.models import load, read_checkpoint, save_checkpoint

FOLDER = tempfile.mkdtemp(prefix="thresher-fuzz-")
SEEDS = {
    "svmlight": [
        b"+1 1:0.5 3:1e-3 # c\n-1 qid:3 2:17976931348623157e292\n",
        b"1 1:0.1234567890123456789 2:-4.9e-324\r\n",
    ],
    "csv": [b'a,b,label\n1,2,x\n"3",4,"y, z"\n', b"1;2;3\n4;5;6\n", b',a,label\n0,1,"x\ny"\n1,2,z\n'],
    "npz": [],
    "model": [b'{"format": "thresher-model", "format_version": 1}'],
    "checkpoint": [],
}


def svmlight(content):
    """Equal to scikit-learn's reader, or refused."""
    try:
        jobs = ((line, piece, svmlight_rows) for line, piece in pieces(io.BytesIO(content), "x"))
        parts = list(parsed(jobs, "x", SERIAL))
    except InvalidDataError:
        return
    try:
        theirs, y = load_svmlight_file(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), zero_based=True)
    except (ValueError, OverflowError) as error:
        if "sorted and unique" not in str(error) and not isinstance(error, OverflowError):  # its indices have 32 bits
            raise
        return
    for ours, expected in (("labels", y), ("indices", theirs.indices), ("values", theirs.data)):
        found = np.concatenate([getattr(part, ours) for part in parts] or [expected[:0]]).astype(expected.dtype)
        assert found.tobytes() == expected.tobytes(), ours


def file_of(kind):
    """A reader of a file with the content."""

    def one(content):
        path = os.path.join(FOLDER, f"x.{kind}")
        with open(path, "wb") as file:
            file.write(content)
        with contextlib.suppress(InvalidDataError, ModelFileError):
            load(path) if kind == "model" else read(path, kind=kind)

    return one


DIGITS = 64
X = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5], [3.0, 1.0, 0.0]])


def checkpoint(content):
    """A checkpoint whose digest is right, whatever else it is: refused, or it can be learnt on."""
    path = os.path.join(FOLDER, "x.npz")
    with open(path, "wb") as file:
        file.write(content + hashlib.sha256(content).hexdigest().encode())
    with contextlib.suppress(InvalidDataError, ModelFileError), np.errstate(all="ignore"):
        clf, _ = read_checkpoint(path)
        if clf.n_features_in_ == X.shape[1]:
            clf.partial_fit(X, clf.classes_[[0, 1, 0]])
            assert clf.budget is None or clf.selection_.features.size <= clf.budget * clf.classes_.size


def checkpoint_seeds(folder):
    """Small checkpoints without their digests, of the two kinds of learners."""
    for method in ("b-arda", "ada-fobos", "sofs"):
        path = os.path.join(folder, method)
        save_checkpoint(StreamClassifier(2, method).partial_fit(X, [0, 1, 0], classes=[0, 1]), path)
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - DIGITS)


def main():
    """Start the fuzzer on the reader named first, on top of a few seeds."""
    warnings.simplefilter("ignore")
    kind = sys.argv.pop(1)
    seeds = os.path.join(FOLDER, "seeds")
    os.mkdir(seeds)
    for number, seed in enumerate(SEEDS[kind]):
        with open(os.path.join(seeds, str(number)), "wb") as file:
            file.write(seed)
    if kind == "npz":
        np.savez(os.path.join(seeds, "dense.npz"), X=np.eye(2), y=np.arange(2))
    if kind == "checkpoint":
        checkpoint_seeds(seeds)
        zipfile.ZipExtFile._update_crc = lambda self, data: None  # no fuzzer finds a sum that fits
    for name, content in (
        ("csv", SEEDS["csv"][0]),
        ("svmlight", SEEDS["svmlight"][0]),
    ):  # compile first
        (svmlight if name == "svmlight" else file_of(name))(content)
    longer = ["-max_len=16384"] if kind == "checkpoint" else []  # the last one counts
    target = {"svmlight": svmlight, "checkpoint": checkpoint}.get(kind) or file_of(kind)
    atheris.Setup([*sys.argv, *longer, "-timeout=10", "-rss_limit_mb=1500", seeds], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
