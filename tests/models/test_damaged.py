"""Damaged files, some hundreds of them: each ends in a ModelFileError of one line, or is a sound model."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thresher
from tests.models.damage import parsed, refused, resealed, saved, sound_or_refused, write
from thresher.state import arrays

KINDS = [
    "two", "shared", "frame", "auto", "intersection", "exact", "gaussian", "products", "interactions", "svc", "grid_cv",
    "grid_classes",
]  # fmt: skip
TRIALS = 35


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_and_missing_bytes(kind, tmp_path):
    """Random bytes of the document changed, cut out, doubled, or its end lost; with a checksum to match, too."""
    path, _, _ = saved(tmp_path, kind)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for trial in range(TRIALS):
        data = bytearray(whole)
        for at in rng.integers(0, len(data) if trial % 2 else 2500, rng.integers(1, 4)):
            data[at] = rng.integers(0, 256) if trial % 3 else rng.choice(list(b'0123456789-.,:"[]{}e'))
        path.write_bytes(data)
        assert not sound_or_refused(path, kind) or json.loads(data) == json.loads(whole)
        if (found := parsed(data)) is not None:
            write(path, found)
            sound_or_refused(path, kind)
        a, b = sorted(rng.integers(0, len(whole), 2))
        for cut in (whole[:a], whole[a:], whole[:a] + whole[b:], whole[:b] + whole[a:]):
            path.write_bytes(cut)
            assert not sound_or_refused(path, kind) or cut == whole


def places(value, here=()):
    """Every place in a document, as a path of keys."""
    yield here
    parts = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*here, key))


ODD = [
    None, True, False, 0, 1, -1, 2, 39, 40, 2**31, 2**62, 2**63, 10**400, -(2**63) - 1, 0.5, -0.0, 1e308, 1e-320,
    "nan", "inf", "-inf", "", "x", "auto", "grow", "\n", "\u2028", [], [[]], [0], ["x"], [None], [[0.5]], [1, 1], {},
    {"npz": "features"}, {"left_out": "os.system"}, {"dtype": "<i1", "values": [0, 999]},
    {"npz": "features", "dtype": "<i8", "shape": [5]}, {"npz": "x", "dtype": "|O", "shape": [1]}, {"tuple": []},
    {"array": {"dtype": "<U999999", "values": ["a", "b"]}}, {"array": {"dtype": "<i8", "values": [0, 1]}},
    {"dtype": "<U999999", "values": ["a", "b"] * 50}, {"dtype": "O", "values": ["a", "b"]},
    {"pairs": [[[], 1]]}, {"pairs": [[1, 2], [1, 3]]}, {"float": "nan"}, {"file": "../model.npz", "sha256": "0" * 64},
]  # fmt: skip


@pytest.mark.parametrize("limit", [arrays.INLINE, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_swapped_values(kind, limit, tmp_path):
    """At random places of the document stands something else, is missing, or is there in addition."""
    path, document, _ = saved(tmp_path, kind, limit)
    text, rng = json.dumps(document), np.random.default_rng(1)
    everywhere = [place for place in places(document) if place]
    for trial in range(2 * TRIALS + 14):
        changed = json.loads(text)
        *way, last = everywhere[rng.integers(len(everywhere))]
        inside = changed
        for key in way:
            inside = inside[key]
        if trial % 7 == 0:
            del inside[last]
        elif trial % 7 == 1:
            inside.insert(0, ODD[rng.integers(len(ODD))]) if isinstance(inside, list) else inside.update(more=1)
        else:
            inside[last] = ODD[rng.integers(len(ODD))]
        write(path, changed)
        sound_or_refused(path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bytes_of_the_arrays(kind, tmp_path):
    """Changed bytes are seen by the digest; with a digest to match, by what the bytes must be."""
    path, document, beside = saved(tmp_path, kind, 0)
    whole, rng, passed = beside.read_bytes(), np.random.default_rng(2), 0
    for trial in range(TRIALS):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 3)):
            data[at] ^= 1 << rng.integers(8)
        data = data if trial % 4 else data[: rng.integers(len(data))]
        beside.write_bytes(data)
        refused(path, "checksum mismatch: its .npz")
        resealed(path, document, bytes(data))
        passed += sound_or_refused(path, kind)
        write(path, document)
    assert passed < TRIALS


def test_a_changed_digit_is_seen(tmp_path):
    """The document has a checksum, which does not mind another layout."""
    path, document, _ = saved(tmp_path)
    path.write_text(json.dumps(document, indent=7, ensure_ascii=True).replace("\n", "\r\n"))
    thresher.load(path)
    document["weights"][0] *= 1.0000001
    path.write_text(json.dumps(document))
    refused(path, "checksum mismatch: it was changed")


RANDOM = []  # a model to change, written once


PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)


JSON = st.recursive(
    PLAIN, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=5), part, max_size=4)
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_random_documents(data, tmp_path_factory):
    """A model in which random keys hold random JSON; also random JSON alone."""
    if not RANDOM:
        RANDOM.extend(saved(tmp_path_factory.mktemp("random"), "grown")[:2])
    path, document = RANDOM
    names = data.draw(st.lists(st.sampled_from(sorted(document)), max_size=3))
    changed = document | {name: data.draw(JSON) for name in names} if names else data.draw(JSON)
    write(path, changed)
    sound_or_refused(path)
