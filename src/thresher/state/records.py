"""Lists of records, frozen dataclasses of numbers and strings, as parts of a document: a column for each field."""

import dataclasses
from typing import Any, TypeVar

from thresher.state.arrays import ArrayReader, ArrayWriter
from thresher.state.checks import REQUIRED, fields
from thresher.state.typed import get_strings, put_strings

DTYPES = {int: "<i8", float: "<f8"}  # of the types of fields
R = TypeVar("R")


def put_records(writer: ArrayWriter, name: str, cls: type, records: list[Any]) -> dict[str, Any]:
    """Records of the class ``cls`` as a part of a document."""
    columns = {}
    for field in dataclasses.fields(cls):
        column = [getattr(record, field.name) for record in records]
        member = f"{name}.{field.name}"
        if field.type is str:
            columns[field.name] = put_strings(writer, member, column)
        else:
            columns[field.name] = writer.put(member, column, DTYPES[field.type])
    return columns


def get_records(reader: ArrayReader, value: Any, cls: type[R], what: str, *, finite: bool = False) -> list[R]:
    """The records that ``put_records`` was given; a column that is absent has the default of its field."""
    known: Any = {field.name: field for field in dataclasses.fields(cls)}
    defaults = {name: field.default for name, field in known.items()}
    table = {name: REQUIRED if default is dataclasses.MISSING else None for name, default in defaults.items()}
    columns, count = {}, None
    for name, part in fields(value, table, what).items():
        if part is None and table[name] is None:
            continue
        owner = f"{name} of {what}"
        if known[name].type is str:
            columns[name] = get_strings(reader, part, count, owner)
        else:
            columns[name] = reader.get(part, DTYPES[known[name].type], (count,), owner, finite=finite).tolist()
        count = len(columns[name])
    return [cls(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
