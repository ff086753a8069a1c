"""Corrections of a tempered scorer by gold labels."""

import numpy as np
import pytest

from quorate.blocks.kernels import vote_sums
from quorate.blocks.memory import memory_blocks
from quorate.calibration.tempered_scorer import Transition, VoteCorrection
from quorate.simulate import crowd


@pytest.mark.parametrize("n_classes", [2, 5, 40])
def test_corrections_equal_products_of_complete_tables(n_classes: int) -> None:
    """What is computed per answer and per gold class equals votes × classes and posterior × transition matrix."""
    rng = np.random.default_rng(n_classes)
    block = memory_blocks(crowd(30, 8, 3, n_classes=n_classes, seed=n_classes).answers).all_tasks
    correction = VoteCorrection(rng.normal(size=(n_classes, n_classes)), rng.normal(size=n_classes))
    votes = vote_sums(block, np.ones(block.n_workers))
    np.testing.assert_allclose(correction(block), votes @ correction.per_vote + correction.per_class, atol=1e-12)
    gold_classes = np.unique(rng.integers(0, n_classes, 6))
    to_gold = rng.random((n_classes, len(gold_classes)))
    kept = rng.random(n_classes)
    matrix = np.diag(kept)
    matrix[:, gold_classes] += to_gold
    posterior = rng.dirichlet(np.ones(n_classes), 30)
    np.testing.assert_allclose(Transition(kept, gold_classes, to_gold)(posterior), posterior @ matrix, atol=1e-12)
