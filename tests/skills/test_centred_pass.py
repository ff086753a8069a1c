"""Tables that are kept for all sweeps give what tables laid out for each would give, to the bit."""

import numpy as np
import pytest

from quorate import simulate
from quorate.blocks import kernels, memory
from quorate.blocks.kernels import centred_passes, centred_products
from quorate.blocks.memory import blocks_of
from quorate.blocks.transform import GoldAsWorker, TransformedBlocks
from quorate.skills.shrinkage import _centred_sums, response_bias

CROWD = simulate.crowd(300, 12, 4, n_classes=3, seed=0)


@pytest.mark.parametrize(("piece", "spread"), [(100, 1_000), (1 << 18, 1_000), (100, 16), (600, 16)])
@pytest.mark.parametrize("in_c", [True, False])
def test_each_sweep_finds_the_tables_as_if_new(
    in_c: bool, piece: int, spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one x after another, and the first again; over one block, twelve in one part, and over several parts."""
    if in_c and kernels.native is None:
        pytest.skip("no kernels in C are built here")
    monkeypatch.setattr(kernels, "native", kernels.native if in_c else None)
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
    monkeypatch.setattr(memory, "MIN_LANE_ANSWERS", spread)
    answers = CROWD.answers.only(np.ones(300, dtype=bool))  # with blocks of its own
    frequency, rng = response_bias(answers).frequency, np.random.default_rng(1)
    sums = _centred_sums(blocks_of(answers), frequency)
    first, second, other = rng.uniform(-0.3, 1.0, (3, 12))
    for x, second_moment in ((first, None), (second, other), (first, None)):
        expected = blocks_of(answers).sum(centred_products, x, frequency, second_moment)
        for found, sum_ in zip(sums(x, second_moment), expected, strict=True):
            assert np.array_equal(found, sum_)


def test_what_was_returned_is_not_overwritten() -> None:
    kept = centred_passes(blocks_of(CROWD.answers).pieces, response_bias(CROWD.answers).frequency)  # type: ignore[attr-defined]
    before = kept.sums(np.ones(12))
    copies = [each.copy() for each in before]
    kept.sums(np.zeros(12))
    assert all(np.array_equal(one, other) for one, other in zip(before, copies, strict=True))


def test_answers_that_are_not_in_memory_are_summed_where_they_are() -> None:
    blocks = TransformedBlocks(blocks_of(CROWD.answers, CROWD.truth), GoldAsWorker())
    frequency = response_bias(blocks).frequency
    x = np.linspace(0, 1, 13)
    expected = blocks.sum(centred_products, x, frequency, None)
    assert np.array_equal(_centred_sums(blocks, frequency)(x, None), expected)
