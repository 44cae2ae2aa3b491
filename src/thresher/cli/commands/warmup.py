"""``thresher warmup``."""

import os
import shlex
import subprocess
import sys
import tempfile
import time

from thresher.cli.app import WrongUsage
from thresher.cli.start import DONE

CODE = "from thresher.cli.commands.first_calls import warm; warm()"


def run(cache):
    """Compile the loops in a process of its own, whose cache is in the folder, and say how to use that."""
    folder = os.path.abspath(cache)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WrongUsage(f"--cache {cache}: cannot be written: {error.strerror}") from None
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE], env=os.environ | {"NUMBA_CACHE_DIR": folder}, check=True)
    loops = sum(name.endswith(".nbc") for _, _, names in os.walk(folder) for name in names)
    sys.stdout.write(
        f"{loops} compiled loops are in {folder}; {time.perf_counter() - begun:.0f} s\n"
        f"So that they are found, set in the shell or the job script:\nexport NUMBA_CACHE_DIR={shlex.quote(folder)}\n"
    )
    return DONE
