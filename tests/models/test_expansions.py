"""Maps of kernels in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError


def changed(document, **parts):
    return document | {"expansion": document["expansion"] | parts}


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"size": 9}, "size 9 of the expansion does not match its kernel"),
        ({"size": 7}, "names|features|units|expansion"),
        ({"kernel": {"value": {"type": "AdditiveChi2", "fields": {}}}}, "size 8 of the expansion does not match"),
        ({"kernel": {"value": {"type": "Groups", "fields": {"of": [0]}}}}, "the kernel of the expansion is none"),
        ({"kernel": "intersection"}, "the kernel of the expansion is none"),
        ({"columns": [0]}, "factor of the expansion"),
        ({"factor": [-1.0] * 40}, "factor"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    write(path, changed(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_an_input_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    expansion, chosen = document["expansion"], int(fitted("intersection").selection_.groups[0])
    kept = [place for place, column in enumerate(expansion["columns"]) if column != chosen]
    short = {name: [expansion[name][k] for k in kept] for name in ("columns", "factor", "centre", "largest")}
    write(path, changed(document, **short))
    with pytest.raises(ModelFileError, match="the expansion lacks an input"):
        thresher.load(path)


def test_a_file_without_its_expansion(tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    write(path, document | {"expansion": None})
    with pytest.raises(ModelFileError, match="features must be between 0 and 39"):
        thresher.load(path)


def test_a_file_is_the_model_and_needs_no_training_data(tmp_path):
    for kind in ("intersection", "exact", "chi2", "gaussian"):
        path, *_ = saved(tmp_path, kind)
        A = data_for(kind)
        np.testing.assert_array_equal(thresher.load(path).decision_function(A), fitted(kind).decision_function(A))
