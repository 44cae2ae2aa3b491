"""What values are written to files as, and back: every value that comes from a file is validated here, part by part."""

from thresher.state.arrays import ArrayReader, ArrayWriter
from thresher.state.checks import (
    INT64,
    REQUIRED,
    Damaged,
    boolean,
    fields,
    in_one_line,
    increasing,
    integer,
    need,
    real,
    reported,
    required,
    shown,
    shown_path,
    string,
)
from thresher.state.ids import get_begins, get_ids, get_parts, need_floats, need_ids, put_parts
from thresher.state.kinds import OfKind
from thresher.state.records import get_records, put_records
from thresher.state.typed import get_strings, get_typed, put_strings, put_typed
from thresher.state.values import get_value, put_value, register

__all__ = [
    "INT64",
    "REQUIRED",
    "ArrayReader",
    "ArrayWriter",
    "Damaged",
    "OfKind",
    "boolean",
    "fields",
    "get_begins",
    "get_ids",
    "get_parts",
    "get_records",
    "get_strings",
    "get_typed",
    "get_value",
    "in_one_line",
    "increasing",
    "integer",
    "need",
    "need_floats",
    "need_ids",
    "put_parts",
    "put_records",
    "put_strings",
    "put_typed",
    "put_value",
    "real",
    "register",
    "reported",
    "required",
    "shown",
    "shown_path",
    "string",
]
