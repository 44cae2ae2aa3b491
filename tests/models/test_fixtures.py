"""Files written by earlier versions are read, and say what they said then."""

import json
import os

import numpy as np
import pytest

import thresher
from tests.models.make_fixtures import HERE, clf_data, odd_parameter, stations
from tests.models.zoo import same
from thresher.models import read

CASES = [
    (f"{path.name.partition('_')[0]}_{name}", name, said)
    for path in sorted(HERE.glob("v*_expected.json"))
    for name, said in json.loads(path.read_text(encoding="utf-8")).items()
]


@pytest.mark.filterwarnings("ignore::thresher.MissingBagsWarning")  # rows are as good as bags here
@pytest.mark.parametrize(("file", "name", "said"), CASES, ids=[case[0] for case in CASES])
def test_earlier_files_are_read(file, name, said):
    """Predictions, names and path as they were when the file was written."""
    clf = thresher.load(HERE / f"{file}.json")
    clf.selection_.check()
    A = clf_data(name)
    assert clf.predict(A).tolist() == said["predictions"]
    np.testing.assert_allclose(clf.decision_function(A), said["scores"], rtol=1e-12, atol=1e-12)
    assert clf.get_feature_names_out().tolist() == said["names"]
    places = [place if isinstance(place, list) else [place] for place in said["numbers"]]
    assert stations(clf) == places
    for place in places:
        clf.at(*place).predict(A)


def test_what_stands_beside_the_estimator_is_read():
    """Source and names of version 1."""
    assert read(HERE / "v1_two.json").source == thresher.Source(kind="svmlight", index_base=1)
    assert read(HERE / "v1_words.json").names == tuple("abcdefghijkl")
    assert read(HERE / "v1_npz.json").document["arrays"] is not None
    source = thresher.Source("train.svm", "svmlight", index_base=1, notes={"größe": [1, 2.5, None]})
    assert read(HERE / "v2_two.json").source == source
    assert read(HERE / "v2_words.json").names == tuple("abcdefghijkl")


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_inside_parameters_are_read(version):
    """As they were, with dtypes and shapes; the large ones lie in the .npz."""
    model, odd = read(HERE / f"v{version}_parameters.json"), odd_parameter()
    found = model.estimator.cv
    assert same({**found, "matrix": 0}, {**odd, "matrix": 0})
    assert type(found["matrix"]) is type(odd["matrix"])
    assert (found["matrix"] != odd["matrix"]).nnz == 0
    floats = model.document["parameters"]["cv"]["pairs"][0][1]["array"]
    assert floats["values"]["npz"] == "parameters.cv"


def test_fixtures_are_all_there_small_and_of_their_version():
    """Eleven models of version 1, thirty of version 2, thirty-two of version 3, under 950 KB."""
    assert [len([case for case in CASES if case[0].startswith(f"v{n}_")]) for n in (1, 2, 3)] == [11, 30, 32]
    assert sum(os.path.getsize(HERE / name) for name in os.listdir(HERE)) < 950_000
    for file, _, _ in CASES:
        document = json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))
        assert document["format_version"] == int(file[1])
