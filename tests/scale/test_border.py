"""The border: how X is stored is known to data and to the doors alone; all other rooms see Designs and Blocks."""

import ast
import importlib
import pathlib
import pkgutil

import pytest

from thresher import data
from thresher.data.blocks.base import Block

SOURCE = pathlib.Path(data.__file__).parents[1]
# What may ask how a matrix is stored, and why.
DOORS = {
    "data": "the storages themselves",
    "features": "what features are made of, in each storage",
    "io": "files to matrices",
    "estimators/shared/base.py": "checks what users give",
    "estimators/shared/frames.py": "which library a data frame is of",
    "estimators/shared/selector.py": "checks what users give",
    "estimators/stream/classifier.py": "checks batches; columns may be told apart by number alone",
    "cli/commands/first_calls.py": "makes data in each storage",
    "testing": "laws compare with arrays",
    "results/interchangeable.py": "a graph of features; X is never seen there",
    "results/weights.py": "weights of a few features as sparse rows; X is never seen there",
    "state/values.py": "a parameter may be a sparse matrix",
}
# Attributes of arrays and sparse matrices that differ from storage to storage. Blocks, too, have a ``toarray``: see
# ``allowed_attributes``.
STORAGE = {
    "nnz", "getnnz", "indptr", "indices", "has_sorted_indices", "has_canonical_format", "sort_indices",
    "sum_duplicates", "eliminate_zeros", "tocsr", "tocsc", "tocoo", "tobsr", "todia", "todok", "tolil", "asformat",
    "getformat", "todense", "toarray", "c_contiguous", "f_contiguous", "forc",
}  # fmt: skip
SPARSE = {"issparse", "isspmatrix", "isspmatrix_csr", "isspmatrix_csc", "sparray", "spmatrix"} | {
    f"{order}_{kind}" for order in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil") for kind in ("array", "matrix")
}
CLASSES = {
    name
    for module in pkgutil.walk_packages(data.__path__, "thresher.data.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, type) and issubclass(value, Block) and value is not Block
}
ASKS = {"hasattr", "getattr", "isinstance", "type", "attrgetter", "methodcaller"}


def allowed_attributes(path):
    """Solvers may make a small Block dense."""
    return {"toarray"} if path.startswith("optim/") else set()


def name_of(node):
    """The last name of ``a``, ``b.a`` or ``c.b.a``; of anything else None."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def imports(node):
    """Full names of what an import statement brings in."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [f"{node.module}.{each.name}" for each in node.names]


def asked(node):
    """What a call of ``hasattr`` and its like asks of which object."""
    told = {each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    found = {f"asks for {name!r}" for name in told & (STORAGE | {"format", "flags"})}
    about_X = bool(node.args) and name_of(node.args[0]) == "X" and told != {"shape"}  # every storage has a shape
    return found | ({"asks what X is"} if about_X else set())


def knowledge_of_storage(source, allowed=frozenset()):
    """All that a module's source knows of how matrices are stored, in words."""
    tree, found = ast.parse(source), set()
    # "".format(...) is called, and np.lib.format is a module: neither tells a storage.
    harmless = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    harmless |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = imports(node)
            found |= {"imports scipy.sparse" for name in names if f"{name}.".startswith("scipy.sparse.")}
            found |= {f"knows {name.split('.')[-1]}" for name in names if name.split(".")[-1] in CLASSES}
        elif isinstance(node, ast.Attribute):
            if node.attr in STORAGE - allowed:
                found.add(f"reads .{node.attr}")
            elif node.attr == "format" and id(node) not in harmless:
                found.add("reads .format")
        elif isinstance(node, ast.Call) and name_of(node.func) in ASKS:
            found |= asked(node)
        elif isinstance(node, ast.Constant) and node.value == "scipy.sparse":
            found.add("imports scipy.sparse")
        if name_of(node) in SPARSE | CLASSES:
            found.add(f"knows {name_of(node)}")
    return found


def modules_beyond_the_doors():
    """{path: what the module knows of storage} of all modules that must not."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if path not in DOORS and path.split("/")[0] not in DOORS:
            found[path] = knowledge_of_storage(file.read_text(), allowed_attributes(path))
    return found


def test_storage_is_known_to_data_and_the_doors_only():
    """Solvers, engine, families, reports, commands and model files never ask how X is stored."""
    found = modules_beyond_the_doors()
    rooms = {path.split("/")[0] for path in found}
    assert {"optim", "engine", "families", "report", "cli", "models"} <= rooms
    known = sorted((path, what) for path, all_known in found.items() for what in all_known)
    assert not known, f"must not know how X is stored, but may ask the Design or a Block: {known}"


def test_the_doors_are_there():
    assert all((SOURCE / door).exists() for door in DOORS)


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("import scipy.sparse", {"imports scipy.sparse"}),
        ("import scipy.sparse as s", {"imports scipy.sparse"}),
        ("from scipy import sparse", {"imports scipy.sparse"}),
        ("from scipy.sparse import linalg", {"imports scipy.sparse"}),
        ("s = importlib.import_module('scipy.sparse')", {"imports scipy.sparse"}),
        ("if s.issparse(X): pass", {"knows issparse"}),
        ("from thresher.data.blocks.compressed import CsrBlock", {"knows CsrBlock"}),
        ("isinstance(block, compressed.CscBlock)", {"knows CscBlock"}),
        ("cost = X.nnz", {"reads .nnz"}),
        ("self.X.indptr[1:]", {"reads .indptr"}),
        ("table.X.tocsc()", {"reads .tocsc"}),
        ("design.take(ids).toarray()", {"reads .toarray"}),
        ("X.flags.c_contiguous", {"reads .c_contiguous"}),
        ("if X.format == 'csr': pass", {"reads .format"}),
        ("entries = getattr(A, 'nnz', A.size)", {"asks for 'nnz'"}),
        ("hasattr(block, 'indices')", {"asks for 'indices'"}),
        ("hasattr(table.X, 'dtypes')", {"asks what X is"}),
        ("type(X) is Frame", {"asks what X is"}),
        ("isinstance(X, np.ndarray)", {"asks what X is"}),
        ("'{} of {}'.format(1, 2); np.lib.format.write_array(file, a)", set()),
        ("import scipy; from scipy import linalg, special; isinstance(y, np.ndarray)", set()),
        ("X.shape; getattr(X, 'shape', None); block.combine(w); block.entries", set()),
    ],
)
def test_knowledge_of_storage_is_seen(source, known):
    assert knowledge_of_storage(source) == known


def test_solvers_alone_may_make_a_block_dense():
    for path, known in (("optim/solvers/newton.py", set()), ("engine/growth.py", {"reads .toarray"})):
        assert knowledge_of_storage("block.toarray()", allowed_attributes(path)) == known
