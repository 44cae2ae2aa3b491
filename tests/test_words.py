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
    """The percentage first, and that it is about training."""
    assert proof(CERTIFICATE, 32_768, 100) == (
        "At most 3.5 % of the possible gain is left: no 100 of the 32,768 columns could lower the training objective "
        "further than that."
    )
    assert proof(CERTIFICATE, 5000) == (
        "At most 3.5 % of the possible gain is left: no weights of the 5,000 columns, with these penalties, could "
        "lower the training objective further than that."
    )
    assert "no 3 of the 50 columns (2 always included) could" in proof(CERTIFICATE, 50, 3, n_forced=2)
    assert "no 3 of the 50 columns (for each class) could" in proof(CERTIFICATE, 50, 3, each=True)
    assert proof(CERTIFICATE, 50, 0) == "No column is in the model. At most 2.5 % of the possible gain is left."


def test_a_bound_that_is_not_known_proves_nothing():
    """As of some stations of growth."""
    unknown = replace(CERTIFICATE, pick_bound=float("-inf"))
    assert proof(unknown, 50, 3).startswith("Nothing is proven of this model")
