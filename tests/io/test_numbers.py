"""Numbers out of text: what Python's float reads, to the last bit."""

import random
import struct

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.io.text import svmlight_rows
from thresher.loops import text as loops


def read(word):
    """The value of ``word`` as a label of a row, which goes the way of every number."""
    (value,) = svmlight_rows(word.encode()).labels
    return value


@numba.njit
def number(text, at, end):
    """The loop that reads one number, which is a part of other loops."""
    return loops._number(text, at, end)


def bits(value):
    return struct.pack("d", value)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(2.2250738585072014e-308)
@example(2.225073858507201e-308)
@example(1.7976931348623157e308)
@example(-0.0)
def test_every_float_comes_back(value):
    assert bits(read(repr(value))) == bits(value)


@settings(deadline=None)
@given(st.integers(0, 10**22), st.integers(-340, 285), st.sampled_from(["", "+", "-"]), st.sampled_from("eE"))
@example(9007199254740993, 0, "", "e")  # half way between two floats
@example(9007199254740993, 5, "", "e")
@example(18014398509481990, 22, "", "e")
@example(1, 23, "", "e")
@example(9999999999999999999, 0, "", "e")
def test_digits_and_exponents(digits, power, sign, e):
    word = f"{sign}{digits}{e}{power}"
    assert bits(read(word)) == bits(float(word))


@settings(deadline=None)
@given(st.text("0123456789", max_size=25), st.text("0123456789", max_size=25))
@example("0" * 30, "0" * 30 + "1")
@example("", "5")
@example("5", "")
def test_points(whole, fraction):
    if whole or fraction:
        word = f"{whole}.{fraction}"
        assert bits(read(word)) == bits(float(word))


def test_numbers_half_way_between_floats_go_to_the_even_one():
    """Exact halves, and the nearest decimals on both sides of them, for exponents of every size."""
    rng = random.Random(0)
    for _ in range(3000):
        mantissa, power = rng.randrange(2**52, 2**53), rng.randrange(-60, 60)
        half = (2 * mantissa + 1) * 2 ** max(power, 0)
        if power < 0:
            half, tens = half * 5**-power, power
        else:
            tens = 0
        for nudge in (-1, 0, 1):
            word = f"{10 * half + nudge}e{tens - 1}"
            assert bits(read(word)) == bits(float(word)), word


def test_few_numbers_are_left_to_python():
    rng = np.random.default_rng(0)
    hard = 0
    for value in rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 30, 2000):
        text = np.frombuffer(repr(float(value)).encode(), dtype=np.uint8)
        hard += number(text, 0, text.size)[2] == loops.HARD
    assert hard == 0


@pytest.mark.parametrize(
    "word", ["", ".", "+", "-", "e5", "1e", "1e+", "--1", "+-1", "1_0", "nan", "inf", "0x1", "1.2.3", "1,5", "١"]
)
def test_what_is_no_number(word):
    text = np.frombuffer(word.encode(), dtype=np.uint8)
    _, at, status = number(text, 0, text.size)
    assert status == loops.NOT_A_NUMBER or at < text.size
