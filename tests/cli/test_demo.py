"""The demo, on less data than it shows."""

import re

import numpy as np
import pytest
from sklearn.metrics import f1_score

from tests.cli.test_commands import thresh
from thresher.cli.commands import demo


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
    assert len(parts) == 9
    for part in parts:
        assert len(part.rstrip().splitlines()) <= 25
        assert max(map(len, part.splitlines())) < 80


def test_the_proof_is_the_sentence_of_the_commands(shown):
    text = " ".join(shown[0].split())
    assert re.search(
        r"Certificate: The training objective is within [\d.]+ % of the best of its size: no 20 of the 1,000 columns",
        text,
    )
    assert "no 8 of the 64 columns could lower it further than that" in text
    assert "says nothing about chance or new data: scikit-learn's permutation_test_score does." in text
    assert "5 groups selected, as requested, 5 of them right" in text
    assert "no 5 of the 400 groups could lower" in text
    assert "column 17 x column 42 and column 256 x column 999" in text
    assert "no 2 of the 501,500 terms could lower" in text
    assert "By importance, as (row, column): (" in text
    assert "Of 2,000 training rows 5 were selected, 5 of them telling ones." in text
    assert "no 5 of the 2,000 training instances could lower" in text


def test_the_rare_class_is_found_more_often_with_its_measure(shown):
    """F1 of both losses, with ten columns each, and of the default with another threshold, which is told, too."""
    row = r"^   {} +(\d+) +(0\.\d+)"
    (few, plain), (more, tuned), (most, fitted) = (
        re.search(row.format(name), shown[0], flags=re.MULTILINE).groups()
        for name in ("squared_hinge, the default", r"\.\.\. with the threshold moved for F1", "f1")
    )
    assert float(fitted) > float(plain) + 0.03
    assert float(tuned) > float(plain) + 0.03
    assert int(few) < int(more)
    assert int(few) < int(most)
    assert "Of 10 selected columns 10 and 10 matter." in " ".join(shown[0].split())


@pytest.mark.parametrize("seed", range(5))
def test_the_best_threshold_is_that_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    y, scores = rng.random(30) < 0.3, rng.standard_normal(30)
    values = [f1_score(y, scores > bar) for bar in np.append(scores, scores.min() - 1.0)]
    assert f1_score(y, scores > demo.best_threshold(scores, y)) == max(values)


def test_nothing_is_fitted_for_the_clock_alone(shown):
    """One fit of each of ours, and the search of LIBLINEAR's C, whose last fit is the one that is timed."""
    assert shown[1].count("FGMClassifier") == 6
    assert 1 <= shown[1].count("LinearSVC") <= 5
