"""What a fitted model says of itself, as values: commands, notebooks and reports show the same."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHOWN = 20  # rows of a table in a notebook


@dataclass(frozen=True)
class Listing:
    """What a model has selected, the most important first.

    Parameters
    ----------
    noun : str
        What is listed, in the plural.
    names : list of str
        A name for each.
    places : list of dict
        Where each is found in X.
    weights : ndarray of shape (n,) or (n, n_classes)
        Weights; of one sign if ``weight`` says so.
    importance : ndarray of shape (n,), default=None
        Importance of each; None: not known.
    n_candidates : int, default=None
        How many there were to choose from; None: not known.
    head : str, default=None
        What one is called in the head of a table; None: as columns are called there.
    weight : str, default=None
        What the weights are, if they favour no class; None: weights of classes.
    details : list of str, default=None
        More about each, or None.
    ranked_by : str, default=""
        A sentence on the order.
    """

    noun: str
    names: list[str]
    places: list[dict[str, Any]]
    weights: np.ndarray
    importance: np.ndarray | None = None
    n_candidates: int | None = None
    head: str | None = None
    weight: str | None = None
    details: list[str] | None = None
    ranked_by: str = ""

    @property
    def size(self) -> int:
        """How many are listed."""
        return len(self.names)

    @property
    def title(self) -> str:
        """A line above the table."""
        of = "" if self.n_candidates is None else f"of {self.n_candidates:,} "
        return f"{self.size} {of}{self.noun}"

    def records(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rows as JSON-serializable values.

        Parameters
        ----------
        most : int, default=None
            The largest number of rows; None: all.

        Returns
        -------
        list of dict
            ``rank``, the place, ``name``, ``importance`` and ``weight`` of each.
        """
        rows = []
        for rank in range(self.size if most is None else min(most, self.size)):
            known = None if self.importance is None else float(self.importance[rank])
            row = {"rank": rank + 1, **self.places[rank], "name": self.names[rank]}
            rows.append(row | {"importance": known, "weight": self.weights[rank].tolist()})
        return rows

    def table(self, classes: Sequence[Any], head: str, most: int | None = None) -> list[tuple[list[str], ...]]:
        """The heads of a table and its rows as text.

        Parameters
        ----------
        classes : sequence
            The class labels.
        head : str
            What one is called in the head, unless the listing itself says it.
        most : int, default=None
            The largest number of rows; None: all.

        Returns
        -------
        list of tuple of three lists of str
            What comes before the weights, the weights, and what comes after them.
        """
        known = ["importance"] * (self.importance is not None)
        heads = ["weight", "favours class"] if self.weights.ndim == 1 else [str(label) for label in classes]
        heads = heads if self.weight is None else [self.weight]
        after = ["values"] * (self.details is not None)
        rows: list[tuple[list[str], ...]] = [(["rank", self.head or head, *known], heads, after)]
        for row in range(self.size if most is None else min(most, self.size)):
            importance = [] if self.importance is None else [f"{self.importance[row]:.4g}"]
            details = [] if self.details is None else [self.details[row]]
            rows.append(([str(row + 1), self.names[row], *importance], self._cells(row, classes), details))
        return rows

    def _cells(self, row: int, classes: Sequence[Any]) -> list[str]:
        """The weights of a row as text."""
        weights = self.weights[row]
        if self.weight is not None:
            return [f"{weights:.6g}"]
        if self.weights.ndim == 1:
            return [f"{weights:+.6g}", str(classes[int(weights > 0)])]
        return [f"{weight:+.4g}" for weight in weights]


@dataclass(frozen=True)
class Description:
    """A fitted model in values and sentences.

    Parameters
    ----------
    listing : Listing
        What was selected.
    classes : list
        The class labels.
    sentences : list of str
        Why the fit ended, and what is proven.
    score : str
        What cross-validation found, with what it does not say; empty: nothing was cross-validated.
    origin : list of str
        How the model was fitted.
    facts : dict
        The same as JSON-serializable values.
    """

    listing: Listing
    classes: list[Any]
    sentences: list[str]
    score: str = ""
    origin: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(self.listing.names[:SHOWN])
        more = ", ..." if self.listing.size > SHOWN else ""
        return "\n".join([f"{self.listing.title}: {names}{more}", *self.sentences, *filter(None, [self.score])])

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        heads, *rows = [[*left, *weights] for left, weights, _ in self.listing.table(self.classes, "feature", SHOWN)]
        lines = [f"<caption>{html.escape(self.listing.title)}</caption>", _table_row(heads, "th")]
        lines += [_table_row(cells, "td") for cells in rows]
        sentences = "<br>".join(html.escape(sentence) for sentence in self.sentences)
        return f"<table>{''.join(lines)}</table><p>{sentences}</p>"


def _table_row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
