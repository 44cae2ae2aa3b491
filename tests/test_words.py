"""Sentences and numbers as users read them."""

from dataclasses import replace

import pytest

from thresher.results import Certificate, Trace, rounded
from thresher.results.words import percent, proof

CERTIFICATE = Certificate(700.0, 600.0, 745.0, 601.64, 4096.0)  # pick_gap 0.035


@pytest.mark.parametrize(("number", "text"), [
    (5067.3, "5,070"), (12.345, "12.3"), (999.7, "1,000"), (0.0, "0"), (1.0, "1"), (0.0123, "0.0123"),
    (1234567.0, "1,230,000"), (100.4, "100"),
])  # fmt: skip
def test_numbers_have_three_digits_and_no_exponent(number, text):
    assert rounded(number) == text


def test_a_record_of_thousands_of_passes():
    """As after a grid."""
    trace = Trace()
    with trace.step("solve", passes=5070.4):
        pass
    assert repr(trace).startswith("Trace(5,070 passes, ")


@pytest.mark.parametrize(("share", "text"), [
    (0.035, "3.5 %"), (0.0347, "3.5 %"), (0.0351, "3.6 %"), (1.0, "100 %"), (0.996, "100 %"), (0.12, "12 %"),
    (0.0, "0.0001 %"), (1e-12, "0.0001 %"), (1.5e-5, "0.0015 %"), (0.1, "10 %"), (2.5, "250 %"),
])  # fmt: skip
def test_percentages_are_upper_bounds(share, text):
    assert percent(share) == text
    assert float(text.removesuffix(" %")) / 100 >= share - 1e-12


def test_the_proof_in_words():
    """That it is about training and the best of its size, the percentage, and what it does not say."""
    assert proof(CERTIFICATE, 32_768, 100) == (
        "The training objective is within 3.5 % of the best of its size: no 100 of the 32,768 columns could lower it "
        "further than that (100 %: the objective without features). This says nothing about chance or new data: "
        "scikit-learn's permutation_test_score does."
    )
    assert proof(CERTIFICATE, 5000) == (
        "The training objective is within 3.5 % of the best: no weights of the 5,000 columns, with these penalties, "
        "could lower it further than that (100 %: the objective without features). This says nothing about chance or "
        "new data: scikit-learn's permutation_test_score does."
    )
    assert "no 3 of the 50 columns (2 always included) could" in proof(CERTIFICATE, 50, 3, n_forced=2)
    assert "no 3 of the 50 columns (for each class) could" in proof(CERTIFICATE, 50, 3, each=True)
    assert "no 3 of the 50 terms (2 always included, for each class, also some) could" in proof(
        CERTIFICATE, 50, 3, n_forced=2, each=True, noun="term", also="also some"
    )
    assert proof(CERTIFICATE, 50, 0) == (
        "No column is in the model: none lowers the training objective by more than 2.5 % of what it is without "
        "features."
    )


@pytest.mark.parametrize(("pick_bound", "n_selected", "weak"), [
    (601.64, 3, False), (340.0, 3, False), (330.0, 3, True), (0.0, 100, True), (0.0, None, False),
])  # fmt: skip
def test_a_loose_bound_is_told(pick_bound, n_selected, weak):
    """A perfect pick on noisy data has a gap like that; bounds under penalties are tight."""
    hint = "The bound is loose here, as it is on noisy or correlated data; the pick may still be the best, or near it."
    assert proof(replace(CERTIFICATE, pick_bound=pick_bound), 50, n_selected).endswith(hint) == weak


def test_a_bound_that_is_not_known_proves_nothing():
    """As of some stations of growth."""
    unknown = replace(CERTIFICATE, pick_bound=float("-inf"))
    assert proof(unknown, 50, 3).startswith("Nothing is proven of this model")
