"""Files of groups for ``thresher select``: ``column,group``, or ``node,parent`` for a tree."""

import csv

import numpy as np

from thresher.errors import InvalidDataError, did_you_mean
from thresher.features.groups.spec import Groups, Tree

GROUPS_HEADER, TREE_HEADER = ["column", "group"], ["node", "parent"]


def read_groups(path, names, n_columns, ungrouped):
    """The Groups in a file with a line for each column of each group."""
    place = columns_by_name(names, n_columns)
    groups: dict[str, list[int]] = {}
    for line, (column, group) in lines_of(path, GROUPS_HEADER):
        if not group:
            raise InvalidDataError(f"{path}, line {line}: the group is missing")
        if column not in place:
            raise InvalidDataError(f"{path}, line {line}: {unknown(column, names, n_columns)}")
        groups.setdefault(group, []).append(place[column])
    if not groups:
        raise InvalidDataError(f"{path}: there are no lines after the header")
    return Groups(groups, ungrouped=ungrouped)


def read_tree(path, names, n_columns):
    """The Tree in a file with a line for each node; an empty parent means a root, the name of a column that column."""
    place = columns_by_name(names, n_columns)
    numbers: dict[str, int] = {}
    found_at: dict[str, int] = {}
    parents: list[str] = []
    for line, (node, parent) in lines_of(path, TREE_HEADER):
        if not node:
            raise InvalidDataError(f"{path}, line {line}: the node is missing")
        if node in numbers:
            raise InvalidDataError(
                f"{path}, line {line}: node {node!r} has a line already, {found_at[node]}; a node has one parent"
            )
        numbers[node], found_at[node] = len(parents), line
        parents.append(parent)
    for node, parent in zip(numbers, parents, strict=True):
        if parent and parent not in numbers:
            raise InvalidDataError(
                f"{path}, line {found_at[node]}: the parent of node {node!r}, {parent!r}, has no line of its own; a "
                "root has an empty parent"
            )
    node_of = np.full(n_columns, -1)
    for node, number in numbers.items():
        if node in place:
            node_of[place[node]] = number
    if (node_of < 0).any():
        missing = int(np.argmin(node_of))
        raise InvalidDataError(
            f"{path}: {int((node_of < 0).sum()):,} of the {n_columns:,} columns are not in the tree, the first is "
            f"{names.of(missing)!r}: every column needs a line"
        )
    parent = np.array([numbers[name] if name else -1 for name in parents])
    return Tree(parent, node_of, names=list(numbers))


def columns_by_name(names, n_columns):
    """Numbers of the columns by their names; also by their numbers, where these are no names."""
    base = names.base or 0
    place = {str(j + base): j for j in range(n_columns)}
    return place | ({} if names.names is None else {str(name): j for j, name in enumerate(names.names)})


def unknown(column, names, n_columns):
    """What to say of a column that the data does not have."""
    base, near = names.base or 0, did_you_mean(column, names.names or ())
    if near:
        return f"no column {column!r} in the data{near}"
    return f"no column {column!r} in the data; expected a name or a number from {base} to {base + n_columns - 1}"


def lines_of(path, header):
    """(line number, two entries) of each line after the header, checked."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            first = [entry.strip() for entry in next(rows, [])]
            if first != header:
                expected, got = ",".join(header), ",".join(first)
                raise InvalidDataError(f"{path}, line 1: the header must be {expected}, got {got!r}")
            for row in rows:
                if not any(entry.strip() for entry in row):
                    continue
                if len(row) != 2:
                    raise InvalidDataError(f"{path}, line {rows.line_num}: expected 2 entries, got {len(row)}")
                yield rows.line_num, [entry.strip() for entry in row]
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{path}: not UTF-8 text") from error
    except csv.Error as error:
        raise InvalidDataError(f"{path}: {error}") from error
