"""Values that files tell apart by the kind of their class."""

from typing import Any, ClassVar

from thresher.state.checks import need, shown, string


class OfKind:
    """A value of a class that files know by its ``kind``: ``class Mine(Base, kind="mine")``.

    Without one the kind is the full name of the class, so that kinds of different packages are different. A base class
    has ``kinds = {}``, where its subclasses are found once they are defined: no module is imported for a file.
    """

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type]]

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.kind = kind or f"{cls.__module__}.{cls.__qualname__}"
        cls.kinds[cls.kind] = cls

    @classmethod
    def class_of(cls, state: Any, what: str) -> Any:
        """The class of the kind that a part of a document names."""
        need(isinstance(state, dict) and "kind" in state, f"{what} have no kind")
        kind = string(state["kind"], f"the kind of {what}", 1000)
        module = kind.rpartition(".")[0]
        remedy = f": import {shown(module)}, which defines it, before loading" if module else ""
        need(kind in cls.kinds, f"{what} have the unknown kind {shown(kind)}{remedy}")
        return cls.kinds[kind]
