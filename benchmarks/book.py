"""Where results go: tables between markers in docs/benchmarks.md, each with the version and machine that made it."""

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.freshness import mark, revision
from thresher import __version__

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
OPENING = "# Benchmarks\n\nWritten by `make bench`; what stands between markers is overwritten.\n"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def table(header, rows):
    """A Markdown table; cells are given as text."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine_line():
    """The version measured, the machine, its cores and memory, versions and the date. Names no host."""
    import psutil  # of the bench extra: tests know this module without it

    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    memory, commit = psutil.virtual_memory().total / 2**30, revision()
    return (
        f"thresher {__version__}{f' ({commit})' if commit else ''}, measured on {processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB memory, {platform.system()}; Python {platform.python_version()}, {versions}; "
        f"{datetime.date.today().isoformat()}."
    )


def processor():
    """The processor's name, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(name, text, code, page=PAGE):
    """Put ``text``, version, machine and the digest ``code`` between the markers of ``name``, made where missing."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = page.read_text() if page.exists() else OPENING
    section = f"{begin}\n\n{text.strip()}\n\n{machine_line()}\n\n{mark(code)}\n\n{end}"
    if begin in old and end in old:
        head, rest = old.split(begin, 1)
        new = head + section + rest.split(end, 1)[1]
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new)
