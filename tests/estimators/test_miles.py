"""MILESClassifier: bags, against FGMClassifier on the embedding that plain loops write out."""

import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.oracles import bags as oracle
from tests.problems import fold_scores, tried
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import FewerFeaturesWarning, MILESClassifier, MissingBagsWarning, PathDisplay
from thresher.features.instances import design as bags_module
from thresher.features.instances.bags import Bags
from thresher.features.instances.design import BagDistances, instances_of
from thresher.features.instances.fitted import median_distance

STORAGES = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array, "fortran": np.asfortranarray}


def made_bags(n_bags=40, n_columns=6, n_classes=2, seed=0):
    """(X, y, bags): rows of several bags in any order; a positive bag has a row near a point of its own class."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n_bags)
    bags = rng.permutation(np.repeat(np.arange(n_bags) * 3 + 5, sizes))
    label = rng.integers(0, n_classes, 3 * n_bags + 5)
    label[[5, 8, 11]] = np.arange(3) % n_classes
    X = np.round(rng.standard_normal((bags.size, n_columns)) * 64) / 64
    for bag in np.unique(bags):
        if label[bag]:
            X[np.flatnonzero(bags == bag)[-1]] = np.eye(n_columns)[label[bag]] * 4.0 + np.round(
                rng.standard_normal(n_columns) * 16) / 64  # fmt: skip
    return X, label[bags], bags


X, y, bags = made_bags()


@parametrize_with_checks(
    [MILESClassifier(), MILESClassifier(2), MILESClassifier(2, loss="logistic", elimination=False)]
)
def test_sklearn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        check(estimator)


def written_out(X, y, bags, sigma, weights=None, scale="std"):
    """(embedding, labels, weights of the bags, candidate rows) by plain loops."""
    _, first = np.unique(bags, return_index=True)
    weights = np.ones(len(X)) if weights is None else weights
    rows = oracle.candidates(X, weights)
    Z = oracle.on_scale(np.asarray(X, dtype=float), weights, scale)
    return oracle.embedding(Z, bags, Z[rows], sigma), y[first], weights[first], rows


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("options", [{}, {"elimination": False}, {"n_candidates": 2.0}], ids=str)
@pytest.mark.parametrize("storage", ["dense", "fortran", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_fgm_on_the_embedding(loss, options, storage, dtype):
    given, scale = STORAGES[storage](X.astype(dtype)), None if storage == "csr" else "std"
    clf = miles_by_rule(5, sigma=1.7, loss=loss, C=3.0, scale=scale, **options).fit(given, y, bags=bags)
    S, labels, _, rows = written_out(X.astype(dtype), y, bags, 1.7, scale=scale)
    peer = fgm_by_rule(5, loss=loss, C=3.0, scale=None, **options).fit(S, labels)
    np.testing.assert_array_equal(clf.selection_.features, rows[peer.selection_.features])
    np.testing.assert_allclose(clf.selection_.weights, peer.selection_.weights, rtol=1e-6)
    np.testing.assert_allclose(clf.decision_function(given, bags=bags), peer.decision_function(S), atol=1e-6)
    mine, theirs = clf.selection_.certificate, peer.selection_.certificate
    np.testing.assert_allclose(
        [mine.objective, mine.lower_bound, mine.pick_objective, mine.pick_bound, mine.at_zero],
        [theirs.objective, theirs.lower_bound, theirs.pick_objective, theirs.pick_bound, theirs.at_zero], rtol=1e-6,
    )  # fmt: skip
    np.testing.assert_array_equal(clf.path_.numbers, peer.path_.numbers)
    np.testing.assert_allclose(clf.selection_.importance, peer.selection_.importance, rtol=1e-5)


@pytest.mark.parametrize("storage", ["csr", "csc"])
@pytest.mark.parametrize("scale", ["std", "max", None])
def test_sparse_rows_are_scaled_and_not_centred(storage, scale):
    few = np.where(np.abs(X) > 0.8, X, 0.0)
    clf, dense = (
        miles_by_rule(4, sigma=1.5, scale=scale).fit(each, y, bags=bags) for each in (STORAGES[storage](few), few)
    )
    np.testing.assert_array_equal(clf.selection_.features, dense.selection_.features)
    scores = clf.decision_function(STORAGES[storage](few), bags=bags)
    np.testing.assert_allclose(scores, dense.decision_function(few, bags=bags), atol=1e-6)
    np.testing.assert_allclose(scores, clf.decision_function(few, bags=bags), atol=1e-9)
    np.testing.assert_allclose(
        dense.decision_function(STORAGES[storage](few), bags=bags), dense.decision_function(few, bags=bags), atol=1e-9
    )
    assert sparse.issparse(clf.prototypes_)
    np.testing.assert_array_equal(clf.prototypes_.toarray(), few[clf.selection_.features])
    factors = [each.fitted_features_.prototypes.factor for each in (clf, dense)]
    assert factors == [None, None] if scale is None else factors[0] == pytest.approx(factors[1], rel=1e-7)


def test_predictions_are_those_of_plain_loops():
    clf = miles_by_rule(4, sigma=1.3).fit(X, y, bags=bags)
    new, new_bags = np.random.default_rng(3).standard_normal((30, 6)), np.array(list("cabbaacdee" * 3))
    mean, spread = X.mean(axis=0), X.std(axis=0)
    Z, P = (new - mean) / spread, (clf.prototypes_ - mean) / spread
    S = oracle.embedding(Z, new_bags, P, 1.3)
    selection = clf.selection_
    expected = S @ selection.weights + selection.intercept
    np.testing.assert_allclose(clf.decision_function(new, bags=new_bags), expected, atol=1e-9)
    np.testing.assert_array_equal(clf.predict(new, bags=new_bags), (expected > 0).astype(int))
    np.testing.assert_allclose(clf.transform(new, bags=new_bags), S[:, selection.ranking], atol=1e-9)
    added = oracle.contributions(Z, new_bags, P, 1.3, selection.weights[:, None])[:, 0]
    found = clf.predict_instances(new, bags=new_bags)
    np.testing.assert_allclose(found, added, atol=1e-9)
    sums = [found[new_bags == name].sum() + selection.intercept for name in np.unique(new_bags)]
    np.testing.assert_allclose(sums, expected, atol=1e-9)


def test_displays_of_paths_know_no_bags():
    clf = miles_by_rule(2, sigma=1.0).fit(X, y, bags=bags)
    with pytest.raises(ValueError, match=r"clf.at\(k\).score\(X, y, bags=bags\)"):
        PathDisplay.from_estimator(clf, X, y)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_many_classes(per_class, storage):
    X, y, bags = made_bags(60, 5, n_classes=3, seed=4)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    given = STORAGES[storage](X)
    clf = miles_by_rule(3, sigma=1.2, per_class=per_class, scale=None).fit(given, y, bags=bags)
    S, labels, _, rows = written_out(X, y, bags, 1.2, scale=None)
    peer = fgm_by_rule(3, per_class=per_class, scale=None).fit(S, labels)
    np.testing.assert_array_equal(clf.selection_.features, rows[peer.selection_.features])
    scores = clf.decision_function(given, bags=bags)
    assert scores.shape == (60, 3)
    np.testing.assert_allclose(scores, peer.decision_function(S), atol=1e-6)
    added = clf.predict_instances(given, bags=bags)
    sums = np.array([added[bags == bag].sum(axis=0) for bag in np.unique(bags)]) + clf.intercept_
    np.testing.assert_allclose(sums, scores, atol=1e-9)
    assert clf.score(given, y, bags=bags) > 0.9
    assert f"of the {len(rows)} training instances" in clf.proof()
    assert ("for each class" in clf.proof()) == per_class


def test_equal_rows_of_a_bag_the_first_gets_all():
    X, bags, y = np.array([[0.0], [5.0], [5.0], [1.0]]), np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0])
    clf = miles_by_rule(1, sigma=1.0, scale=None).fit(X, y, bags=bags)
    assert clf.selection_.features.tolist() == [1]
    added = clf.predict_instances(np.array([[7.0], [5.0], [5.0]]), bags=[1, 1, 1])
    assert added[1] > 0.0
    assert added[[0, 2]].tolist() == [0.0, 0.0]


def test_weights_equal_repeated_bags():
    rng = np.random.default_rng(1)
    of_bag = rng.integers(0, 4, bags.max() + 1)
    weights = of_bag[bags].astype(float)
    copies = [(X[bags == bag], y[bags == bag]) for bag in np.unique(bags) for _ in range(of_bag[bag])]
    repeated = np.repeat(np.arange(len(copies)), [len(rows) for rows, _ in copies])
    X2, y2 = np.vstack([rows for rows, _ in copies]), np.concatenate([labels for _, labels in copies])
    for how in ({"sigma": 1.5}, {"sigma": "auto"}, {"sigma": "auto", "n_instances_to_select": None}):
        params = {"n_instances_to_select": 4} | how
        weighted = miles_by_rule(**params).fit(X, y, bags=bags, sample_weight=weights)
        plain = miles_by_rule(**params).fit(X2, y2, bags=repeated)
        assert weighted.sigma_ == pytest.approx(plain.sigma_, rel=1e-12)
        scores = weighted.decision_function(X, bags=bags)
        np.testing.assert_allclose(scores, plain.decision_function(X, bags=bags), atol=1e-6)
    assert (weights[weighted.selection_.features] > 0).all(), "rows of weight zero are no candidates"


def test_equal_rows_are_one_candidate():
    doubled, twice = np.vstack([X, X]), np.concatenate([bags, bags])
    once, again = (
        miles_by_rule(4, sigma=1.5).fit(rows, labels, bags=own)
        for rows, labels, own in ((X, y, bags), (doubled, np.concatenate([y, y]), twice))
    )
    np.testing.assert_array_equal(once.selection_.features, again.selection_.features)
    assert once.fitted_features_.n_candidates == again.fitted_features_.n_candidates == len(np.unique(X, axis=0))


def test_the_median_distance_is_the_rule():
    """Within bags where each has two different rows, else between all; by brute force."""
    clf = miles_by_rule(3).fit(X, y, bags=bags)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    inside = [
        np.linalg.norm(Z[i] - Z[j]) for bag in np.unique(bags)
        for rows in [np.flatnonzero(bags == bag)] for i in rows for j in rows if i < j
    ]  # fmt: skip
    assert clf.sigma_ == pytest.approx(np.median(inside), rel=1e-12)
    alone = miles_by_rule(3).fit(X, y)
    pairs = [np.linalg.norm(Z[i] - Z[j]) for i in range(len(Z)) for j in range(i)]
    assert alone.sigma_ == pytest.approx(np.median(pairs), rel=1e-12)
    same = np.ones((6, 2))
    instances = instances_of(same, np.ones(6))
    assert median_distance(same, instances, Bags(np.arange(6) // 2, 3), np.ones(6), None) == 1.0


def test_the_choice_never_uses_instances_of_bags_held_out(monkeypatch):
    """An instance that is in bags held out and in others, too, may be selected."""
    seen = []
    original = BagDistances.of
    monkeypatch.setattr(BagDistances, "of", lambda self, ids: seen.append(self) or original(self, ids))
    clf = miles_by_rule(3, sigma="search", C="auto", cv=KFold(4)).fit(X, y, bags=bags)
    assert len({id(each) for each in seen}) == 1, "distances are computed once"
    sigmas, Cs = tried(clf, "sigma"), tried(clf)
    assert sigmas == pytest.approx(miles_by_rule(3).fit(X, y, bags=bags).sigma_ * np.array([0.5, 1.0, 2.0]))
    assert Cs.tolist() == [0.01, 0.1, 1.0, 10.0]
    assert clf.cv_results_["params"] == [{"sigma": sigma, "C": C} for sigma in sigmas for C in Cs]
    scores = fold_scores(clf).reshape(4, 3, 4)
    means = scores.mean(axis=0)
    i, j = sigmas.tolist().index(clf.sigma_), Cs.tolist().index(clf.C_)
    assert means[i, j] == np.nanmax(means)
    names = np.unique(bags)
    expected = np.empty((4, 3, 4))
    Z = oracle.on_scale(X, np.ones(len(X)), "std")  # scale and median know the rows of all bags
    for fold, (train, test) in enumerate(KFold(4).split(names)):
        rows = np.flatnonzero(np.isin(bags, names[train]))
        labels = np.array([y[bags == name][0] for name in names])
        for s, sigma in enumerate(sigmas):
            S = oracle.embedding(Z, bags, Z[rows], sigma)
            for c, C in enumerate(Cs):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FewerFeaturesWarning)
                    peer = fgm_by_rule(3, C=C, scale=None).fit(S[train], labels[train])
                expected[fold, s, c] = peer.score(S[test], labels[test])
    assert np.nanmean(np.abs(scores - expected)) < 0.03, "models of the choice are rough"


def test_held_out_instances_by_brute_force():
    rows = np.array([[1.0], [2.0], [1.0], [3.0], [3.0]])
    own = Bags(np.array([0, 0, 1, 2, 2]), 3)
    instances = instances_of(rows, np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    assert instances.rows.tolist() == [0, 1, 3]
    assert instances.owner.tolist() == [0, 1, 0, 2, -1]
    assert instances.only_in(own, np.array([0])) == (1,), "the row 1.0 is in another bag, too"
    assert instances.only_in(own, np.array([0, 1])) == (0, 1)
    assert instances.only_in(own, np.array([2])) == (2,)


@pytest.mark.parametrize("sigma", [2.0, "auto"])
def test_C_auto_with_one_sigma(sigma):
    clf = miles_by_rule(3, sigma=sigma, C="auto", cv=3).fit(X, y, bags=bags)
    assert fold_scores(clf).shape == (3, 4)
    assert tried(clf, "sigma").tolist() == [clf.sigma_]
    again = miles_by_rule(3, sigma=clf.sigma_, C=clf.C_).fit(X, y, bags=bags)
    np.testing.assert_array_equal(again.selection_.weights, clf.selection_.weights)
    refitted = clf.set_params(C=1.0).fit(X, y, bags=bags)
    assert not hasattr(refitted, "cv_results_")


def test_path_and_at():
    clf = miles_by_rule(4, sigma=1.5).fit(X, y, bags=bags)
    for number in (1, 2, 4, 6):
        part = clf.at(number)
        assert part.n_instances_to_select == number == len(part.prototypes_)
        np.testing.assert_array_equal(part.prototypes_, X[part.selection_.features])
        assert part.decision_function(X, bags=bags).shape == (40,)
    whole = clf.at(4)
    np.testing.assert_array_equal(whole.decision_function(X, bags=bags), clf.decision_function(X, bags=bags))


def test_too_few_instances_are_told_with_the_reason():
    with pytest.warns(FewerFeaturesWarning, match="selected 1 instance instead of the requested 4: .*max_iter=1"):
        miles_by_rule(4, sigma=1.5, max_iter=1, elimination=False).fit(X, y, bags=bags)


def test_transform_has_names_and_frames():
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    clf = miles_by_rule(3, sigma=1.5).fit(frame, y, bags=bags)
    names = [f"similarity to row {row}" for row in clf.selection_.features[clf.selection_.ranking]]
    assert clf.get_feature_names_out().tolist() == names
    plain = clf.transform(frame, bags=bags)
    assert clf.transform(frame.astype(np.float32), bags=bags).dtype == np.float32
    for output in (
        clf.set_output(transform="pandas").transform(frame, bags=bags),
        clf.fit_transform(frame, y, bags=bags),
    ):
        assert output.columns.tolist() == names
        assert output.index.tolist() == np.unique(bags).tolist()
        np.testing.assert_array_equal(output.to_numpy(), plain)
    with pytest.warns(MissingBagsWarning):
        assert clf.transform(frame).index.tolist() == frame.index.tolist(), "each row is a bag"
    polars = clf.set_output(transform="polars").transform(frame, bags=bags)
    assert polars.columns == names
    assert not hasattr(clf, "get_support")
    assert not hasattr(clf, "inverse_transform")


def test_warm_start_goes_on_from_equal_rows():
    clf = miles_by_rule(4, sigma=1.5, warm_start=True).fit(X, y, bags=bags)
    cold = miles_by_rule(4, sigma=1.5, C=2.0).fit(X, y, bags=bags)
    clf.set_params(C=2.0).fit(X, y, bags=bags)
    np.testing.assert_allclose(
        clf.selection_.certificate.pick_objective, cold.selection_.certificate.pick_objective, rtol=0.05
    )
    with pytest.raises(ValueError, match="warm_start=True, but y has 3 classes"):
        clf.fit(*(lambda X, y, bags: (X, y, None, bags))(*made_bags(30, 6, n_classes=3)))
    with pytest.raises(ValueError, match="warm_start=True, but X has 2 features"):
        clf.fit(X[:, :2], y, bags=bags)


def test_a_warm_start_needs_fewer_turns():
    X, y, bags = made_bags(120, 6, seed=2)
    clf = miles_by_rule(sigma=1.5, warm_start=True).fit(X, y, bags=bags)
    turns = clf.n_iter_
    order = np.random.default_rng(0).permutation(len(X))
    clf.fit(X[order], y[order], bags=bags[order])
    assert clf.n_iter_ < turns


def test_pickles_clones_and_nothing_of_X_is_changed():
    given = X.copy()
    clf = miles_by_rule(3, sigma="auto", class_weight="balanced").fit(given, y, bags=bags)
    np.testing.assert_array_equal(given, X)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.decision_function(X, bags=bags), clf.decision_function(X, bags=bags))
    np.testing.assert_array_equal(copy.path_.numbers, clf.path_.numbers)
    assert clone(clf).get_params() == clf.get_params()
    assert len(pickle.dumps(clf)) < 200_000, "the rows that the path needs, not the training data's distances"


def test_class_weights_count_bags():
    S, labels, _, rows = written_out(X, y, bags, 1.7, scale=None)
    for class_weight in ("balanced", {0: 2.0, 1: 0.5}):
        clf = miles_by_rule(4, sigma=1.7, scale=None, class_weight=class_weight).fit(X, y, bags=bags)
        peer = fgm_by_rule(4, scale=None, class_weight=class_weight).fit(S, labels)
        np.testing.assert_array_equal(clf.selection_.features, rows[peer.selection_.features])
        np.testing.assert_allclose(clf.decision_function(X, bags=bags), peer.decision_function(S), atol=1e-6)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)
    one, two = (miles_by_rule(4, n_jobs=n_jobs).fit(X, y, bags=bags) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.selection_.weights, two.selection_.weights)
    monkeypatch.setattr(bags_module, "CACHE", 0)
    bare = miles_by_rule(4, n_jobs=2).fit(X, y, bags=bags)
    np.testing.assert_array_equal(one.selection_.weights, bare.selection_.weights)


def test_a_fraction_is_one_of_the_different_rows():
    clf = miles_by_rule(0.05, sigma=1.0).fit(np.vstack([X, X]), np.concatenate([y, y]), bags=np.tile(bags, 2))
    assert clf.selection_.features.size == int(0.05 * len(np.unique(X, axis=0)))


@pytest.fixture
def slow(monkeypatch):
    """Nothing is kept, and a tile takes a tenth of a second."""
    tile = BagDistances._tile
    monkeypatch.setattr(bags_module, "CACHE", 0)
    monkeypatch.setattr(bags_module, "WIDEST_TILE", 16)

    def slowly(self, places):
        time.sleep(0.05)
        return tile(self, places)

    monkeypatch.setattr(BagDistances, "_tile", slowly)


def test_max_time_is_heard_inside_a_scan(slow):
    begun = time.perf_counter()
    with pytest.warns(FewerFeaturesWarning, match="max_time"):
        clf = miles_by_rule(30, sigma=1.5, max_time=1.0, features_per_turn=2, n_jobs=1).fit(X, y, bags=bags)
    assert time.perf_counter() - begun < 3.0
    assert clf.predict(X, bags=bags).shape == (40,)


@pytest.fixture
def heard():
    """Background jobs ignore SIGINT: here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupts_are_heard_and_leave_a_model(slow, heard):
    clf = miles_by_rule(30, sigma=1.5, features_per_turn=1, n_jobs=1)
    sent = []

    def watch(turn, target):
        if turn.features >= 2 and not sent:
            sent.append(time.perf_counter())
            threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()

    clf.set_params(verbose=watch)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y, bags=bags)
    assert time.perf_counter() - sent[0] < 3.0  # all turns would take many times as long
    assert clf.selection_.interrupted
    assert clf.predict(X, bags=bags).shape == (40,)


def test_progress_counts_instances(capsys):
    miles_by_rule(3, sigma=1.5, verbose=2).fit(X, y, bags=bags)
    assert "instances" in capsys.readouterr().err
