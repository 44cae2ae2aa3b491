"""Files that are replaced atomically: after a crash at any moment the old or the new one is there, complete.

A file is written under another name, synced, and moved into place; then the folder is synced, so that the name lasts.
"""

import contextlib
import os
import secrets
import stat


def replaceable(path):
    """The path with all links resolved; OSError if it exists and is not a regular file."""
    path = os.path.realpath(path)
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a regular file and cannot be replaced")
    return path


@contextlib.contextmanager
def scratch_names(folder, count):
    """A list of unused file names in ``folder``; files with these names are deleted at the end."""
    names = [os.path.join(folder, f".thresher-{secrets.token_hex(8)}.tmp") for _ in range(count)]
    try:
        yield names
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name)


def write_synced(path, fill):
    """Write a new file by ``fill(file)``, and wait until it is on the disk."""
    with open(path, "x+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def move(scratch, path):
    """Rename ``scratch`` to ``path``, and sync the folder."""
    os.replace(scratch, path)
    sync_folder(os.path.dirname(path))


def sync_folder(folder):
    """Make the new names in ``folder`` persistent, if the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
