"""Values that files tell apart by the kind of their class."""

from typing import Any, ClassVar

from thresher.state.checks import Damaged, need, shown, string

OURS = "thresher."


class OfKind:
    """A value of a class with a kind, its name in files: ``class Mine(Base, kind="mine")``.

    A base class has ``kinds = {}``, where its subclasses are found by their kinds once they are defined.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type]]

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.kind = kind
        if not kind:
            return
        known = cls.kinds.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"the kind {kind!r} is already that of {known.__module__}.{known.__qualname__}")
        cls.kinds[kind] = cls  # defined again, as in a notebook

    @property
    def kind_state(self) -> dict[str, str]:
        """The kind as a part of a document and, unless it is thresher's own, the module that defines it."""
        cls = type(self)
        if not cls.kind:
            name = cls.__name__
            raise TypeError(f'{name} cannot be saved: it has no kind. Define it as class {name}(..., kind="...")')
        return {"kind": cls.kind} | ({} if cls.__module__.startswith(OURS) else {"module": cls.__module__})

    @classmethod
    def class_of(cls, state: Any, what: str) -> type:
        """The class of the kind in a part of a document; nothing is imported because a file names it."""
        need(isinstance(state, dict) and "kind" in state, f"{what} has no kind")
        kind = string(state["kind"], f"the kind of {what}", 100)
        if kind in cls.kinds:
            return cls.kinds[kind]
        module = state.get("module")
        remedy = f"; import {shown(module)}, which defines it, before loading" if isinstance(module, str) else ""
        raise Damaged(f"{what} has the unknown kind {shown(kind)}{remedy}")
