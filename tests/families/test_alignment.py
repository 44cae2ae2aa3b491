"""The path of generalised lp-KTA: against a scalar root finder, and the paper's theorem 2 and lemma 1."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from sklearn import datasets

from tests.oracles import alignment as oracle
from thresher import InvalidDataError, KernelPath, alignment_path, alignments
from thresher.families.alignment.divergences import DIVERGENCES, GeneralisedKL, GivenDivergence, SquaredEuclidean
from thresher.families.alignment.formulation import Formulation, auto_lambda2, lambda2_to_begin_with
from thresher.families.alignment.path import follow, predicted, weights_at

rng = np.random.default_rng(3)
A = np.concatenate([[0.0], 10.0 ** rng.uniform(-6, 0, 60), [1.0]])
NORMS = (2.0, 1.7, 1.3, 1.05, 1.01)


class Cubic:
    """F = x^3 + x^2."""

    start = 0.0

    def slope(self, eta):
        return 3.0 * eta**2 + 2.0 * eta

    def curvature(self, eta):
        return 6.0 * eta + 2.0


WAYS = {
    "euclidean": SquaredEuclidean(), "euclidean, elsewhere": SquaredEuclidean(0.2), "kl": GeneralisedKL(),
    "kl, elsewhere": GeneralisedKL(0.3), "cubic": GivenDivergence(Cubic()),
}  # fmt: skip


def formulation(way, lambda1=0.1, lambda2=0.1, **options):
    return Formulation(lambda1, lambda2, WAYS[way], **options)


def root(f, a, p):
    """The weight of one kernel, by brentq in ln eta."""

    def slope(s):
        return float(f.slope(np.exp(np.array([s])), p, np.array([a]))[0])

    low, high = -690.0, 5.0
    if slope(low) >= 0.0:
        return 0.0
    while slope(high) < 0.0:
        high += 1.0
    return np.exp(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))


@pytest.mark.parametrize("lambdas", [(0.1, 0.1), (1.0, 0.01), (0.01, 0.5), (0.3, 0.0)])
@pytest.mark.parametrize("way", WAYS)
def test_weights_are_those_of_a_scalar_root_finder(way, lambdas):
    f = formulation(way, *lambdas)
    for p in NORMS:
        expected = [root(f, a, p) for a in A]
        np.testing.assert_allclose(weights_at(f, A, p), expected, rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize("way", WAYS)
def test_weights_minimise_the_objective(way):
    """Not by its derivative: by its values."""
    f = formulation(way)
    for p in (2.0, 1.4, 1.0):
        for a in (0.03, 0.3, 0.9):
            weight = weights_at(f, np.array([a]), p)[0]
            value = f.objective(np.array([weight]), p, np.array([a]))
            best = minimize_scalar(
                lambda eta, p=p, a=a: f.objective(np.array([eta]), p, np.array([a])), bounds=(0.0, 60.0),
                method="bounded", options={"xatol": 1e-9},
            )  # fmt: skip
            assert value <= best.fun + 1e-9


def test_the_closed_forms_at_p_1():
    np.testing.assert_allclose(weights_at(formulation("euclidean"), A, 1.0), np.maximum(0.0, (A - 0.1) / 0.2))
    np.testing.assert_allclose(weights_at(formulation("kl"), A, 1.0), 0.01 * np.exp((A - 0.1) / 0.1))
    nearly = weights_at(formulation("euclidean"), A, 1.0 + 1e-9)
    np.testing.assert_allclose(nearly, weights_at(formulation("euclidean"), A, 1.0), atol=1e-6)


def test_without_divergence_the_weights_are_known():
    """The special case of Cortes et al.; p = 1 has no solution."""
    f = Formulation(0.0, 0.5, SquaredEuclidean(), p_end=1.1)
    np.testing.assert_allclose(weights_at(f, A, 1.5), (A / 0.75) ** 2, rtol=1e-12)
    assert follow(f, A).n_features[-1] < follow(f, A).n_features[0]
    with pytest.raises(ValueError, match=r"lambda1=0 gives infinite weights at p=1\.005"):
        weights_at(Formulation(0.0, 1e-9, SquaredEuclidean()), A, 1.005)


@pytest.mark.parametrize("predictor", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_every_point_of_the_path_is_optimal_whatever_the_predictor(way, predictor):
    f = formulation(way, predictor=predictor, step=0.05)
    path = follow(f, A)
    path.check()
    assert path.p[0] == 2.0
    assert path.p[-1] == 1.0
    assert len(path) == 21
    for k, p in enumerate(path.p):
        point = path.point(k)
        np.testing.assert_allclose(point.weights, [root(f, a, p) for a in A[point.features]], rtol=1e-9)
        others = np.setdiff1d(np.arange(A.size), point.features)
        assert all(root(f, a, p) <= f.eps for a in A[others]), "what was left out stays below eps: theorem 2"


@pytest.mark.parametrize("order", [1, 2])
def test_predictors_have_their_order(order):
    """Halving the step divides the error by 4 and by 8."""
    a = np.array([0.05, 0.3, 0.8])
    for way in ("euclidean", "kl", "cubic"):
        f = formulation(way, predictor=order)
        eta = weights_at(f, a, 1.5)
        errors = [np.abs(predicted(f, eta, 1.5, 1.5 - h) - weights_at(f, a, 1.5 - h)) for h in (0.02, 0.01)]
        assert np.all(errors[0] > 2.0**order * 1.6 * errors[1]), (way, errors)


@pytest.mark.parametrize("way", ["euclidean", "kl"])
@pytest.mark.parametrize("seed", range(5))
def test_theorem_2(way, seed):
    """On the exact path weights below 1/e fall with p, those above exp(-1/p) rise."""
    a = np.random.default_rng(seed).random(200) ** 3
    f = formulation(way, lambda1=(0.3 if way == "euclidean" else 0.03) * a.max(), lambda2=0.3 * a.max())
    norms = np.linspace(2.0, 1.0, 60)
    weights = np.array([weights_at(f, a, p) for p in norms])
    small, large = weights[:-1] < np.exp(-1.0), weights[:-1] > np.exp(-1.0 / norms[:-1, None])
    change = np.diff(weights, axis=0)
    assert small.any()
    assert large.any()
    assert np.all(change[small] <= 1e-14)
    assert np.all(change[large] >= -1e-14)


@pytest.mark.parametrize("way", ["euclidean", "kl", "cubic"])
@pytest.mark.parametrize("eps", [1e-4, 1e-2, 0.2])
def test_lemma_1(way, eps):
    """The objective of the path exceeds the minimum by no more than the bound, and by something."""
    lambda1 = 0.01 if way == "kl" else 0.1
    path, exact = (follow(formulation(way, lambda1, eps=eps, exact=e, step=0.02), A) for e in (False, True))
    deviation = path.objective - exact.objective
    assert np.all(deviation >= -1e-12)
    assert np.all(deviation <= path.deviation_bound + 1e-12)
    assert deviation.max() > 1e-9
    assert np.array_equal(exact.deviation_bound, np.zeros(51))
    assert np.array_equal(path.n_features, exact.n_features)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("name", ["load_breast_cancer", "load_wine"])
def test_theorem_2_and_lemma_1_on_real_data(name, divergence):
    data = getattr(datasets, name)()
    a = alignments(data.data, data.target) / len(data.target)
    lambda2 = float(np.sort(a)[-(a.size // 3)])
    chosen = DIVERGENCES[divergence]()
    f, g = (Formulation(chosen.ratio * lambda2, lambda2, chosen, eps=1e-2, exact=exact) for exact in (False, True))
    path, exact = follow(f, a), follow(g, a)
    assert 0 < path.n_features[-1] < path.n_features[0]
    assert np.array_equal(path.begins, exact.begins)
    assert np.array_equal(path.ids, exact.ids), "what is left out does not come back on the exact path"
    deviation = path.objective - exact.objective
    assert np.all((deviation >= -1e-12) & (deviation <= path.deviation_bound + 1e-12))
    small = exact.weights.toarray()
    falling = np.diff(small, axis=0)[small[:-1] < np.exp(-1.0)]
    assert np.all(falling <= 1e-14)


def test_the_number_of_features_falls():
    path = follow(formulation("euclidean"), A)
    assert np.all(np.diff(path.n_features) <= 0)
    assert path.n_features[0] > 40 > 20 > path.n_features[-1] > 0
    assert path.weights.shape == (101, 62)
    np.testing.assert_allclose(path.weights[[50]].toarray()[0][path.point(50).features], path.point(50).weights)
    assert path.at(12).features.size <= 12
    assert path.place(12) == np.flatnonzero(path.n_features <= 12)[0]
    with pytest.raises(ValueError, match="no point of the path has between 1 and 0 features"):
        path.at(0)
    with pytest.raises(ValueError, match="there is no point 101"):
        path.point(101)


def test_a_path_can_end_early():
    calls = iter([False, False, True])
    path = follow(formulation("euclidean"), A, lambda: next(calls))
    assert len(path) == 3
    path.check()


def test_auto_lambda_leaves_about_ten():
    a = rng.random(1000)
    path = follow(Formulation(auto_lambda2(a), auto_lambda2(a), SquaredEuclidean()), a)
    assert path.n_features[-1] == 9
    assert auto_lambda2(np.zeros(4)) == 1.0
    assert auto_lambda2(np.array([0.5, 0.2, 0.0])) == 0.5


# alignment_path: kernels given as matrices


def kernels_and_labels(n=30, r=8):
    X = rng.standard_normal((n, r))
    y = np.where(X[:, 0] ** 2 + 0.3 * X[:, 1] > 0.8, 1, -1)
    return [np.exp(-0.5 * (x[:, None] - x) ** 2) for x in X.T], X, y


def test_given_kernels_are_centred_and_divided_by_their_trace():
    kernels, X, y = kernels_and_labels()
    w = rng.integers(0, 3, 30).astype(float)
    path = alignment_path([*kernels, np.ones((30, 30))], y, KernelPath(lambda2=0.1), sample_weight=w)
    expected = [oracle.alignment("rbf", x, y.astype(float), w, 0.5) for x in X.T] / w.sum()
    np.testing.assert_allclose(path.alignments, [*expected, 0.0], atol=1e-12)
    assert path.lambda1 == path.lambda2 == 0.1
    np.testing.assert_allclose(path.point(0).weights, expected[path.point(0).features] / 0.4)  # p = 2
    assert 8 not in path.point(0).features


@pytest.mark.parametrize("divergence", [*DIVERGENCES, Cubic(), SquaredEuclidean(0.1)])
def test_divergences_by_name_or_object(divergence):
    kernels, _, y = kernels_and_labels()
    path = alignment_path(kernels, y, KernelPath(divergence=divergence, step=0.1))
    path.check()
    assert len(path) == 11


@pytest.mark.parametrize("divergence", ["kl", SquaredEuclidean(0.1)])
def test_constant_kernels_have_no_weight(divergence):
    """Not even if eta_0 > 0, from which the weights of all others begin; and no bound counts them."""
    kernels, _, y = kernels_and_labels()
    path = alignment_path([*kernels, np.full((30, 30), 2.0)], y, KernelPath(divergence=divergence, step=0.1))
    alone = alignment_path(kernels, y, KernelPath(divergence=divergence, step=0.1))
    assert alone.n_features[0] == len(kernels)
    assert np.array_equal(path.ids, alone.ids)
    assert np.array_equal(path.values, alone.values)
    assert np.array_equal(path.deviation_bound, alone.deviation_bound)


@pytest.mark.parametrize(("options", "message"), [
    ({"eps": 0.4}, "eps must be below 1/e"), ({"eps": 0}, "eps must be a positive number"),
    ({"p_start": 1.0}, "p_start must be above p_end=1.0"), ({"p_end": 0.9}, "p_end must be at least 1"),
    ({"lambda1": -1}, "lambda1 must be a non-negative number"), ({"lambda2": "some"}, "lambda2 must be 'auto' or"),
    ({"lambda1": 0, "lambda2": 0}, "must not both be 0"), ({"lambda1": 0}, "lambda1=0 needs p_end above 1"),
    ({"step": 0}, "step must be a positive number"), ({"step": 1e-9}, "step=1e-09 gives a path of more than 100,000"),
    ({"predictor": 3}, "predictor must be 0, 1 or 2"),
    ({"divergence": "hellinger"}, "divergence must be 'euclidean', 'kl' or an object"),
    ({"divergence": 3}, "divergence must be"), ({"lambda2": []}, "lambda2 is an empty list"),
    ({"lambda2": None}, "lambda2 must be 'auto' or"), ({"lambda1": float("nan")}, "lambda1 must be a non-negative"),
    ({"lambda2": [0.1, -1.0]}, "lambda2 must be a non-negative number"),
])  # fmt: skip
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        KernelPath(**options)


def test_what_alignment_path_takes():
    kernels, _, y = kernels_and_labels()
    with pytest.raises(ValueError, match="exact must be True or False"):
        alignment_path(kernels, y, exact=1)
    with pytest.raises(ValueError, match=r"path must be None or a KernelPath.*got 0\.1"):
        alignment_path(kernels, y, 0.1)
    with pytest.raises(ValueError, match=r"needs one lambda2, got KernelPath\(lambda2=\(0.1, 'auto'\)\)"):
        alignment_path(kernels, y, KernelPath(lambda2=[0.1, "auto"]))


def test_a_kernel_path_is_a_value():
    path = KernelPath(lambda2=[0.1, "auto"], step=0.05)
    assert repr(path) == "KernelPath(lambda2=(0.1, 'auto'), step=0.05)"
    assert repr(KernelPath()) == "KernelPath()"
    assert path == KernelPath(lambda2=(0.1, "auto"), step=0.05) != KernelPath()
    assert len({path, KernelPath(lambda2=np.array([0.1]), step=0.05), pickle.loads(pickle.dumps(path))}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.step = 0.1


def test_bad_kernels_are_refused():
    kernels, _, y = kernels_and_labels()
    with pytest.raises(InvalidDataError, match=r"kernels\[1\] has shape \(30, 29\)"):
        alignment_path([kernels[0], kernels[1][:, :29]], y)
    with pytest.raises(InvalidDataError, match=r"kernels\[0\] is not symmetric"):
        alignment_path([np.triu(kernels[0])], y)
    with pytest.raises(InvalidDataError, match=r"kernels\[0\] contains NaN"):
        alignment_path([kernels[0] * np.nan], y)
    with pytest.raises(InvalidDataError, match=r"kernels\[0\] must be a matrix of numbers"):
        alignment_path([[["a"]]], y)
    with pytest.raises(InvalidDataError, match="kernels is empty"):
        alignment_path([], y)
    with pytest.raises(ValueError, match="only one class"):
        alignment_path(kernels, np.ones(30))


@pytest.mark.parametrize("lambda1", [None, 1e-6])
@pytest.mark.parametrize("p_start", [2.0, 1.5])
def test_a_path_that_begins_with_so_many_kernels(lambda1, p_start):
    """The largest alignments, none more, and fewer where alignments are equal."""
    a = np.sort(np.random.default_rng(3).random(50) ** 3)[::-1]
    a[10:14] = a[10]
    for count, expected in ((1, 1), (7, 7), (12, 10), (14, 14), (50, 50), (80, 50)):
        strength = lambda2_to_begin_with(count, a, lambda1, SquaredEuclidean(), 1e-4, p_start)
        path = follow(Formulation(lambda1 or strength, strength, SquaredEuclidean(), p_start=p_start), a)
        assert path.n_features[0] == expected
    assert lambda2_to_begin_with(5, a, None, GeneralisedKL(), 1e-4, 2.0) is None  # weights stay near 0.01
    assert lambda2_to_begin_with(50, a, 1e9, SquaredEuclidean(), 1e-4, 2.0) is None  # it alone leaves kernels out
    assert lambda2_to_begin_with(5, np.zeros(4), None, SquaredEuclidean(), 1e-4, 2.0) == 1.0
