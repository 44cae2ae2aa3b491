"""Reading and writing JSON: laid out for people, and validated when it is read."""

import json

from thresher.state import Damaged, need

MOST_BYTES = 64_000_000
MOST_PARTS = 2_000_000  # brackets and colons: protects against small files with huge numbers of objects
MOST_LEVELS = 32


def parsed(data):
    """The JSON in ``data``, which is not too large, not too deep, and has no duplicate key."""
    need(len(data) <= MOST_BYTES, f"it is larger than {MOST_BYTES // 10**6} MB")
    need(sum(data.count(mark) for mark in (b"[", b"{", b":")) <= MOST_PARTS, "it has too many parts")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise Damaged("it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise Damaged(f"it is not UTF-8 text (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise Damaged(f"it is not JSON ({error.msg} in line {error.lineno}), it may be truncated") from error
    except ValueError as error:
        raise Damaged("it contains a number with too many digits") from error
    _check_depth(document, MOST_LEVELS)
    return document


def _unique_keys(pairs):
    entries = dict(pairs)
    need(len(entries) == len(pairs), "it contains a duplicate key")
    return entries


def _no_constant(name):
    raise Damaged(f"it contains {name}, which is not valid JSON")


def _check_depth(value, depth):
    need(depth > 0, "it is nested too deeply")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if type(part) in (dict, list):
            _check_depth(part, depth - 1)


def as_text(value, indent=0):
    """JSON that a person can read: objects and lists of lists over several lines, other lists on one."""
    pad = "\n" + " " * (indent + 1)
    if isinstance(value, dict) and value:
        inner = (f"{json.dumps(key, ensure_ascii=False)}: {as_text(part, indent + 1)}" for key, part in value.items())
        return "{" + pad + f",{pad}".join(inner) + pad[:-1] + "}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[" + pad + f",{pad}".join(as_text(part, indent + 1) for part in value) + pad[:-1] + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_dict(value, name):
    """``value``, a dict or None, as a dict of JSON values; TypeError for an invalid argument ``name``."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict, got {type(value).__name__}")
    try:
        plain = json.loads(json.dumps(value, allow_nan=False, default=_python_scalar))
        _check_depth(plain, MOST_LEVELS - 2)  # it is nested in an object of a document
    except (TypeError, ValueError, RecursionError, Damaged) as error:
        raise TypeError(f"{name} must be JSON-serializable: {error}") from error
    return plain


def _python_scalar(value):
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not supported")
