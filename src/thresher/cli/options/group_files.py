"""Files of groups for ``thresher select``: ``column,group``, or ``node,parent`` for a tree."""

import csv

import numpy as np

from thresher.errors import InvalidDataError
from thresher.features.groups.spec import Groups, Tree

GROUPS_HEADER, TREE_HEADER = ["column", "group"], ["node", "parent"]


def read_groups(path, names, n_columns, ungrouped):
    """The Groups in a file with a line for each column of each group."""
    groups: dict[str, list[int]] = {}
    for line, (column, group) in lines_of_groups(path, GROUPS_HEADER):
        if not group:
            raise InvalidDataError(f"{path}, line {line}: the group is missing")
        try:
            groups.setdefault(group, []).append(names.column(column, n_columns))
        except ValueError as error:
            raise InvalidDataError(f"{path}, line {line}: {error}") from None
    if not groups:
        raise InvalidDataError(f"{path}: there are no lines after the header")
    return Groups(groups, ungrouped=ungrouped)


def read_tree(path, names, n_columns):
    """The Tree in a file with a line for each node; an empty parent means a root, the name of a column that column."""
    parents: dict[str, str] = {}
    found_at: dict[str, int] = {}
    for line, (node, parent) in lines_of_groups(path, TREE_HEADER):
        if not node:
            raise InvalidDataError(f"{path}, line {line}: the node is missing")
        if node in parents:
            raise InvalidDataError(
                f"{path}, line {line}: node {node!r} has a line already, {found_at[node]}; a node has one parent"
            )
        parents[node] = parent
        found_at[node] = line
    numbers = {node: number for number, node in enumerate(parents)} | {"": -1}
    node_of = np.full(n_columns, -1)
    for node, parent in parents.items():
        if parent not in numbers:
            raise InvalidDataError(
                f"{path}, line {found_at[node]}: the parent of node {node!r}, {parent!r}, has no line of its own; a "
                "root has an empty parent"
            )
        place = names.place(node, n_columns)
        if place is not None:
            node_of[place] = numbers[node]
    if (node_of < 0).any():
        missing = int(np.argmin(node_of))
        raise InvalidDataError(
            f"{path}: {int((node_of < 0).sum()):,} of the {n_columns:,} columns are not in the tree, the first is "
            f"{names.of(missing)!r}: every column needs a line"
        )
    return Tree(np.array([numbers[parent] for parent in parents.values()]), node_of, names=list(parents))


def lines_of_groups(path, header):
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
