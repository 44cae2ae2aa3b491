"""Parameters that JSON does not know: arrays of any shape, sparse matrices, long lists, frozen values."""

import json
import os
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import thresher
from tests.models.damage import refused, write
from tests.models.zoo import fitted, same
from thresher.state import arrays
from thresher.state import values as registry


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def equal(a, b):
    """As ``same``, of values that hold sparse matrices and frozen values too."""
    if sparse.issparse(a):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and (a != b).nnz == 0
    if is_dataclass(a):
        return type(a) is type(b) and all(equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":  # nan is not equal to itself
        return type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return same(a, b)


def written(value, path):
    """(what comes back, the document): ``cv`` is not looked at unless C is "auto", so that it can be anything."""
    clf = clone(fitted("two"))
    clf.__dict__.update(vars(fitted("two")) | {"cv": value})
    thresher.save(clf, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    return thresher.load(path).cv, document


ARRAYS = {
    "integers": np.arange(-3, 3, dtype=np.int16),
    "unsigned": np.array([0, 2**64 - 1], dtype=np.uint64),
    "floats": np.array([0.1, np.nan, -np.inf, -0.0]),
    "single": np.array([[0.1, np.inf]], dtype=np.float32),
    "other order of bytes": np.array([[1, 2], [3, 4]], dtype=">i4"),
    "Fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "every second": np.arange(24).reshape(4, 6)[::2, ::-3],
    "booleans": np.array([[True, False, True]]),
    "strings": np.array([["a", "größe"], ["", "\ud800"]]),
    "objects": np.array([["a"], ["bcd"]], dtype=object),
    "a cube": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "one number": np.array(2.5),
    "no rows": np.zeros((0, 5)),
    "no columns": np.zeros((5, 0), dtype=np.int8),
    "no strings": np.zeros((0, 2), dtype="<U3"),
    "CSR": sparse.csr_array(np.eye(4, 6, 1)),
    "CSC matrix": sparse.csc_matrix(np.eye(4, 6, 1).astype(np.float32)),
    "an empty CSR": sparse.csr_array((3, 10**12)),
}


@pytest.mark.parametrize("limit", [arrays.INLINE, 0], ids=["lists", "npz"])
@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_keep_values_dtype_and_shape(case, limit, path, monkeypatch):
    """As a parameter, and nested in a list, a dict and a tuple; in the document, and in the .npz."""
    monkeypatch.setattr(arrays, "INLINE", limit)
    given = ARRAYS[case]
    assert equal(written(given, path)[0], given)
    nested = [given, {"a": (given, 1), 2: [given]}]
    assert equal(written(nested, path)[0], nested)


@pytest.mark.parametrize("dtype", ["int64", "int8", "float64", "bool", "U7", "object"])
def test_groups_of_a_million_columns_go_to_the_array_file(dtype, path):
    """The document stays small, wherever the array is; the file is found, read and equal."""
    groups = np.arange(10**6) % 1000
    groups = groups.astype(str).astype(dtype) if dtype in ("U7", "object") else groups.astype(dtype)
    given = [{"groups": (groups, None)}]
    found, document = written(given, path)
    assert equal(found, given)
    assert path.stat().st_size < 20_000
    beside = path.parent / document["arrays"]["file"]
    assert beside.stat().st_size > 10**6
    values = document["parameters"]["cv"][0]["pairs"][0][1]["tuple"][0]["array"]["values"]
    assert set(values) in ({"npz", "dtype", "shape"}, {"utf8", "begins"})


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("make", [int, float, str], ids=["int", "float", "str"])
def test_long_lists_of_one_type_go_to_the_array_file(make, kind, path):
    """Types of the container and of its entries come back."""
    given = kind(make(k) for k in range(200_000))
    found, _ = written({"groups": given}, path)
    assert type(found["groups"]) is kind
    assert found == {"groups": given}
    assert {type(each) for each in found["groups"]} == {make}
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize("given", [
    [1] * 200_000 + [0.5], [2**62, -(2**62)] * 70_000, [True] * 130_000, [None] * 130_000
], ids=["mixed", "large", "booleans", "none"])  # fmt: skip
def test_long_lists_of_other_kinds_come_back_too(given, path):
    """Mixed types are written one by one."""
    found, _ = written(given, path)
    assert found == given
    assert list(map(type, found)) == list(map(type, given))


def test_many_small_arrays_do_not_make_the_document_too_large(path, monkeypatch):
    """Each is below the limit for one; together they are not, and the rest goes to the .npz."""
    monkeypatch.setattr(arrays, "INLINE_TOTAL", 20_000)
    given = [np.arange(k, k + 100) for k in range(50)]
    found, document = written(given, path)
    assert equal(found, given)
    forms = [type(part["array"]["values"]) for part in document["parameters"]["cv"]]
    assert 0 < forms.count(list) < 25
    assert forms.count(dict) > 25
    assert document["arrays"] is not None


def test_labels_of_fixed_width_may_be_long_if_the_file_is(path):
    """80 MB of strings in memory, out of a file of 12 MB: real data, not a bomb."""
    groups = np.array(["x", "y" * 19]).astype("<U20")[np.arange(10**6) % 2]
    assert groups.nbytes > 2**26
    assert equal(written(groups, path)[0], groups)


WRONG_ARRAYS = {
    "too few": ({"array": {"dtype": "<i8", "shape": [2, 3], "values": [1, 2]}}, "another shape .cannot reshape array"),
    "negative": ({"array": {"dtype": "<i8", "shape": [-1, -2], "values": [1, 2]}}, "not an integer in the allowed"),
    "a word": ({"array": {"dtype": "<i8", "shape": "two", "values": [1, 2]}}, "invalid shape, 'two'"),
    "many axes": ({"array": {"dtype": "<i8", "shape": [1] * 9, "values": [1]}}, "shape"),
    "no array has it": ({"array": {"dtype": "<i8", "shape": [2**62, 2**62, 0], "values": []}}, "shape"),
    "more": ({"array": {"dtype": "<i8", "order": "F", "values": [1, 2]}}, "unknown field, 'order'"),
    "less": ({"array": {"dtype": "<i8"}}, "is missing the field 'values'"),
    "nested": ({"array": {"dtype": "<i8", "values": [[1], [2]]}}, "must contain integers only"),
    "a list of a list": ({"list": {"dtype": "<i8", "shape": [1, 1], "values": [1]}}, "must be a list"),
    "a list": ({"list": [1]}, "must be an object"),
    "padded": ({"array": {"dtype": "<U999999", "values": ["a", "b"] * 100}}, "too much memory"),
    "two kinds": ({"array": {"dtype": "<i8", "values": [1]}, "tuple": []}, "of unknown kind"),
    "no kind": ({}, "of unknown kind"),
    "an unknown kind": ({"set": []}, "of unknown kind"),
    "no container": (
        {"array": {"dtype": "<i8", "values": {"npz": "x", "dtype": "<i8", "shape": [3]}}}, "the document names none"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_arrays_that_cannot_be_are_refused(case, path):
    """One line that says why, though the checksum is right."""
    _, document = written(None, path)
    value, why = WRONG_ARRAYS[case]
    document["parameters"]["cv"] = value
    write(path, document)
    refused(path, f"parameter cv.*{why}")


WRONG_MATRICES = {
    "an index too large": ({"indices": [0, 3]}, "sparse matrix"),
    "an index below zero": ({"indices": [0, -1]}, "sparse matrix"),
    "indptr falls": ({"indptr": [0, 2, 1]}, "sparse matrix"),
    "indptr ends late": ({"indptr": [0, 1, 3]}, "sparse matrix"),
    "more rows": ({"shape": [10**12, 3]}, "sparse matrix"),
    "a flat shape": ({"shape": [3]}, "shape"),
    "another type": ({"type": "dok_array"}, "unknown type of sparse matrix"),
    "something callable": ({"type": "eye"}, "unknown type of sparse matrix"),
}


@pytest.mark.parametrize("case", WRONG_MATRICES)
def test_sparse_matrices_that_cannot_be_are_refused(case, path):
    """Structure is checked before anything is computed with it."""
    _, document = written(sparse.csr_array(np.array([[1.0, 0, 0], [0, 0, 2]])), path)
    held, (change, why) = document["parameters"]["cv"]["sparse"], WRONG_MATRICES[case]
    for key, value in change.items():
        if key in ("indices", "indptr"):
            held[key]["values"] = value
        else:
            held[key] = value
    write(path, document)
    refused(path, why)


@dataclass(frozen=True)
class Kernel:
    """As a kernel will be: numbers with a default, refused when they cannot be."""

    levels: int = 100
    shift: float = 0.0

    def __post_init__(self):
        if self.levels < 1:
            raise ValueError(f"levels must be at least 1, got {self.levels}")


@dataclass(frozen=True, eq=False)
class Grouped:
    """As groups will be: an array, another value, a field that is worked out, and one made by a factory."""

    labels: np.ndarray
    kernel: Any
    weights: dict = field(default_factory=dict)
    count: int = field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "count", len(np.unique(self.labels)))


@pytest.fixture
def known():
    """Both classes, registered for the time of a test."""
    before = dict(registry.VALUE_TYPES)
    registry.register(Kernel)
    registry.register(Grouped)
    yield
    registry.VALUE_TYPES.clear()
    registry.VALUE_TYPES.update(before)


VALUES = {
    "plain": Kernel(7, float("inf")),
    "defaults": Kernel(),
    "nested": Grouped(np.array([0, 1, 1]), Kernel(3), {"a": (1, None), 2: np.eye(2)}),
    "in a list": [Kernel(1), {"k": (Kernel(2),)}],
    "without a kernel": Grouped(np.array(["a", "b"]), None),
}


@pytest.mark.parametrize("limit", [arrays.INLINE, 0], ids=["lists", "npz"])
@pytest.mark.parametrize("case", VALUES)
def test_frozen_values_come_back(case, limit, path, known, monkeypatch):
    """With all their fields, those worked out by the class included."""
    monkeypatch.setattr(arrays, "INLINE", limit)
    found, _ = written(VALUES[case], path)
    assert equal(found, VALUES[case])


def test_a_frozen_value_can_be_read_by_people(path, known):
    """The name of its class, and its fields in the forms that parameters have."""
    _, document = written(Grouped(np.array([0, 1]), Kernel(3)), path)
    assert document["parameters"]["cv"] == {"value": {"type": "Grouped", "fields": {
        "labels": {"array": {"dtype": "<i8", "values": [0, 1]}},
        "kernel": {"value": {"type": "Kernel", "fields": {"levels": 3, "shift": 0.0}}},
        "weights": {"pairs": []},
    }}}  # fmt: skip


def test_large_arrays_inside_frozen_values_go_to_the_array_file(path, known):
    """Groups of a million columns, in a list of values."""
    given = [Grouped(np.arange(10**6) // 7, Kernel()), Grouped(np.arange(10**6) // 9, None)]
    found, document = written(given, path)
    assert equal(found, given)
    assert path.stat().st_size < 20_000
    names = [part["value"]["fields"]["labels"]["array"]["values"]["npz"] for part in document["parameters"]["cv"]]
    assert names[0] == "parameters.cv.labels"
    assert len(set(names)) == 2


def test_a_field_that_a_value_got_later_has_the_default_of_the_class(path, known):
    """Also one made by a factory; what has no default must be there."""
    _, document = written(Grouped(np.array([0, 1]), Kernel(3, 0.5)), path)
    held = document["parameters"]["cv"]["value"]["fields"]
    del held["kernel"]["value"]["fields"]["shift"], held["weights"]
    write(path, document)
    assert equal(thresher.load(path).cv, Grouped(np.array([0, 1]), Kernel(3)))
    del held["labels"]
    write(path, document)
    refused(path, "Grouped of parameter cv is missing the field 'labels'")


WRONG_VALUES = {
    "an unknown class": ({"type": "Popen", "fields": {}}, "has the unknown type 'Popen'"),
    "no class": ({"type": 3, "fields": {}}, "type"),
    "an unknown field": (
        {"type": "Kernel", "fields": {"colour": 1}},
        "Kernel of parameter cv has an unknown field, 'col",
    ),
    "a field that is not of init": ({"type": "Grouped", "fields": {"count": 1, "labels": 1, "kernel": 1}}, "'count'"),
    "fields are a list": ({"type": "Kernel", "fields": [1, 2]}, "must be an object"),
    "no fields": ({"type": "Kernel"}, "is missing the field 'fields'"),
    "more": ({"type": "Kernel", "fields": {}, "module": "os"}, "unknown field, 'module'"),
    "refused by the class": ({"type": "Kernel", "fields": {"levels": 0}}, "valid Kernel .levels must be at least 1"),
    "of another type": ({"type": "Kernel", "fields": {"levels": "many"}}, "not a valid Kernel"),
    "an odd field": ({"type": "Kernel", "fields": {"levels": {"float": "x"}}}, "levels of parameter cv"),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_frozen_values_that_cannot_be_are_refused(case, path, known):
    """Whatever is wrong, it is a ModelFileError that names it."""
    _, document = written(None, path)
    held, why = WRONG_VALUES[case]
    document["parameters"]["cv"] = {"value": held}
    write(path, document)
    refused(path, why)


def test_frozen_values_are_nested_as_deep_as_lists_are(path, known):
    """Eight levels; one more is left out when it is written, and refused when it is read."""
    value = Kernel()
    for _ in range(6):
        value = Grouped(np.zeros(1), value)
    assert equal(written(value, path)[0], value)
    deeper = Grouped(np.zeros(1), value)
    with pytest.warns(UserWarning, match="parameter cv was not saved"):
        written(deeper, path)
    _, document = written(value, path)
    inner = document["parameters"]["cv"]
    document["parameters"]["cv"] = {"value": {"type": "Grouped", "fields": {"labels": 1, "kernel": inner}}}
    write(path, document)
    refused(path, "nested too deep")


def test_a_value_that_is_not_registered_is_left_out_and_told(path):
    """Only classes of the list are made, whatever a file says."""
    clf = clone(fitted("two"))
    clf.__dict__.update(vars(fitted("two")) | {"cv": Kernel(3)})
    thresher.save(clf, path)
    with pytest.warns(UserWarning, match=r"parameter cv was not saved, it was 'Kernel\(levels=3"):
        assert thresher.load(path).cv is None
    assert os.listdir(path.parent) == ["model.json"]


@pytest.mark.parametrize("rest", [object(), np.zeros((1,) * 9), np.array([1j]), np.array([object()])])
def test_arrays_of_a_parameter_that_is_left_out_do_not_ride_along(rest, path):
    """A large array, and something beside it that has no form: the whole parameter is left out, and its array too."""
    with pytest.warns(UserWarning, match="parameter cv was not saved"):
        found, document = written([np.arange(10**6), rest], path)
    assert found is None
    assert list(document["parameters"]["cv"]) == ["left_out"]
    assert os.listdir(path.parent) == ["model.json"]


def test_only_frozen_dataclasses_are_registered_each_under_its_own_name(known):
    """What can change, or is no dataclass, is no value; names are unique."""

    @dataclass
    class Loose:
        a: int = 0

    other = dataclass(frozen=True)(type("Kernel", (), {}))
    for cls in (Loose, int):
        with pytest.raises(TypeError, match="must be a frozen dataclass"):
            registry.register(cls)
    with pytest.raises(ValueError, match="another class is already registered as Kernel"):
        registry.register(other)
    registry.register(Kernel)  # again, the same
    assert registry.VALUE_TYPES["Kernel"] is Kernel
