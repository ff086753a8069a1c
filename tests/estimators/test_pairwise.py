"""crowd-kit's rankings: names, index and order of what they return, and workers who answer the opposite."""

import pandas as pd
import pytest

from quorate.errors import InputError, OptionError
from quorate.estimators import BradleyTerry, NoisyBradleyTerry
from tests.ranking.panels import votes


def frame(**options: object) -> pd.DataFrame:
    data = pd.DataFrame(votes(**options))  # type: ignore[arg-type]
    label = data.left.where(data.winner == "left", data.right)
    return pd.DataFrame({"worker": data.judge, "left": data.left, "right": data.right, "label": label})


def test_scores_are_positive_sum_to_one_and_follow_the_strength() -> None:
    scores = BradleyTerry(n_iter=100).fit_predict(frame(n_rows=2000))
    assert scores.sum() == pytest.approx(1)
    assert (scores > 0).all()
    assert list(scores.index) == sorted(scores.index)
    assert scores.idxmax() in ("i0", "i1")
    assert scores.idxmin() == "i7"


def test_a_reversed_worker_has_a_negative_skill() -> None:
    model = NoisyBradleyTerry().fit(frame(skills=[1.2, 1.2, 1.2, 1.2, -1.2], n_rows=2000))
    assert model.skills_.idxmin() == "j4"
    assert model.skills_["j4"] < 0
    assert model.skills_.index.name == "worker"
    assert set(model.biases_.index) == {"j0", "j1", "j2", "j3", "j4"}
    assert model.scores_.idxmin() == "i7"


def test_parameters_are_kept_and_changed() -> None:
    model = NoisyBradleyTerry(n_iter=5)
    assert model.get_params() == {"n_iter": 5, "tol": 1e-5, "regularization_ratio": 1e-5, "random_state": 0}
    assert model.set_params(random_state=4).random_state == 4
    assert repr(BradleyTerry(n_iter=5)) == "BradleyTerry(n_iter=5, tol=1e-05)"


def test_items_that_are_numbers_stay_numbers() -> None:
    data = pd.DataFrame({"left": [1, 2, 3], "right": [2, 3, 1], "label": [1, 2, 1]})
    assert list(BradleyTerry().fit_predict(data).index) == [1, 2, 3]


def test_bad_data_are_refused() -> None:
    with pytest.raises(OptionError, match="needs the column worker"):
        NoisyBradleyTerry().fit(frame(n_rows=50).drop(columns="worker"))
    with pytest.raises(InputError, match="is neither one of the two items nor a side nor a tie"):
        BradleyTerry().fit(pd.DataFrame({"left": ["p"], "right": ["q"], "label": ["s"]}))
    with pytest.raises(OptionError, match="n_iter must be at least 1"):
        BradleyTerry(n_iter=0)
