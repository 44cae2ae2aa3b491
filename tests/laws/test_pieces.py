"""Laws of pieces: references, small when pickled, to what each process opens once; what is learnt goes with it."""

import functools
import gc
import os
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

from tests.laws.designs import DESIGNS, Processes, bag_design, processes, unpickled
from tests.laws.storages import STORED, matrix
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.units import SumOfSquares
from thresher.data.scan import sources as sources_module
from thresher.data.scan.pieces import Generated, Slice
from thresher.data.scan.reducers import AtLeast, Collect, Split, TopK
from thresher.data.scan.scores import Correlation, Moments, Pearson
from thresher.data.scan.sources import MOST_OPEN, Kept, Reference, learnt, opened_once, reference
from thresher.data.workers import SERIAL, Workers
from thresher.errors import UnsupportedDesignError
from thresher.features.expanded import SumOfInputs
from thresher.features.kernels.sources import Alignment, ColumnKernel
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.spec import Polynomial
from thresher.features.polynomial.terms import DistinctValues, Sifted, TermSums, terms_of

SMALL, LARGE = matrix(40, 17, seed=4), matrix(400, 170, seed=4)
PARTS = {"block", "base", "products", "numbers", "columns", "terms", "_pairs", "distances", "similarities"}
FEW = 700  # bytes of a pickled piece: a key, a path, where it begins and ends
rng = np.random.default_rng(3)


def jobs_of(design):
    """All that a scan for correlations hands to workers, and all pieces of columns."""
    yield from design.pieces()
    score, reducer = Correlation(rng.standard_normal(design.shape[0])), TopK(3)
    for stage in design.stages(score, reducer, lambda: reducer.bar):
        yield from stage.pieces


def elsewhere(design, runner):
    """The design with its pieces, and those of what it is made of, run by ``runner``."""
    part = design
    while part is not None:
        part.workers = runner
        part = getattr(part, "base", None)
    return design


def same(one, other):
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(mine[0], theirs[0]) and np.array_equal(mine[1], theirs[1]) for mine, theirs in pairs)


# small


@pytest.mark.parametrize("name", DESIGNS)
def test_a_pickled_piece_is_small_however_large_X_is(name, tmp_path):
    for X in (SMALL, LARGE):
        design = DESIGNS[name](X, SERIAL, tmp_path)
        most = max(len(pickle.dumps(job)) for job in jobs_of(counted(design)))
        assert most < FEW


def counted(design):
    """A computed design, which counts its pieces, believes that they are done."""
    if hasattr(design, "alive"):
        design.alive.made = lambda: None
    return design


def test_pickled_scores_have_vectors_and_no_columns():
    """Rows and vectors, some of them twice; X is never seen."""
    n, k = 300, 4
    V, weights = rng.standard_normal((n, k)), np.ones(n)
    scores = [
        Correlation(V), Pearson(V, weights), Moments(weights), DistinctValues(weights),
        TermSums(V.T), Alignment(V, ColumnKernel(), weights),
    ]  # fmt: skip
    for score in scores:
        assert len(pickle.dumps(score)) < 8 * n * (k + 3) + FEW, type(score)


def test_pickled_reducers_have_what_they_leave_out_and_no_columns():
    p, exclude = 1_000_000, np.arange(50)
    terms = terms_of(MemoryDesign(STORED["dense_F_float64"](SMALL)), Polynomial(), np.ones(40))
    reducers = [
        TopK(10, exclude), Split([TopK(10, exclude, summed=True), Collect(p)], [2, 1]), AtLeast(0.5),
        Collect(p), SumOfSquares(p), SumOfInputs(p, 5),
        Sifted(TopK(10, exclude), reference(terms, SERIAL), p),
    ]  # fmt: skip
    for reducer in reducers:
        assert len(pickle.dumps(reducer)) < exclude.nbytes + FEW, type(reducer)


@pytest.mark.parametrize("name", [name for name in DESIGNS if name not in ("computed", "counting")])
def test_what_a_scan_learns_is_not_in_the_design(name, tmp_path):
    """Pickled after scans, a design has no byte more. (Two designs of the tests note who reads them.)"""
    design = DESIGNS[name](SMALL, SERIAL, tmp_path)
    design.take(np.arange(1))
    before = len(pickle.dumps(design))
    for _ in range(2):
        design.scan(Correlation(rng.standard_normal((design.shape[0], 2))), TopK(3))
        list(design.pieces())
    assert len(pickle.dumps(design)) == before


# elsewhere


@pytest.mark.parametrize("name", [name for name in DESIGNS if name != "computed"])
def test_pieces_give_in_other_processes_what_they_give_here(name, tmp_path):
    """To the bit; columns in memory are handed over once. (Pieces that are computed count who is alive here.)"""
    here = DESIGNS[name](SMALL, SERIAL, tmp_path)
    there = elsewhere(DESIGNS[name](SMALL, SERIAL, tmp_path), processes())
    V = rng.standard_normal((here.shape[0], 2))
    for _ in range(2):
        mine, theirs = (design.scan(Correlation(V), TopK(5)) for design in (here, there))
        assert same(mine, theirs)
    assert np.array_equal(here.statistics(np.ones(len(V))).table, there.statistics(np.ones(len(V))).table)


def noted(log, path):
    """What was shipped, after a line in ``log`` that says who opened it."""
    with open(log, "a") as lines:
        lines.write(f"{os.getpid()} {path.name}\n")
    return unpickled(path)


class NotingProcesses(Processes):
    """Other processes that note what they open."""

    def __init__(self, log):
        super().__init__()
        self.log, self.pieces = log, 0
        self.pool.submit(int).result()  # what is made from here on is not in a fork

    def ship(self, source):
        recipe = super().ship(source)
        return recipe and functools.partial(noted, self.log, *recipe.args)

    def stream(self, function, tasks, *, entries):
        for result in super().stream(function, tasks, entries=entries):
            self.pieces += 1
            yield result


@pytest.mark.parametrize("name", ["dense_C_float64", "expanded_gaussian", "products_dense", "products_csr", "bags_csr"])
def test_each_process_opens_what_pieces_refer_to_once(name, tmp_path, monkeypatch):
    """However many pieces and scans there are; what all scans share is not shipped again."""
    monkeypatch.setattr("thresher.features.polynomial.tiles.WIDEST", 16)
    monkeypatch.setattr("thresher.features.polynomial.tiles.TILES_WORK", 1)
    monkeypatch.setattr("thresher.features.polynomial.walks.WALK_WORK", 10)
    monkeypatch.setattr("thresher.features.polynomial.walks.ROW_COST", 1e9)
    runner = NotingProcesses(tmp_path / "log")
    try:
        design = elsewhere(DESIGNS[name](LARGE, SERIAL, tmp_path), runner)
        scans, shipped = 3, []
        for _ in range(scans):
            design.scan(Correlation(rng.standard_normal((design.shape[0], 1))), TopK(500))
            shipped.append(runner.shipped)
    finally:
        runner.close()
    opened = (tmp_path / "log").read_text().splitlines()
    assert len(opened) == len(set(opened)), "a process opened something twice"
    assert 0 < len(opened) <= 2 * runner.shipped < runner.pieces
    assert shipped[1] - shipped[0] == shipped[2] - shipped[1] <= shipped[0] - (not isinstance(design, ProductDesign))
    if not isinstance(design, ProductDesign):  # products have an order of columns or walks for each scan
        assert runner.shipped == 1


class Mute(Processes):
    """Other processes that get nothing but pieces."""

    def __init__(self):
        super().__init__()
        self.pool.submit(int).result()

    def ship(self, source):
        return None


def test_columns_in_memory_cannot_be_opened_elsewhere_unless_they_are_shipped():
    runner = Mute()
    try:
        design = elsewhere(MemoryDesign(STORED["csc_int32"](SMALL)), runner)
        with pytest.raises(UnsupportedDesignError, match=r"memory of another process: scan with threads \(n_jobs\)"):
            design.scan(Correlation(np.ones(40)), TopK(3))
    finally:
        runner.close()


def test_forks_have_what_was_there_before_them():
    """Nothing needs to be shipped to a process that begins as a copy of this one."""
    runner = Processes()
    runner.ship = lambda source: None
    v = rng.standard_normal(40)
    try:
        block = STORED["csc_int32"](SMALL)
        piece = Slice(0, reference(block, runner), 0, 17)
        found = runner.pool.submit(piece.reduced, Correlation(v), None, TopK(3), None).result()
    finally:
        runner.close()
    assert same(found.result(), MemoryDesign(block).scan(Correlation(v), TopK(3)))


def test_keys_of_forks_are_their_own():
    """A child goes on with other keys than its parent."""
    here = [reference(Box(), SERIAL).key for _ in range(3)]
    runner = Processes()
    try:
        there = [runner.pool.submit(new_key).result() for _ in range(6)]
    finally:
        runner.close()
    assert len({*here, *there, new_key()}) == 10


def new_key():
    return reference(Box(), SERIAL).key


class Box:
    """Something that can be referred to."""

    def __init__(self, content=None):
        self.content = content

    def block(self, lo, hi):
        return STORED["dense_F_float64"](np.ones((5, hi - lo)))


def test_threads_wait_for_the_one_that_opens():
    opens, found, key = [], [], object()

    def slowly():
        opens.append(threading.get_ident())
        time.sleep(0.05)
        return Box()

    waiting = [threading.Thread(target=lambda: found.append(opened_once(key, slowly))) for _ in range(8)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    assert len(opens) == 1
    assert len(found) == 8
    assert all(each is found[0] for each in found)


def test_those_that_were_used_last_stay_open():
    opens = []

    def opened(key):
        return opened_once(("box", key), lambda: opens.append(key) or Box(key))

    first = opened(0)
    for key in range(1, MOST_OPEN):
        opened(key)
    assert opened(0) is first
    opened(MOST_OPEN)  # closes the one that was used least recently
    assert opened(0) is first
    assert opens == list(range(MOST_OPEN + 1))
    opened(1)
    assert opens[-1] == 1


def test_what_could_not_be_opened_is_tried_again():
    tries, key = [], object()

    def recipe():
        tries.append(None)
        if len(tries) == 1:
            raise OSError("not yet")
        return Box()

    with pytest.raises(OSError, match="not yet"):
        opened_once(key, recipe)
    assert opened_once(key, recipe) is opened_once(key, recipe)
    assert len(tries) == 2


def test_a_reference_is_the_source_where_that_is():
    box = Box()
    piece = Generated(reference(box, SERIAL), 3, 2)
    back = pickle.loads(pickle.dumps(piece))
    assert back.source.open() is box
    assert back.source.key == reference(box, SERIAL).key
    assert back.open().block.shape == (5, 2)
    path = Reference(("a file", 7), functools.partial(Box, "from a file"))
    assert path.open().content == "from a file"
    assert pickle.loads(pickle.dumps(path)).open() is path.open()


# gone with it


def test_sources_go_with_their_designs(tmp_path):
    """Neither references nor what was learnt hold them; no garbage has to be collected."""
    gc.collect()
    before = sources_module._process.nbytes
    gc.disable()
    try:
        for name, make in DESIGNS.items():
            design = make(SMALL, SERIAL, tmp_path)
            design.scan(Correlation(np.ones(design.shape[0])), TopK(3))
            gone = [weakref.ref(design), *(weakref.ref(vars(design)[part]) for part in PARTS & vars(design).keys())]
            del design
            assert not any(part() for part in gone), name
    finally:
        gc.enable()
    assert sources_module._process.nbytes == before


def test_what_is_shipped_is_removed_when_its_source_goes(tmp_path):
    runner = Processes()
    try:
        design = elsewhere(MemoryDesign(STORED["csc_int32"](SMALL)), runner)
        pieces = [pickle.dumps(piece) for piece in design.pieces()]
        assert len(os.listdir(runner.folder.name)) == 1
        del design
        assert not os.listdir(runner.folder.name)
        with pytest.raises(FileNotFoundError):
            pickle.loads(pieces[0]).open()
    finally:
        runner.close()


# kept


@pytest.mark.parametrize("make", [
    lambda workers: bag_design(SMALL, workers),
    lambda workers: DESIGNS["products_dense"](SMALL, workers, None),
], ids=["bags", "products"])  # fmt: skip
def test_without_room_nothing_is_kept_and_no_bit_changes(make, monkeypatch):
    design = make(SERIAL)
    V = rng.standard_normal((design.shape[0], 2))
    before = sources_module._process.nbytes
    expected = [design.scan(Correlation(V), TopK(4)) for _ in range(2)]
    assert sources_module._process.nbytes > before
    del design
    assert sources_module._process.nbytes == before
    monkeypatch.setattr(sources_module, "MOST_KEPT", before)
    free = make(SERIAL)
    for reference_scan in expected:
        assert same(reference_scan, free.scan(Correlation(V), TopK(4)))
    assert sources_module._process.nbytes == before


def test_rows_are_computed_once_by_any_number_of_threads():
    kept, computed = Kept(1000, ((3,), np.float32), ((), np.float64)), []

    def compute(ids):
        computed.append(ids)
        return np.stack([ids, ids + 1, ids + 2], axis=1), 2.0 * ids

    with Workers(4) as workers:
        tasks = [(np.random.default_rng(seed).integers(0, 1000, 300), compute) for seed in range(40)]
        found = workers.map(kept.of, tasks, entries=1e12)
    for (ids, _), (rows, doubles) in zip(tasks, found, strict=True):
        np.testing.assert_array_equal(rows[:, 1], ids + 1)
        np.testing.assert_array_equal(doubles, 2.0 * ids)
    assert kept.tables is None or kept.tables[0].shape == (1000, 3)
    kept.of(np.arange(1000), compute)
    computed.clear()
    kept.of(np.arange(1000), compute)
    assert not computed
    assert kept.tables is not None


def test_what_is_learnt_is_one_object_for_each_source():
    one, other = Box(), Box()
    assert learnt(one, list) is learnt(one, list)
    assert learnt(one, list) is not learnt(other, list)
