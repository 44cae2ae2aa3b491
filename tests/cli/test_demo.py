"""The demo, on less data than it shows."""

import re

import pytest

from tests.cli.test_commands import thresh
from thresher.cli import demo


@pytest.fixture(scope="module")
def shown():
    """(what it prints, how many fits of each class it took)."""
    fits = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SAMPLES": 300, "COLUMNS": 1000, "RELEVANT": 20, "FIRST_C": 0.05}.items():
            patch.setattr(demo, name, value)
        really = demo.seconds_of
        patch.setattr(demo, "seconds_of", lambda model, X, y: fits.append(type(model).__name__) or really(model, X, y))
        return thresh("demo").stdout, fits


def test_each_part_fits_on_a_screen(shown):
    """80 x 25 characters."""
    parts = re.split(r"^(?=\d\. )", shown[0], flags=re.MULTILINE)
    assert len(parts) == 8
    for part in parts:
        assert len(part.rstrip().splitlines()) <= 25
        assert max(map(len, part.splitlines())) < 80


def test_the_proof_is_the_sentence_of_the_commands(shown):
    text = " ".join(shown[0].split())
    assert re.search(r"Certificate: At most [\d.]+ % of the possible gain is left: no 20 of the 1,000 columns", text)
    assert "no 8 of the 64 columns could lower the training objective further than that." in text
    assert "5 groups selected, as requested, 5 of them right" in text
    assert "no 5 of the 400 groups could lower" in text
    assert "column 17 x column 42 and column 256 x column 999" in text
    assert "no 2 of the 501,500 terms could lower" in text
    assert "By importance, as (row, column): (" in text
    assert "Of 2,000 training rows 5 were selected, 5 of them telling ones." in text
    assert "no 5 of the 2,000 training instances could lower" in text


def test_nothing_is_fitted_for_the_clock_alone(shown):
    """One fit of each of ours, and the search of LIBLINEAR's C, whose last fit is the one that is timed."""
    assert shown[1].count("FGMClassifier") == 4
    assert 1 <= shown[1].count("LinearSVC") <= 5
