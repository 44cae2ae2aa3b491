"""Writes the model files of this version that later versions must read: python -m tests.models.make_fixtures.

Run when there is a new format version or a new type; files that are there stay as they are. What the models say about
the data is written beside them.
"""

import json
import pathlib
import warnings

import numpy as np
import pandas as pd
from scipy import sparse

import thresher
from tests.rule import fgm_by_rule, miles_by_rule
from thresher.models.formats import CHECKPOINT, MODEL
from thresher.state import arrays

HERE = pathlib.Path(__file__).parent / "fixtures"
VERSION = MODEL.version
SMALL = ("npz", "parameters")  # models whose arrays lie in an .npz


def data():
    """Samples (40, 12) in exact binary fractions, so that every machine sees the same, and labels of three kinds."""
    rng = np.random.default_rng(0)
    X = rng.integers(-64, 65, (40, 12)) / 32.0
    three = np.argmax(X[:, :3] + 0.5 * X[:, 3:6], axis=1)
    return X, X[:, 0] + X[:, 4] > 0, three


def models():
    """(name, estimator, options of save) of each fixture; sizes are small on purpose."""
    X, two, three = data()
    frame = pd.DataFrame(X, columns=[f"größe {j}" for j in range(12)])
    words = np.array(["no", "yes"])[two.astype(int)]
    few = {"n_candidates": 2.0, "n_features_to_select": 3}
    text = thresher.Source("train.svm", "svmlight", index_base=1, notes={"größe": [1, 2.5, None]})
    yield "two", fgm_by_rule(**few).fit(X, two), {"source": text}
    yield "words", fgm_by_rule(C="auto", cv=3, **few).fit(X, words), {"names": list("abcdefghijkl")}
    yield "frame", fgm_by_rule(always_include=["größe 7"], **few).fit(frame, two.astype(int)), {}
    yield "three", fgm_by_rule(loss="logistic", class_weight={0: 2.0}, **few).fit(X, three), {}
    yield "per_class", fgm_by_rule(per_class=True, elimination=False).fit(X, three.astype("<f4")), {}
    yield "groups", fgm_by_rule(groups=np.arange(12) // 2, **few).fit(X, two), {}
    overlapping = thresher.Groups({"größe": [0, 1, 2], "b": [2, 3]}, weights=[1.5, 1.0], ungrouped="single")
    yield "overlaps", fgm_by_rule(groups=overlapping, **few).fit(X, three), {}
    tree = thresher.Tree(np.concatenate([12 + np.arange(12) // 3, [16, 16, 16, -1, -1]]), names=[*"abcdefghijklmnopq"])
    yield "tree", fgm_by_rule(groups=tree, **few).fit(X, two), {}
    yield "intersection", fgm_by_rule(feature_map=thresher.Intersection(4), **few).fit(np.abs(X), two), {}
    yield "exact", fgm_by_rule(2, feature_map="intersection", elimination=False).fit(np.abs(X), two), {}
    yield "gaussian", fgm_by_rule(feature_map=thresher.AdditiveGaussian(0.3, 3), **few).fit(X, three), {}
    yield "chi2", fgm_by_rule(feature_map=thresher.AdditiveChi2(2), **few).fit(np.abs(X), two), {}
    yield "products", fgm_by_rule(feature_map="polynomial", **few).fit(X, two), {}
    kernel = thresher.Polynomial(0.5, 2.0, interaction_only=True)
    yield (
        "products_three",
        fgm_by_rule(feature_map=kernel, **few).fit(sparse.csr_array(np.abs(X)), three),
        {},
    )
    yield "npz", fgm_by_rule(**few).fit(X, two), {"names": list("abcdefghijkl")}
    yield "svc", thresher.SparseSVC(beta=0.1, scale=None, fit_intercept=False).fit(X, two), {}
    yield (
        "grid",
        thresher.SparseSVCPath(3, 4, cv=3, scale=None, fit_intercept=False).fit(X, words),
        {"source": thresher.Source(kind="csv")},
    )
    yield "grid_three", thresher.SparseSVCPath(2, 3, fit_intercept=True, scale=None).fit(X, three), {}
    yield "stream", thresher.StreamClassifier(3, l2=[1e-4, 1e-2], random_state=0).fit(X, words), {}
    yield "parameters", fgm_by_rule(**few).fit(X, two).set_params(cv=odd_parameter()), {}
    yield "kernels", thresher.AlignmentPathClassifier(path=thresher.KernelPath(step=0.25), cv=3).fit(X, words), {}
    path = thresher.KernelPath(step=0.5)
    yield "kernels_three", thresher.AlignmentPathClassifier("laplace", path=path, cv=None).fit(X, three), {}
    yield "f1", fgm_by_rule(loss="f1", C=100.0, **few).fit(X, two), {}
    rare = X[:, 1] - X[:, 2] > 1.5
    yield "recall", fgm_by_rule(loss=thresher.RecallAtK(2.0), C=100.0, **few).fit(X, rare), {}
    yield "precision", fgm_by_rule(loss=thresher.PrecisionAtK(5), C=100.0, **few).fit(X, two), {}
    yield "measures", fgm_by_rule(loss=thresher.FBeta(2.0), C=10.0, **few).fit(X, three), {}
    yield "all", fgm_by_rule("all", loss="auc", C=1.0).fit(X, two), {}
    rows, few = np.arange(40), {"n_candidates": 2.0, "n_instances_to_select": 2}
    bags = rows // 2 + 100 * two
    yield "bags", miles_by_rule(**few).fit(X, words, bags=bags), {}
    bags, chosen = rows // 4 + 100 * three, {"sigma": "search", "cv": 2, "scale": "max"}
    yield "bags_three", miles_by_rule(**few, **chosen).fit(sparse.csr_array(X), three, bags=bags), {}
    yield "stream_three", thresher.StreamClassifier(2, "ada-fobos", random_state=0).fit(X, three), {}
    yield "stream_hashed", thresher.StreamClassifier(3, hash_bits=4, random_state=0).fit(X, words), {}
    units = [("rbf", [0, 4]), ("linear", [1]), ("laplace", [2, 3])]
    coarse = thresher.KernelPath(step=0.5)
    yield "kernels_units", thresher.AlignmentPathClassifier(units, path=coarse, cv=None).fit(X, words), {}


def odd_parameter():
    """Arrays of every kind, nested; ``cv`` may hold them, since it is not looked at unless C is "auto"."""
    return {
        "floats": np.arange(200.0).reshape(20, 10),
        "groups": [np.arange(50, dtype=np.int32), (np.array([True, False] * 50), "few")],
        "words": np.array([["größe", "a"], ["", "bc"]]),
        "matrix": sparse.csr_array(np.eye(20)),
    }


def checkpointed(rows):
    """(a StreamClassifier after so many rows, samples, labels): the checkpoint of version 1 has seen 30."""
    X, _, three = data()
    clf = thresher.StreamClassifier(3, l2=[1e-4, 1e-2], class_weight="balanced", open_ended=True)
    return clf.partial_fit(X[:rows], three[:rows], classes=[0, 1, 2]), X, three


def write_checkpoint():
    """The checkpoint, if it is not there."""
    path = HERE / f"v{CHECKPOINT.version}_checkpoint.npz"
    if not path.exists():
        thresher.save_checkpoint(checkpointed(rows=30)[0], path, position={"lines": 30, "bad": 0, "out": "model.json"})


def main():
    """Write them all."""
    HERE.mkdir(exist_ok=True)
    write_checkpoint()
    said, limit = HERE / f"v{VERSION}_expected.json", arrays.INLINE
    expected = json.loads(said.read_text(encoding="utf-8")) if said.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, clf, options in models():
            if name in expected:
                continue
            arrays.INLINE = 64 if name in SMALL else limit
            thresher.save(clf, HERE / f"v{VERSION}_{name}.json", **options)
            arrays.INLINE = limit
            expected[name] = {
                "predictions": clf.predict(clf_data(name)).tolist(),
                "scores": clf.decision_function(clf_data(name)).tolist(),
                "names": clf.get_feature_names_out().tolist(),
                "numbers": stations(clf),
            }
    said.write_text(json.dumps(expected, indent=1, ensure_ascii=False), encoding="utf-8")


def stations(clf):
    """What ``at`` takes, for every model that the file holds besides."""
    if isinstance(clf, thresher.SparseSVCPath):
        return [[int(i), int(j)] for i, j in np.argwhere(clf.path_.solved)]
    return [[int(number)] for number in clf.path_.numbers] if hasattr(clf, "path_") else []


def clf_data(name):
    """What the model of that name is asked about."""
    X = np.abs(data()[0]) if name in ("intersection", "exact", "chi2", "products_three") else data()[0]
    return pd.DataFrame(X, columns=[f"größe {j}" for j in range(12)]) if name == "frame" else X


if __name__ == "__main__":
    main()
