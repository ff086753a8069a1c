"""Classes that nobody gave a task are one column: EM comes out the same, and does not grow with the classes."""

import numpy as np
import pytest

from quorate.models import one_coin as condensed_module
from quorate.models.one_coin import OneCoinFitInMemory, fit_one_coin
from quorate.simulate import crowd


@pytest.mark.parametrize("standing", ["posterior", "accuracy"])
@pytest.mark.parametrize("with_gold", [False, True])
def test_one_coin_is_the_same_with_and_without(standing: str, with_gold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = crowd(80, 12, 4, n_classes=40, seed=3)
    answers = simulated.answers
    gold = np.where(np.arange(80) % 5 == 0, (simulated.truth + np.arange(80) % 2) % 40, -1) if with_gold else None

    def fit() -> OneCoinFitInMemory:
        return fit_one_coin(answers, strength=2.0, gold=gold, standing=standing, max_iterations=30)

    one = fit()
    monkeypatch.setattr(condensed_module, "MIN_CONDENSATION", 1_000)
    two = fit()
    assert condensed_module.condensed(answers) is None
    assert one.steps == two.steps
    np.testing.assert_allclose(one.accuracy, two.accuracy, atol=1e-9)
    np.testing.assert_allclose(one.posterior, two.posterior, atol=1e-9)
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-7)
    np.testing.assert_allclose(one.log_likelihoods, two.log_likelihoods, rtol=1e-9)
