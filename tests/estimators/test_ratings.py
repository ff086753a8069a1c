"""RaterModel: what `quorate.rate` gives, as pandas objects by task and worker."""

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate.errors import OptionError, ScoreError
from quorate.estimators import RaterModel
from tests.rating.crowds import crowd, table


def test_scores_and_raters_are_those_of_rate() -> None:
    data = pd.DataFrame(table(crowd(31, n_tasks=60, n_raters=10)))
    model = RaterModel(level=0.9)
    scores = model.fit_predict(data.rename(columns={"score": "label"}))
    rating = quorate.rate(data, level=0.9)
    assert scores.index.name == "task"
    assert scores.to_dict() == dict(zip(rating.scores["task"].to_pylist(), rating.tasks.score, strict=True))
    np.testing.assert_array_equal(model.intervals_["high"], rating.tasks.high)
    workers = rating.workers["worker"].to_pylist()
    assert model.scales_.to_dict() == dict(zip(workers, rating.raters.scale, strict=True))
    assert model.weights_.index.name == "worker"


def test_gold_sets_the_scale() -> None:
    task, rater, score, truth = crowd(32, n_tasks=80, n_raters=10)
    known = pd.Series(10 + 3 * truth[:30], index=np.arange(30))
    scores = RaterModel().fit_predict({"task": task, "worker": rater, "score": score}, gold=known)
    np.testing.assert_allclose(scores[:30], known)
    assert np.abs(scores[30:] - (10 + 3 * truth[30:])).mean() < 1.5


def test_parameters_are_kept_changed_and_checked() -> None:
    model = RaterModel(n_iter=5)
    assert model.get_params()["n_iter"] == 5
    assert model.set_params(same_scale=True).same_scale
    assert repr(RaterModel()).startswith("RaterModel(n_iter=300, ")
    with pytest.raises(OptionError, match="n_iter must be at least 1"):
        RaterModel(n_iter=0)
    with pytest.raises(ScoreError, match="only one rater"):
        RaterModel().fit({"task": [1, 2], "worker": ["a", "a"], "score": [1.0, 2.0]})
