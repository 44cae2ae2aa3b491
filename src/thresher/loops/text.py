"""Numbers and svmlight rows out of text: compiled loops over bytes.

A number comes out as Python's ``float`` reads it, to the last bit. One of up to 19 digits is an integer w times
10^q. Where both are exact in float64, one operation rounds right; else w is multiplied by the first 128 bits of 5^q,
which decides the rounding for all but a few (Eisel and Lemire's method). Those few, and longer ones, are left to the
caller: their places go into ``hard``.
"""

import math

import numpy as np

from thresher.loops.jit import LIGHT, compiled, helper

OK, HARD, NOT_A_NUMBER = range(3)
BAD_LABEL, BAD_INDEX, NO_COLON, BAD_VALUE = range(1, 5)  # what is wrong with a row

TAB, NEWLINE, RETURN, BLANK, HASH, PLUS, MINUS, POINT = b"\t\n\r #+-."
ZERO, NINE, COLON, CAPITAL_E, SMALL_E = b"09:Ee"
QID = np.frombuffer(b"qid:", dtype=np.uint8)

MOST_DIGITS = 19  # of an integer that always fits 64 bits
LARGEST_POWER = 300  # of ten, either way: beyond lie subnormal and infinite numbers
LARGEST_INDEX = 2**63 - 2  # the number of columns is one more
LARGEST_TENTH, LARGEST_DIGIT = divmod(LARGEST_INDEX, 10)
EXACT_INTEGERS = np.uint64(2**53)
TENS = np.array([10.0**q for q in range(23)])  # exact in float64
U1, U3, U9, U10, U32, U63 = (np.uint64(k) for k in (1, 3, 9, 10, 32, 63))
HALF, LOW_NINE, ALL = np.uint64(2**32 - 1), np.uint64(2**9 - 1), np.uint64(2**64 - 1)
START = np.int64(0)  # a literal 0 as an argument would have its loop compiled once more


def _power_of_five(q):
    """The first 128 bits of 5^q, rounded up where q < 0."""
    if q >= 0:
        power = 5**q
        return power << (128 - power.bit_length()) if power.bit_length() <= 128 else power >> (power.bit_length() - 128)
    power = 5**-q
    found = (1 << (power.bit_length() + 256)) // power + 1
    cut = found.bit_length() - 128
    return (found >> cut) + (1 if q >= -27 else 0)


_FIVES = [_power_of_five(q) for q in range(-LARGEST_POWER, LARGEST_POWER + 1)]
FIVES_HIGH = np.array([five >> 64 for five in _FIVES], dtype=np.uint64)
FIVES_LOW = np.array([five & (2**64 - 1) for five in _FIVES], dtype=np.uint64)


@helper
def _product(a, b):
    """(high, low) 64 bits of a * b."""
    a_low, a_high, b_low, b_high = a & HALF, a >> U32, b & HALF, b >> U32
    low, middle, other = a_low * b_low, a_high * b_low, a_low * b_high
    carried = (low >> U32) + (middle & HALF) + other  # fits: (2^32 - 1) twice and (2^32 - 1)^2
    return a_high * b_high + (middle >> U32) + (carried >> U32), (carried << U32) | (low & HALF)


@helper
def _leading_zeros(w):
    """Of 64 bits, w > 0."""
    count = 0
    for width in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - width) == np.uint64(0):
            w = w << np.uint64(width)
            count += width
    return count


@helper
def _rounded(w, q):
    """(w * 10^q rounded to float64, OK), or (0, HARD) where 128 bits do not decide or it is not a normal number."""
    if q < -LARGEST_POWER or q > LARGEST_POWER:
        return 0.0, HARD
    shift = _leading_zeros(w)
    w = w << np.uint64(shift)
    high, low = _product(w, FIVES_HIGH[q + LARGEST_POWER])
    if high & LOW_NINE == LOW_NINE:  # the bits that follow may carry into those that count
        more, _ = _product(w, FIVES_LOW[q + LARGEST_POWER])
        low = low + more
        if low < more:
            high = high + U1
    if low == ALL and (q < -27 or q > 55):
        return 0.0, HARD
    upper = high >> U63
    mantissa = high >> (upper + U9)  # 54 bits: one more than fit
    if low <= U1 and -4 <= q <= 23 and mantissa & U3 == U1 and mantissa << (upper + U9) == high:
        mantissa = mantissa & ~U1  # exactly half way: to the even one
    mantissa = (mantissa + (mantissa & U1)) >> U1
    power = ((217706 * q) >> 16) + 63 + np.int64(upper) - shift
    if power < -1000 or power > 1000:
        return 0.0, HARD
    return math.ldexp(np.float64(mantissa), power - 52), OK


@helper
def _number(text, at, end):
    """(value, where it ends, status) of the number that begins at ``at``."""
    sign = 1.0
    if at < end and (text[at] == MINUS or text[at] == PLUS):
        sign = -1.0 if text[at] == MINUS else 1.0
        at += 1
    w, digits, written, q = np.uint64(0), 0, 0, 0
    point = False
    while at < end:
        byte = text[at]
        if ZERO <= byte <= NINE:
            written += 1
            digits += 1 if digits > 0 or byte != ZERO else 0
            if digits <= MOST_DIGITS:
                w = w * U10 + np.uint64(byte - ZERO)
            q -= 1 if point else 0
        elif byte == POINT and not point:
            point = True
        else:
            break
        at += 1
    if written == 0:
        return 0.0, at, NOT_A_NUMBER
    if at < end and (text[at] == SMALL_E or text[at] == CAPITAL_E):
        at += 1
        down = at < end and text[at] == MINUS
        if at < end and (text[at] == MINUS or text[at] == PLUS):
            at += 1
        exponent, written = 0, 0
        while at < end and ZERO <= text[at] <= NINE:
            exponent = min(10 * exponent + np.int64(text[at] - ZERO), 1 << 40)
            written += 1
            at += 1
        if written == 0:
            return 0.0, at, NOT_A_NUMBER
        q += -exponent if down else exponent
    if digits > MOST_DIGITS:
        return 0.0, at, HARD
    if digits == 0:
        return sign * 0.0, at, OK
    if w <= EXACT_INTEGERS and -22 <= q <= 22:
        value = np.float64(w)
        return sign * (value / TENS[-q] if q < 0 else value * TENS[q]), at, OK
    value, status = _rounded(w, q)
    return sign * value, at, status


@helper
def _is_blank(byte):
    return byte == BLANK or (TAB <= byte <= RETURN and byte != NEWLINE)


@helper
def _ends_token(text, at, end):
    return at >= end or text[at] == NEWLINE or text[at] == HASH or _is_blank(text[at])


@helper
def _after_blanks(text, at, end):
    while at < end and _is_blank(text[at]):
        at += 1
    return at


@helper
def _next_line(text, at, end):
    while at < end and text[at] != NEWLINE:
        at += 1
    return at + 1


@helper
def _index(text, at, end):
    """(index, where it ends), or -1 where there is none, or a negative or a far too large one."""
    if at < end and text[at] == PLUS:
        at += 1
    index, begun = np.int64(0), at
    while at < end and ZERO <= text[at] <= NINE:
        digit = np.int64(text[at] - ZERO)
        if index >= LARGEST_TENTH and (index > LARGEST_TENTH or digit > LARGEST_DIGIT):
            return np.int64(-1), at
        index = 10 * index + digit
        at += 1
    return (index if at > begun else np.int64(-1)), at


@helper
def _after_query(text, at, end):
    """Where the token ends if it is a query number, else ``at``."""
    if end - at < QID.size:
        return at
    for k in range(QID.size):
        if text[at + k] != QID[k]:
            return at
    while not _ends_token(text, at, end):
        at += 1
    return at


@helper
def _row_of_pairs(text, at, entries, indices, values, hard, hards):
    """(where the row ends, entries, hards, what is wrong, whether its indices rise): the pairs after a label."""
    end, last, rising = text.size, np.int64(-1), True
    at = _after_query(text, _after_blanks(text, at, end), end)
    while True:
        at = _after_blanks(text, at, end)
        if _ends_token(text, at, end):
            return at, entries, hards, OK, rising
        begun = at
        index, at = _index(text, at, end)
        if index < 0:
            return begun, entries, hards, BAD_INDEX, rising
        if at >= end or text[at] != COLON:
            return begun, entries, hards, NO_COLON, rising
        begun = at + 1
        values[entries], at, status = _number(text, begun, end)
        if status == NOT_A_NUMBER or not _ends_token(text, at, end):
            return begun, entries, hards, BAD_VALUE, rising
        if status == HARD:
            hard[hards, 0], hard[hards, 1], hard[hards, 2] = entries, begun, at
            hards += 1
        rising = rising and index > last
        indices[entries] = last = index
        entries += 1


@compiled(config=LIGHT)
def svmlight(text, labels, ends, starts, indices, values, hard, bad):
    """Rows of ``label index:value ...``; (rows, hards, entries, whether all indices rise, bads).

    ``ends`` says at which entry each row ends, ``starts`` at which byte it begins. A line of ``hard`` has the entry, or
    -1 - row for a label, and where its text begins and ends. Bad rows are left out: a line of ``bad`` has what is wrong
    and where.
    """
    at, entries, hards = START, START, START
    end, rows, tidy, bads = text.size, 0, True, 0
    while at < end:
        at = _after_blanks(text, at, end)
        if at < end and text[at] != NEWLINE and text[at] != HASH:
            begun, entries_before, hards_before, rising, wrong = at, entries, hards, True, OK
            labels[rows], at, status = _number(text, at, end)
            if status == NOT_A_NUMBER or not _ends_token(text, at, end):
                at, wrong = begun, BAD_LABEL
            else:
                if status == HARD:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2] = -1 - rows, begun, at
                    hards += 1
                at, entries, hards, wrong, rising = _row_of_pairs(text, at, entries, indices, values, hard, hards)
            if wrong != OK:
                bad[bads, 0], bad[bads, 1] = wrong, at
                bads, entries, hards = bads + 1, entries_before, hards_before
            else:
                tidy = tidy and rising
                ends[rows], starts[rows] = entries, begun
                rows += 1
        at = _next_line(text, at, end)
    return rows, hards, entries, tidy, bads
