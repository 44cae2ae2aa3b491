"""How columns are grouped, as users describe it: labels, lists or a tree; and the units that follow for a design."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.data.designs.numbering import end_to_end
from thresher.data.designs.units import GroupUnits, Members, largest_positive
from thresher.data.scan.reducers import Ranked, best_first
from thresher.features.samples import Grouping, are_missing
from thresher.loops import trees
from thresher.state import register

WEIGHTS, UNGROUPED = ("size", "none"), ("error", "single", "drop")
ColumnNumbers = Callable[[str, Any], np.ndarray]  # (what, numbers or names of columns) to unique numbers


@register
@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of columns, by the label of each column or as lists of columns.

    Parameters
    ----------
    of : array-like of shape (n_features,), list of lists, or dict of lists
        The label of each column (integers or strings; None or NaN: in no group), or for each group its columns, by
        number or, for a data frame, by name. Lists may overlap; their labels are their places, or the keys of a
        dict.
    weights : {"size", "none"} or array-like of shape (n_groups,), default="size"
        The weight of each group: its number of columns, so that large groups are not preferred; 1; or given, in the
        order of the sorted labels, or of the lists. A group g is charged 1/2 weight ||w_g||^2.
    ungrouped : {"error", "single", "drop"}, default="error"
        What happens to columns in no group: an error, each is a group of its own, or they are never selected.

    Examples
    --------
    >>> from thresher import FGMClassifier, Groups
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(300, 2000, n_relevant=5, random_state=0)
    >>> pairs = Groups({f"pair {j}": [2 * j, 2 * j + 1] for j in range(1000)}, weights="none")
    >>> clf = FGMClassifier(3, groups=pairs).fit(data.X, data.y)
    >>> clf.selection_.groups, clf.selection_.features
    (array(['pair 269', 'pair 510', 'pair 848'], dtype=object), array([ 538,  539, 1020, 1021, 1696, 1697]))
    >>> data.relevant
    array([ 539,  615, 1021, 1272, 1697])
    """

    of: Any
    weights: Any = "size"
    ungrouped: str = "error"

    def __post_init__(self) -> None:
        _check_weights(self.weights)
        if self.ungrouped not in UNGROUPED:
            raise ValueError(f"ungrouped must be one of {UNGROUPED}, got {self.ungrouped!r}")


@register
@dataclass(frozen=True, eq=False)
class Tree:
    """Groups from a tree: every node is the group of all columns at or below it.

    Parameters
    ----------
    parent : array-like of int of shape (n_nodes,)
        The parent of each node; -1 for a root. There may be several roots.
    node : array-like of int of shape (n_features,), default=None
        The node of each column. None: the first n_features nodes are the columns.
    weights : {"size", "none"} or array-like of shape (n_nodes,), default="size"
        As in Groups; without weights ("none") a node always has at least the score of those below it.
    names : sequence of str, default=None
        Labels of the nodes in ``selection_.groups``. None: their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FGMClassifier, Tree
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(300, 2000, n_relevant=5, random_state=0)
    >>> parent = np.concatenate([2000 + np.arange(2000) // 2, np.full(1000, -1)])     # nodes 2000, 2001, ... are pairs
    >>> FGMClassifier(5, groups=Tree(parent)).fit(data.X, data.y).selection_.groups
    array([ 539,  615, 1021, 1272, 1697])
    """

    parent: Any
    node: Any = None
    weights: Any = "size"
    names: Any = None

    def __post_init__(self) -> None:
        _check_weights(self.weights)


def grouping(given: Any, n_columns: int, numbers: ColumnNumbers, shown_name: Callable[[int], str] = str) -> Grouping:
    """The Grouping that a user describes: Groups, Tree, or labels or lists, which are short for Groups.

    ``shown_name`` names a column in messages, and where it is a group of its own.
    """
    if isinstance(given, Tree):
        return _grouping_of_tree(given, n_columns)
    given = given if isinstance(given, Groups) else Groups(given)
    if isinstance(given.of, Mapping):
        entries, sizes = _listed(given.of.items(), numbers)
        labels = _labels(list(given.of))
    elif _is_lists(given.of):
        entries, sizes = _listed(enumerate(given.of), numbers)
        labels = np.arange(sizes.size)
    else:
        entries, sizes, labels = _labelled(given.of, n_columns)
    omega = _omega(given.weights, sizes)
    left = np.flatnonzero(np.bincount(entries, minlength=n_columns) == 0)
    if left.size and given.ungrouped == "error":
        raise ValueError(
            f"{left.size} of the {n_columns} columns are in no group, the first is column {shown_name(int(left[0]))}: "
            'add them to groups, or use Groups(..., ungrouped="single") or "drop" (--ungrouped)'
        )
    if left.size and given.ungrouped == "single":
        entries, sizes = np.concatenate([entries, left]), np.concatenate([sizes, np.ones_like(left)])
        omega = np.concatenate([omega, np.ones(left.size)])
        alone = np.array([f"column {shown_name(int(j))}" for j in left], dtype=object)
        labels = np.concatenate([labels.astype(object), alone])
    if not sizes.size:
        raise ValueError("groups has no groups: give at least one")
    begins = np.concatenate([[0], np.cumsum(sizes)])

    def units(columns: np.ndarray, before: np.ndarray, width: int) -> ListedGroups:
        return ListedGroups(before[begins], columns, omega, width)

    # not np.unique, which takes a third of a second for 400,000 columns
    return Grouping(labels, entries, np.flatnonzero(np.bincount(entries)), units)


def group_by_prefix(names: Sequence[str], separator: str = "_") -> np.ndarray:
    """The label of each column for one-hot blocks: its name up to the last ``separator``.

    Parameters
    ----------
    names : sequence of str
        Names of the columns, such as "colour_red" and "colour_blue", as ``OneHotEncoder`` and ``get_dummies`` give
        them.
    separator : str, default="_"
        What separates the name of a variable from that of a category. A name without it is a label of its own.

    Returns
    -------
    ndarray of str
        Labels, for ``FGMClassifier(groups=...)``.

    Examples
    --------
    >>> from thresher import group_by_prefix
    >>> group_by_prefix(["colour_red", "colour_blue", "age", "size_s", "size_m"])
    array(['colour', 'colour', 'age', 'size', 'size'], dtype=object)
    """
    if not separator:
        raise ValueError("separator must not be empty")
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f"names must be strings, got {wrong!r}")
    return np.array([name.rpartition(separator)[0] or name for name in names], dtype=object)


def _is_lists(of: Any) -> bool:
    return isinstance(of, Sequence) and not isinstance(of, str) and any(
        isinstance(entry, (Sequence, np.ndarray)) and not isinstance(entry, str) for entry in of
    )  # fmt: skip


def _listed(groups: Iterable[tuple[Any, Any]], numbers: ColumnNumbers) -> tuple[np.ndarray, np.ndarray]:
    """(columns group after group, their numbers) of (label, columns)."""
    lists = []
    for label, group in groups:
        lists.append(np.sort(numbers(f"groups[{label!r}]", group)))
        if lists[-1].size == 0:
            raise ValueError(f"groups[{label!r}] has no columns: leave it out")
    entries = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
    return entries, np.array([group.size for group in lists], dtype=np.int64)


def _labels(given: list) -> np.ndarray:
    """Labels as an array of integers, or else of objects."""
    wrong = next((label for label in given if not isinstance(label, (str, int, np.integer))), None)
    if wrong is not None:
        raise ValueError(f"labels of groups must be integers or strings, got {wrong!r}")
    labels = np.empty(len(given), dtype=object)
    labels[:] = given
    return labels if any(isinstance(label, str) for label in given) else labels.astype(np.int64)


def _labelled(of: Any, n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(columns group after group, their numbers, sorted labels) of an array with the label of each column."""
    of = np.asarray(of)
    if of.ndim != 1 or of.size != n_columns:
        raise ValueError(
            f"groups must have one label for each of the {n_columns} columns, or be a list of lists of columns; got an "
            f"array of shape {of.shape}"
        )
    missing = are_missing(of)
    if of.dtype.kind == "f":
        whole = bool((of[~missing] % 1 == 0).all())  # integers with gaps, as data frames have them
        of = np.where(missing, 0.0, of).astype(np.int64) if whole else of
    columns = np.flatnonzero(~missing)
    if of.dtype.kind not in "iuUO" or not (of.dtype.kind != "O" or all(isinstance(a, str) for a in of[columns])):
        raise ValueError(f"labels of groups must be integers or strings, got an array of dtype {of.dtype}")
    labels, group = np.unique(of[columns], return_inverse=True)
    order = np.argsort(group, kind="stable")
    labels = labels.astype(np.int64 if of.dtype.kind in "iu" else object)
    return columns[order], np.bincount(group, minlength=labels.size), labels


def _grouping_of_tree(tree: Tree, n_columns: int) -> Grouping:
    """The groups of a tree, checked."""
    parent = _integers("parent", tree.parent)
    count = parent.size
    node = np.arange(n_columns) if tree.node is None else _integers("node", tree.node)
    if tree.node is None and count < n_columns:
        raise ValueError(f"the tree has {count} nodes, but X has {n_columns} columns: say where these are with node")
    if node.size != n_columns:
        raise ValueError(f"node must have one entry for each of the {n_columns} columns, got {node.size}")
    for name, values, least in (("parent", parent, -1), ("node", node, 0)):
        wrong = np.flatnonzero((values < least) | (values >= count))
        if wrong.size:
            root = " (-1: a root)" if least < 0 else ""
            number = values[wrong[0]]
            raise ValueError(f"{name}[{wrong[0]}] is {number}, but the nodes of the tree are 0 to {count - 1}{root}")
    labels = np.arange(count) if tree.names is None else _labels(list(tree.names))
    if labels.size != count or len(set(labels.tolist())) < count:
        raise ValueError(f"names must be {count} different names, one for each node; got {labels.size}")
    walk, skip = _walked(parent, lambda v: repr(labels.tolist()[v]))
    place = np.empty(count, dtype=np.int64)
    place[walk] = np.arange(count)
    columns = np.argsort(place[node], kind="stable")  # in the order of the walk
    begins = np.searchsorted(place[node][columns], np.arange(count + 1))
    start, stop = begins[:-1], begins[skip]
    omega = _omega(tree.weights, (stop - start)[place])
    filled = stop > start
    start, stop = start[filled], stop[filled]
    skip = np.concatenate([[0], np.cumsum(filled)])[skip][filled]  # nodes without columns are none
    nodes, unit = np.unique(walk[filled], return_inverse=True)

    def units(here: np.ndarray, before: np.ndarray, width: int) -> TreeGroups:
        return TreeGroups(here, unit, before[start], before[stop], skip, omega[nodes], width)

    return Grouping(labels[nodes], columns, np.sort(columns), units)


def _walked(parent: np.ndarray, shown_name: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray]:
    """(nodes in the order of a walk from the roots, for each of its places where those below end)."""
    count = parent.size
    order = np.argsort(parent, kind="stable")  # children of each node, ascending
    begins = np.searchsorted(parent[order], np.arange(-1, count + 1))
    walk: list[int] = []
    stack = order[: begins[1]][::-1].tolist()
    while stack:
        v = stack.pop()
        walk.append(v)
        stack.extend(order[begins[v + 1] : begins[v + 2]][::-1].tolist())
    above = parent.tolist()
    if len(walk) < count:
        v = int(np.setdiff1d(np.arange(count), walk)[0])
        for _ in range(count):  # ends in a cycle
            v = above[v]
        raise ValueError(f"the tree has a cycle: node {shown_name(v)} is above itself")
    sizes = [1] * (count + 1)  # of the tree below each node, and of all: -1 is above roots
    for v in reversed(walk):
        sizes[above[v]] += sizes[v]
    places = np.array(walk, dtype=np.int64)
    return places, np.arange(count) + np.array(sizes)[places]


def _integers(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a 1D array of integers, got dtype {array.dtype} and shape {array.shape}")
    return array.astype(np.int64)


def _check_weights(weights: Any) -> None:
    if isinstance(weights, str) and weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {WEIGHTS} or an array, got {weights!r}")


def _omega(weights: Any, sizes: np.ndarray) -> np.ndarray:
    if isinstance(weights, str):
        return np.maximum(sizes, 1).astype(np.float64) if weights == "size" else np.ones(sizes.size)
    omega = np.asarray(weights, dtype=np.float64)
    if omega.shape != sizes.shape:
        raise ValueError(f"weights must have one entry for each of the {sizes.size} groups, got shape {omega.shape}")
    if not (np.isfinite(omega).all() and (omega > 0.0).all()):
        raise ValueError(f"weights of groups must be positive and finite; group {int(np.argmin(omega))} is not")
    return omega


class ListedGroups(GroupUnits):
    """Group g has the columns ``columns[begins[g] : begins[g + 1]]``, ascending; groups may overlap."""

    def __init__(self, begins: np.ndarray, columns: np.ndarray, omega: np.ndarray, width: int):
        self.begins, self.columns = begins, columns
        self._group_of_entry = np.repeat(np.arange(omega.size), np.diff(begins))
        super().__init__(omega, width, _dominated(begins, columns, omega), columns.size / omega.size)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        sizes = self.begins[units + 1] - self.begins[units]
        return Members(self.columns[end_to_end(self.begins[units], sizes)], sizes)

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        # bincount adds one by one, in the order of the entries
        scores = np.bincount(self._group_of_entry, weights=squares[self.columns], minlength=self.count) / self.omega
        scores[~free] = 0.0
        return largest_positive(scores, size)


class TreeGroups(GroupUnits):
    """A group for each node of a tree that has columns at or below it.

    ``columns`` are in the order of a walk through the tree, so that those of a node are a range: unit ``unit[v]``, the
    v-th of the walk, has columns[start[v] : stop[v]], and the nodes below it are v + 1 to skip[v] - 1. Ranking walks
    from the roots and skips what is below a node where nothing can be among the best; ``visited`` counts the nodes.
    """

    def __init__(
        self, columns: np.ndarray, walk: np.ndarray, start: np.ndarray, stop: np.ndarray, skip: np.ndarray,
        omega: np.ndarray, width: int,
    ):  # fmt: skip
        self.columns, self.start, self.stop, self.skip, self.unit = columns, start, stop, skip, walk
        self.at = np.argsort(walk)  # where the walk has each unit
        self.visited = 0
        super().__init__(omega, width, _dominated_above(start, stop, walk, omega), float((stop - start).mean()))
        self._least = omega[walk]
        trees.least_below(skip, self._least)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        at = self.at[units]
        sizes = self.stop[at] - self.start[at]
        return Members(self.columns[end_to_end(self.start[at], sizes)], sizes)

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        units, scores = np.empty(size, dtype=np.int64), np.empty(size)
        arrays = (self.start, self.stop, self.skip, self.unit, self.omega[self.unit], self._least)
        count, self.visited = trees.best_nodes(squares[self.columns], *arrays, free[self.unit], units, scores)
        order = best_first(scores[:count], units[:count])
        return units[order], scores[order]


def _dominated(begins: np.ndarray, columns: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Groups with the columns of another one whose weight is smaller, or equal and its number lower; sorted."""
    if columns.size == 0 or np.bincount(columns).max() == 1:
        return np.zeros(0, dtype=np.int64)
    best: dict[bytes, int] = {}
    for g in np.argsort(omega, kind="stable").tolist():
        best.setdefault(columns[begins[g] : begins[g + 1]].tobytes(), g)
    return np.setdiff1d(np.arange(omega.size), list(best.values()))


def _dominated_above(start: np.ndarray, stop: np.ndarray, unit: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Nodes of a walk with the columns of the one before or after it and a larger weight; sorted.

    Nodes with equal columns follow one another. Of equal weights the deepest stays.
    """
    run = np.cumsum(np.concatenate([[0], (np.diff(start) != 0) | (np.diff(stop) != 0)]))
    order = np.lexsort((-np.arange(unit.size), omega[unit], run))
    first = np.concatenate([[True], np.diff(run[order]) != 0])
    return np.sort(unit[order[~first]])
