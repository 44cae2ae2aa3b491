"""Golden fits: what a fit gave when it was recorded, it gives today."""

import json

import pytest

from tests.golden.fits import FITS
from tests.golden.record import FILE, differences

RECORD = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", FITS)
def test_fits_give_what_was_recorded(name):
    """Equal to rounding; ``python -m tests.golden`` compares bit for bit on the machine that made the record."""
    old, new = dict(RECORD[name]), dict(FITS[name]())
    passes = old.pop("passes", 0.0), new.pop("passes", 0.0)
    assert passes[1] == pytest.approx(passes[0], rel=0.02), "a step more or less of a solver, by rounding"
    found = differences(old, new, name, rtol=1e-7, atol=1e-9)
    assert not found, "\n".join(found)


def test_differences_see_a_changed_number():
    old = {"weights": [1.0, 2.0], "features": [3, 4]}
    assert differences(old, {"weights": [1.0, 2.0 + 1e-6], "features": [3, 4]}, "x", rtol=1e-7)
    assert differences(old, {"weights": [1.0, 2.0], "features": [3, 5]}, "x", rtol=1e-7)
    assert differences(old, {"weights": [1.0], "features": [3, 4]}, "x", rtol=1e-7)
    assert not differences(old, {"weights": [1.0, 2.0 + 1e-12], "features": [3, 4]}, "x", rtol=1e-7)


def test_differences_see_a_changed_id_of_any_size():
    """Numbers of products of columns have ten digits and more: a relative tolerance would take one for another."""
    assert differences({"features": [1 << 40, 3]}, {"features": [(1 << 40) + 1, 3]}, "x", rtol=1e-7)
    assert not differences({"features": [1 << 40, 3]}, {"features": [1 << 40, 3]}, "x")
