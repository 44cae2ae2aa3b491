"""Feed the readers what libFuzzer thinks of: ``python tests/fuzz/fuzz_readers.py svmlight|csv|npz|model [options]``.

Options are libFuzzer's: ``-max_total_time=600``, ``-max_len=4096``, a folder of seeds. Any bytes are read or
refused; what is read as svmlight must be what scikit-learn reads. Needs atheris: ``make fuzz`` installs it.
"""

import contextlib
import io
import os
import sys
import tempfile
import warnings

import atheris
import numpy as np
from sklearn.datasets import load_svmlight_file

import thresher.loops.text  # noqa: F401  (compiled code cannot be instrumented, so it is imported before)
from thresher.data.workers import SERIAL
from thresher.errors import InvalidDataError, ModelFileError

with atheris.instrument_imports(include=["thresher.io", "thresher.data.text", "thresher.models"]):
    from thresher.data.text import parsed, svmlight_rows
    from thresher.io import read
    from thresher.models import load

FOLDER = tempfile.mkdtemp(prefix="thresher-fuzz-")
SEEDS = {
    "svmlight": [
        b"+1 1:0.5 3:1e-3 # c\n-1 qid:3 2:17976931348623157e292\n",
        b"1 1:0.1234567890123456789 2:-4.9e-324\r\n",
    ],
    "csv": [b'a,b,label\n1,2,x\n"3",4,"y, z"\n', b"1;2;3\n4;5;6\n"],
    "npz": [],
    "model": [b'{"format": "thresher-model", "format_version": 1}'],
}


def svmlight(content):
    """Equal to scikit-learn's reader, or refused."""
    try:
        parts = list(parsed(svmlight_rows, io.BytesIO(content), "x", SERIAL))
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
    for name, content in (
        ("csv", SEEDS["csv"][0]),
        ("svmlight", SEEDS["svmlight"][0]),
    ):  # compile first
        (svmlight if name == "svmlight" else file_of(name))(content)
    atheris.Setup(
        [*sys.argv, "-timeout=10", "-rss_limit_mb=1500", seeds], svmlight if kind == "svmlight" else file_of(kind)
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
