"""A call in a forked child, which shares the memory of its parent and is ended when its time is over."""

import multiprocessing
import os
import signal
import warnings


def in_child(call, limit):
    """(what ``call()`` returns, "") or, after ``limit`` seconds or if it fails, (None, why)."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=_tell, args=(theirs, call), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads of BLAS, which waits for forks
        child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(limit) else (None, f"over {limit:g} s")
    except EOFError:  # it has ended without a word
        child.join()
        return None, "no memory" if child.exitcode in (-signal.SIGKILL, -signal.SIGABRT) else "failed: crashed"
    finally:
        child.kill()
        child.join()
        ours.close()


def _tell(pipe, call):
    """In the child: call, and send what came of it."""
    try:
        pipe.send((call(), ""))
    except MemoryError:
        pipe.send((None, "no memory"))
    except Exception as error:
        pipe.send((None, f"failed: {error}"))
    finally:
        pipe.close()
        os._exit(0)
