"""Docstrings of the public face: a summary, and Parameters and Returns that agree with the signature."""

import enum
import functools
import inspect
import re

import pytest

import thresher
from thresher import io

SECTION = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>[*\w][\w*, ]*?)(?: : (?P<type>\S.*))?$")


def sections(doc):
    """{name: text} of a numpydoc docstring; the text before the first section is under ""."""
    doc = inspect.cleandoc(doc or "")
    begins = [*SECTION.finditer(doc)]
    ends = [*(match.start() for match in begins[1:]), len(doc)][: len(begins)]
    found = {match["name"]: doc[match.end() : end].strip("\n") for match, end in zip(begins, ends, strict=True)}
    return {"": doc[: begins[0].start()] if begins else doc} | found


def entries(text):
    """[(name, type or None, description)] of a section; "i, j : int" are two."""
    found = []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        line, _, description = block.partition("\n")
        match = ENTRY.match(line)
        if match is not None:  # else prose after the entries
            names = [name.strip() for name in match["names"].split(",")]
            found += [(name, match["type"], description.strip()) for name in names]
    return found


def parameters(function):
    """Names of the parameters as numpydoc writes them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + p.name for p in declared(function)]


def complaints(function, doc=None):
    """What is wrong with the docstring of a function, or with ``doc`` against the signature of ``function``."""
    own = doc is None
    parts = sections(function.__doc__ if own else doc)
    names = parameters(function)
    returns = inspect.signature(function).return_annotation not in (None, "None", inspect.Signature.empty)
    wrong = [] if parts[""].split("\n")[0].strip() else ["no summary"]
    described = entries(parts.get("Parameters", ""))
    if [name for name, _, _ in described] != names:
        wrong.append(f"Parameters are {[name for name, _, _ in described]}, the signature has {names}")
    bare = [name for name, type_, _ in described if type_ is None and name != "**kwargs"]
    if bare:
        wrong.append(f"no type of {', '.join(bare)}")
    wrong += [f"no description of {name}" for name, _, description in described if not description]
    if own and returns and not parts.get("Returns", "").strip():
        wrong.append("no Returns")
    if any(p.annotation is inspect.Parameter.empty for p in declared(function)):
        wrong.append("a parameter has no type hint")
    if own and inspect.signature(function).return_annotation is inspect.Signature.empty:
        wrong.append("the result has no type hint")
    return wrong


def declared(function):
    """The parameters of a function, without the first one of a method."""
    return [p for name, p in inspect.signature(function).parameters.items() if name not in ("self", "cls", "_cls")]


def plain(cls, name):
    """The function behind a method, a class method or ``available_if``; None where it is none."""
    raw = inspect.getattr_static(cls, name)
    raw = getattr(raw, "fn", raw)  # available_if
    raw = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
    return raw if inspect.isfunction(raw) else None


def documented(cls, name):
    """The method that documents ``name``: of a docstring such as "See Loss." that of a base class."""
    methods = [plain(each, name) for each in cls.__mro__ if name in vars(each)]
    return next(method for method in methods if method is None or not (method.__doc__ or "").startswith("See "))


def public_values():
    """{name: value} of all that users can import."""
    found = {name: getattr(thresher, name) for name in thresher.__all__}
    for package in (thresher.losses, thresher.measures, thresher.testing):
        found |= {name: getattr(package, name) for name in package.__all__}
    return found


def public_functions():
    """{name: function} of all that users can call."""
    found = {"io.read": io.read, "io.batches": io.batches}
    for name, value in public_values().items():
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            methods = {method: documented(value, method) for method in dir(value) if not method.startswith("_")}
            found |= {
                f"{name}.{method}": function
                for method, function in methods.items()
                if function is not None and function.__module__.startswith("thresher.")
            }
    return found


def public_classes():
    """{name: class} of those with an ``__init__`` of their own that users call."""
    return {
        name: value
        for name, value in public_values().items()
        if inspect.isclass(value) and not issubclass(value, (Exception, enum.Enum)) and not inspect.isabstract(value)
        and value is not thresher.FeaturePath
    }  # fmt: skip


FUNCTIONS, CLASSES = public_functions(), public_classes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_methods(name):
    assert complaints(FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", CLASSES)
def test_methods_that_refer_to_a_base_class_have_its_parameters(name):
    cls = CLASSES[name]
    for method in vars(cls):
        function = plain(cls, method)
        if function is not None and (function.__doc__ or "").startswith("See "):
            assert parameters(function) == parameters(documented(cls, method)), method
            assert inspect.signature(function).return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    cls = CLASSES[name]
    assert complaints(cls.__new__ if issubclass(cls, tuple) else cls.__init__, cls.__doc__) == []


@pytest.mark.parametrize("name", CLASSES)
def test_properties_have_a_line(name):
    properties = [
        value
        for key in dir(CLASSES[name])
        if not key.startswith("_")
        for value in [inspect.getattr_static(CLASSES[name], key)]
        if isinstance(value, (property, functools.cached_property))
    ]
    assert all(inspect.getdoc(value) for value in properties)


def test_the_public_face_is_found():
    """Neither list is empty, and inherited methods, class methods and conditional ones are among them."""
    expected = {"FGMClassifier.predict", "GridDisplay.from_estimator", "SparseSVCPath.stability", "Design.scan", "save"}
    assert expected <= set(FUNCTIONS)
    assert {"FGMClassifier", "PathDisplay", "Source", "Selection"} <= set(CLASSES)


def good(first: int, *, second: float = 0.0) -> int:
    """Add.

    Parameters
    ----------
    first : int
        One.
    second : float, default=0.0
        The other.

    Returns
    -------
    int
        The sum.
    """
    return first + int(second)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Add.", "", "no summary"),
        ("first : int", "frist : int", "signature has"),
        ("    second : float, default=0.0\n        The other.\n", "", "signature has"),
        ("    first : int\n        One.\n", "", "signature has"),
        ("first : int", "first", "no type of first"),
        ("        The other.\n", "", "no description of second"),
        ("Returns\n    -------\n    int\n        The sum.\n", "", "no Returns"),
    ],
)
def test_broken_docstrings_are_seen(old, new, complaint):
    """Each check fails on a copy that breaks what it is for."""

    def bad(first: int, *, second: float = 0.0) -> int:
        return first + int(second)

    assert complaints(good) == []
    bad.__doc__ = good.__doc__.replace(old, new, 1)
    assert bad.__doc__ != good.__doc__
    assert any(complaint in each for each in complaints(bad))


def test_parameters_in_another_order_and_missing_hints_are_seen():
    def swapped(second: float, first: int) -> int:
        return first + int(second)

    def bare(first, *, second=0.0):
        return first + int(second)

    swapped.__doc__ = bare.__doc__ = good.__doc__
    assert any("signature has" in each for each in complaints(swapped))
    assert complaints(bare) == ["a parameter has no type hint", "the result has no type hint"]
