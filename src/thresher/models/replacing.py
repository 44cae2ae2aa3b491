"""Files that are replaced in one step: after a crash at any moment the old one or the new one is there, whole.

A file is written under another name, synced, and moved into place; then the folder is synced, so that the name lasts.
"""

import contextlib
import os
import secrets
import stat


def replaceable(path):
    """The path behind all links; OSError where something is that is not a file."""
    path = os.path.realpath(path)
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a file that can be replaced")
    return path


@contextlib.contextmanager
def scratch_names(folder, count):
    """A list of names in ``folder`` that no file has; those that are files at the end are deleted."""
    names = [os.path.join(folder, f".thresher-{secrets.token_hex(8)}.tmp") for _ in range(count)]
    try:
        yield names
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name)


def write_synced(path, fill):
    """A new file, filled by ``fill(file)``, that is on the disk and not only on its way there."""
    with open(path, "x+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def move(scratch, path):
    """Give ``scratch`` the name ``path``, and make that last."""
    os.replace(scratch, path)
    sync_folder(os.path.dirname(path))


def sync_folder(folder):
    """Make the new names in ``folder`` last, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
