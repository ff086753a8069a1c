"""EM over blocks: the likelihood never falls, one coin is a confusion matrix of equal errors, gold stays."""

from typing import Any

import numpy as np
import pytest

from quorate import simulate
from quorate.blocks.memory import blocks_of
from quorate.blocks.worker_rows import dense
from quorate.models.em import expectation_maximisation, fit_confusion_em
from quorate.models.one_coin import fit_one_coin_em
from quorate.voting.vote import majority


@pytest.mark.parametrize("class_prior", [False, True])
def test_the_likelihood_never_falls(class_prior: bool) -> None:
    blocks = blocks_of(simulate.crowd(80, 7, 4, n_classes=3, seed=5).answers)
    options: dict[str, Any] = {"class_prior": class_prior, "max_iterations": 30, "tolerance": 0.0}
    for history in (fit_confusion_em(blocks, **options), fit_one_coin_em(blocks, **options)):
        assert (np.diff(history.log_likelihoods) >= -1e-8).all()
        assert len(history.log_likelihoods) == 30


@pytest.mark.parametrize("seed", range(3))
def test_matrices_are_those_of_em_that_keeps_the_posterior(seed: int) -> None:
    crowd = simulate.crowd(60, 6, 4, n_classes=3, seed=seed)
    gold = np.where(np.arange(60) < 10, crowd.truth, -1).astype(np.int32)
    start = majority(crowd.answers).posterior
    kept = expectation_maximisation(crowd.answers, start, gold=gold, max_iterations=8, tolerance=0.0)
    blocks = blocks_of(crowd.answers, gold)
    found = fit_confusion_em(blocks, class_prior=False, zeros="exact", max_iterations=8, tolerance=0.0)
    np.testing.assert_allclose(dense(found.theta), kept.confusion, atol=1e-10)
    np.testing.assert_allclose(found.log_likelihoods, kept.log_likelihoods, rtol=1e-12)
