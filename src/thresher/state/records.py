"""Lists of records, frozen dataclasses of numbers and strings, as parts of a document: a column for each field."""

import dataclasses
from typing import Any, TypeVar

from thresher.state.arrays import ArrayReader, ArrayWriter
from thresher.state.checks import fields
from thresher.state.typed import get_strings, put_strings
from thresher.state.values import default_of

DTYPES = {int: "<i8", float: "<f8"}  # of the types of fields
R = TypeVar("R")


def put_records(writer: ArrayWriter, name: str, cls: Any, records: list[Any]) -> dict[str, Any]:
    """Records of the class ``cls`` as a part of a document."""
    columns = {}
    for field in dataclasses.fields(cls):
        column = [getattr(record, field.name) for record in records]
        member = f"{name}.{field.name}"
        if field.type is str:
            columns[field.name] = put_strings(writer, member, column)
        else:
            kind: Any = field.type
            columns[field.name] = writer.put(member, column, DTYPES[kind])
    return columns


def get_records(reader: ArrayReader, value: Any, cls: type[R], what: str, *, finite: bool = False) -> list[R]:
    """The records that ``put_records`` was given; a column that is absent has the default of its field."""
    known: Any = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    value = fields(value, {name: default_of(field) for name, field in known.items()}, what)
    columns, count = {}, None
    for name, field in known.items():
        if value[name] is None and default_of(field) is None:
            continue
        if field.type is str:
            columns[name] = get_strings(reader, value[name], count, f"{name} of {what}")
        else:
            column = reader.get(value[name], DTYPES[field.type], (count,), f"{name} of {what}", finite=finite)
            columns[name] = column.tolist()
        count = len(columns[name])
    return [cls(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
