"""A table that is kept for all sweeps says what one laid out for each would say, to the bit."""

import numpy as np
import pytest

from quorate import simulate
from quorate.blocks import kernels, memory
from quorate.blocks.gold_worker import BlocksWithGoldWorker
from quorate.blocks.kernels import centred_products
from quorate.blocks.memory import blocks_of
from quorate.skills.centred import kept_pass, response_bias_of

CROWD = simulate.crowd(300, 12, 4, n_classes=3, seed=0)


@pytest.mark.parametrize("piece", [100, 1 << 18])
@pytest.mark.parametrize("in_c", [True, False])
def test_each_sweep_finds_the_table_as_if_new(in_c: bool, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one x after another, and the first again; over one block, and over twelve in one part."""
    if in_c and kernels.native is None:
        pytest.skip("no kernels in C are built here")
    monkeypatch.setattr(kernels, "native", kernels.native if in_c else None)
    monkeypatch.setattr(memory, "PIECE", piece)
    monkeypatch.setattr(memory, "SPREAD", 1_000)  # one lane
    answers = CROWD.answers.only(np.ones(300, dtype=bool))  # with blocks of its own
    bias_of_workers, rng = response_bias_of(answers), np.random.default_rng(1)
    kept = kept_pass(answers, bias_of_workers.frequency)
    assert kept is not None
    assert len(kept.passes) == (1 if piece > 1200 else 12)
    first, second = rng.uniform(-0.3, 1.0, (2, 12))
    for x in (first, second, first):
        expected = blocks_of(answers).sum(centred_products, x, bias_of_workers.frequency)
        for found, sums in zip(kept.both(x), expected, strict=True):
            assert np.array_equal(found, sums)


def test_what_was_returned_is_not_overwritten() -> None:
    kept = kept_pass(CROWD.answers, response_bias_of(CROWD.answers).frequency)
    assert kept is not None
    before = kept.both(np.ones(12))
    copies = [each.copy() for each in before]
    kept.both(np.zeros(12))
    assert all(np.array_equal(one, other) for one, other in zip(before, copies, strict=True))


def test_there_is_none_where_sums_are_formed_in_several_parts_or_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of known classes are added block by block; lanes are there so that threads have tables of their own."""
    frequency = response_bias_of(CROWD.answers).frequency
    assert kept_pass(BlocksWithGoldWorker(blocks_of(CROWD.answers, CROWD.truth)), frequency) is None
    for piece in (100, 600):  # seven parts, and two
        monkeypatch.setattr(memory, "PIECE", piece)
        several = CROWD.answers.only(np.ones(300, dtype=bool))
        assert kept_pass(several, frequency) is None
