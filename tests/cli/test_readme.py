"""The lines of the README for the shell, word for word."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import thresher

README = Path(__file__).resolve().parents[2] / "README.md"


def test_console_lines_of_the_readme_run_as_they_stand(tmp_path):
    block = "".join(re.findall(r"```console\n(.*?)```", README.read_text(), flags=re.DOTALL))
    folder = Path(sys.executable).parent
    assert shutil.which("thresher", path=str(folder)), "the command is installed beside the interpreter"
    script = "set -e\n" + re.sub(r"^\$ ", "", block, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "20 of 3,000 features" in done.stdout
    assert len((tmp_path / "predictions.txt").read_text().splitlines()) == 1000
    assert thresher.load(tmp_path / "model.json").selection_.features.size == 20
    assert thresher.load(tmp_path / "stream.json").n_examples_ == 1500
