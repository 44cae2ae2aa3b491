"""Whether a table still speaks of the code that is here: a digest of that code is kept with every table.

The code of a table is what its benchmark imports, directly or not, of ``benchmarks`` and of ``thresher``, and what it
names in ``USES``: modules that only its child processes import. Comments, docstrings and layout do not count. Where
one of these files has changed, the table is stale: it may or may not have changed with it.
"""

import ast
import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = {"benchmarks": ROOT / "benchmarks", "thresher": ROOT / "src" / "thresher"}
# they measure nothing, and thresher itself only lists where public names live: a new one changes no other
IGNORED = {"benchmarks.alone", "benchmarks.book", "benchmarks.freshness", "thresher"}
LENGTH = 16


def digest(name, places=PLACES):
    """The digest of the code of a benchmark, given as the name of its module."""
    code = hashlib.sha256()
    for module, path in sorted(sources(name, places).items()):
        code.update(f"{module}\n{_plain(_text(path))}\n".encode())
    return code.hexdigest()[:LENGTH]


def sources(name, places=PLACES):
    """{module: path} of all that a benchmark imports, itself included.

    Of a package only the modules that are imported count, not what its ``__init__`` imports besides.
    """
    if _file(name, places) is None:
        raise ValueError(f"no module {name!r} in {', '.join(map(str, places.values()))}")
    found, ahead = {}, [name]
    while ahead:
        module = ahead.pop()
        path = _file(module, places)
        if path is None or module in found or module in IGNORED:
            continue
        found[module] = path
        ahead += _imports(path, places)
    return found


def _file(module, places):
    """The file of a module, or None if it is not ours, or is no module but a name in one."""
    first, *rest = module.split(".")
    if first not in places:
        return None
    path = places[first].joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()), None)


def _imports(path, places):
    """Modules that a file imports when it runs, at its head or in a function, and those in its ``USES``."""
    public = _constant(_text(places["thresher"] / "__init__.py"), "_MODULES", {})  # imported on first access
    modules = list(_constant(_text(path), "USES", ()))
    for module, name in _imported(_text(path)):
        if name is None or _file(f"{module}.{name}", places) is None:
            modules.append(public.get(name, module) if module == "thresher" else module)
        else:
            modules.append(f"{module}.{name}")
    return modules


def _text(path):
    return path.read_text(encoding="utf-8")


@cache  # most files belong to most benchmarks
def _imported(text):
    """(module, name or None) of every import that is run."""
    found = []
    for node in _running(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [(node.module, alias.name) for alias in node.names]
    return found


def _running(tree):
    """All nodes but those that are there for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from _running(node)


@cache
def _assigned(text):
    """Names and values of what a file assigns at its top level."""
    return [
        (getattr(target, "id", ""), node.value)
        for node in ast.parse(text).body if isinstance(node, ast.Assign) for target in node.targets
    ]  # fmt: skip


def _constant(text, name, default):
    """The literal that a file assigns to ``name``."""
    return next((ast.literal_eval(value) for known, value in _assigned(text) if known == name), default)


@cache
def _plain(text):
    """The code of a file without comments, docstrings and layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))


def _documented(node):
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def mark(code):
    """The line that keeps a digest with its table; Markdown does not show it."""
    return f"<!-- code {code} -->"


def stale(text, modules, places=PLACES):
    """{name: why} of the tables of a page that are missing or older than their code; ``modules`` has that of each."""
    found = {}
    for name, module in modules.items():
        table = re.search(rf"<!-- begin {re.escape(name)} -->(.*?)<!-- end {re.escape(name)} -->", text, re.DOTALL)
        kept = re.search(r"<!-- code (\w+) -->", table[1]) if table else None
        if table is None:
            found[name] = "there is no table"
        elif kept is None:
            found[name] = "made before digests were kept"
        elif kept[1] != digest(module, places):
            made = re.search(r"thresher [\w.]+ \(\w+(?:\+changes)?\)", table[1])
            found[name] = f"its code has changed since {made[0] if made else 'it was made'}"
    return found


@cache
def revision():
    """The commit that is checked out, "+changes" where code differs from it; empty outside of a repository."""
    try:
        commit = _git("rev-parse", "--short=7", "HEAD")
        return f"{commit}+changes" if _git("status", "--porcelain", "--", *map(str, PLACES.values())) else commit
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()
