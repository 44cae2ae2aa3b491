"""Laws of numbers in blocks: a column is where its block and its place say."""

import numpy as np
import pytest

from thresher.data.designs.numbering import BlockNumbering

IDS = np.array([0, 7, 3, 29, 12])


@pytest.mark.parametrize("size", [1, 3, 5, 40])
def test_block_and_place_are_the_number(size):
    numbering = BlockNumbering(size)
    assert np.array_equal(numbering.moved(IDS, numbering.blocks(IDS)), IDS)
    moved = numbering.moved(IDS, np.arange(5))
    assert np.array_equal(numbering.blocks(moved), np.arange(5))
    assert np.array_equal(numbering.places(moved), numbering.places(IDS))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_whole_blocks_in_any_order(size):
    numbering, blocks = BlockNumbering(size), np.array([4, 0, 2])
    ids = numbering.all_columns(blocks)
    assert np.array_equal(ids.reshape(3, size), [[size * j + place for place in range(size)] for j in blocks])
    assert np.array_equal(numbering.whole_blocks(ids), blocks)
    assert numbering.whole_blocks(ids[:0]).size == 0
    if size > 1:
        for others in (ids[:-1], ids[1:], ids[::-1], np.append(ids, 0), ids + 1):
            assert numbering.whole_blocks(others) is None
