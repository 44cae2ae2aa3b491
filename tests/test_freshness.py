"""Tables of docs/benchmarks.md know the code that made them: a change of that code alone makes them stale."""

import subprocess
import sys

import pytest
from benchmarks import freshness
from benchmarks.__main__ import BENCHMARKS, BY_ITSELF
from benchmarks.freshness import PLACES, digest, mark, sources, stale

FILES = {
    "src/thresher/__init__.py": '_MODULES = {"Tool": "thresher.tools.tool", "Other": "thresher.tools.other"}\n',
    "src/thresher/tools/__init__.py": "from thresher.tools import other, tool\n",
    "src/thresher/tools/tool.py": "from thresher.deep import sums\n\n\nclass Tool:\n    pass\n",
    "src/thresher/tools/other.py": "class Other:\n    pass\n",
    "src/thresher/tools/typed.py": "TYPED = 1\n",
    "src/thresher/tools/child.py": "CHILD = 1\n",
    "src/thresher/deep/__init__.py": "",
    "src/thresher/deep/sums.py": "def total(x):\n    return sum(x)\n",
    "benchmarks/__init__.py": "",
    "benchmarks/book.py": "PAGE = 1\n",
    "benchmarks/speed.py": (
        '"""Speed."""\n\nfrom typing import TYPE_CHECKING\n\nfrom benchmarks import book, helper\n'
        "from thresher import Tool\n\nif TYPE_CHECKING:\n    from thresher.tools.typed import TYPED\n\n"
        'USES = ("thresher.tools.child",)\n'
    ),
    "benchmarks/helper.py": "def help():\n    import numpy\n    from thresher.deep.late import late\n",
    "src/thresher/deep/late.py": "late = 1\n",
}
USED = {
    "benchmarks.speed", "benchmarks.helper", "thresher.tools.tool", "thresher.tools.child", "thresher.deep.sums",
    "thresher.deep.late",
}  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    """A small tree of files, and its places."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path, {"benchmarks": tmp_path / "benchmarks", "thresher": tmp_path / "src" / "thresher"}


def file_of(module):
    """The file of a module of the small tree."""
    return f"{'src/' if module.startswith('thresher') else ''}{module.replace('.', '/')}.py"


def test_the_code_of_a_table_is_what_its_benchmark_imports(tree):
    """Through public names, in functions and in USES; not for type checkers, nor what only a package imports."""
    assert set(sources("benchmarks.speed", tree[1])) == USED


@pytest.mark.parametrize("name", [*map(file_of, sorted(USED)), *FILES])
def test_a_digest_changes_with_its_own_code_alone(tree, name):
    folder, places = tree
    before, path = digest("benchmarks.speed", places), folder / name
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert (digest("benchmarks.speed", places) != before) == (name in {file_of(module) for module in USED})


def test_comments_docstrings_and_layout_are_no_change(tree):
    folder, places = tree
    before, path = digest("benchmarks.speed", places), folder / "src/thresher/deep/sums.py"
    path.write_text('"""Sums."""\n\n\ndef total(\n    x,\n):\n    """The sum."""\n    return sum(x)  # of all\n')
    assert digest("benchmarks.speed", places) == before
    path.write_text('"""Sums."""\n\n\ndef total(x):\n    """The sum."""\n    return sum(x) + 0\n')
    assert digest("benchmarks.speed", places) != before


def section(name, *lines):
    return "\n\n".join((f"<!-- begin {name} -->", *lines, f"<!-- end {name} -->"))


def test_stale_tables_are_those_that_are_missing_unmarked_or_older_than_their_code(tree):
    folder, places = tree
    fresh = mark(digest("benchmarks.speed", places))
    page = "\n\n".join(
        (
            section("fresh", "| 1 |", "thresher 0.1.0 (abc1234), measured on", fresh),
            section("unmarked", "| 2 |"),
            section("old", "| 3 |", "thresher 0.1.0 (abc1234+changes), measured on", mark("0" * 16)),
        )
    )
    modules = dict.fromkeys(("fresh", "unmarked", "old", "missing"), "benchmarks.speed")
    assert stale(page, modules, places) == {
        "unmarked": "made before digests were kept",
        "old": "its code has changed since thresher 0.1.0 (abc1234+changes)",
        "missing": "there is no table",
    }
    (folder / "src/thresher/deep/sums.py").write_text("def total(x):\n    return 0\n")
    changed = "its code has changed since thresher 0.1.0 (abc1234)"
    assert stale(page, {"fresh": "benchmarks.speed"}, places) == {"fresh": changed}


def test_a_benchmark_that_is_not_there_is_an_error(tree):
    with pytest.raises(ValueError, match=r"no module 'benchmarks\.none' in"):
        digest("benchmarks.none", tree[1])


@pytest.mark.parametrize(("name", "module"), (BENCHMARKS | BY_ITSELF).items())
def test_every_benchmark_is_there_and_its_code_has_parts_of_thresher(name, module):
    """Those without are not seen to change: children import them, and USES must say so."""
    found = sources(module)
    assert module in found
    assert any(part.startswith("thresher.") for part in found)


def test_tables_depend_on_the_parts_of_thresher_that_they_measure():
    grid, online, scan = (set(sources(BENCHMARKS[name])) for name in ("sifs_synthetic", "online_reach", "scan"))
    assert {"thresher.families.sparse_svm.solver", "thresher.loops.compressed"} <= grid
    assert not any("online" in part or "fgm" in part for part in grid)
    assert "thresher.loops.averaging" in online
    assert not any(part.startswith(("thresher.engine", "thresher.optim")) for part in scan)


def test_written_tables_are_not_stale(tmp_path):
    pytest.importorskip("psutil", reason="in the bench extra: it measures memory")
    from benchmarks import book

    page = tmp_path / "benchmarks.md"
    book.write("scan", "| 1 |", digest(BENCHMARKS["scan"]), page)
    book.write("picks", "| 2 |", "0" * 16, page)
    book.write("scan", "| 3 |", digest(BENCHMARKS["scan"]), page)
    text = page.read_text()
    assert "| 1 |" not in text
    assert f"thresher {freshness_version()}" in text
    assert list(stale(text, {name: BENCHMARKS[name] for name in ("scan", "picks")})) == ["picks"]


def freshness_version():
    """Version and revision as tables name them."""
    from thresher import __version__

    return f"{__version__} ({freshness.revision()})" if freshness.revision() else __version__


def test_the_revision_says_whether_code_was_changed(tmp_path, monkeypatch):
    """Outside of a repository it is empty; changes of other files do not count."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    places = {"benchmarks": tmp_path / "benchmarks"}
    monkeypatch.setattr(freshness, "ROOT", tmp_path)
    monkeypatch.setattr(freshness, "PLACES", places)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    known = []
    places["benchmarks"].mkdir()
    (places["benchmarks"] / "a.py").write_text("A = 1\n")

    def note():
        freshness.revision.cache_clear()
        known.append(freshness.revision())

    note()
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    note()
    (tmp_path / "page.md").write_text("| 1 |\n")
    note()
    (places["benchmarks"] / "a.py").write_text("A = 2\n")
    note()
    freshness.revision.cache_clear()
    assert known[0] == ""
    assert len(known[1]) >= 7
    assert known[2:] == [known[1], f"{known[1]}+changes"]


def test_the_command_lists_stale_tables():
    """Without importing a benchmark: that would take seconds and packages of the bench extra."""
    code = (
        "import runpy, sys; sys.argv = ['benchmarks', '--stale', 'scan']; sys.modules['psutil'] = None\n"
        "try: runpy.run_module('benchmarks', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end: assert end.code in (0, 1), end.code\n"
        "assert 'benchmarks.linear.scan' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=PLACES["benchmarks"].parent
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("scan: ", "1 tables"))
