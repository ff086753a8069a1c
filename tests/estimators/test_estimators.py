import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate import estimators
from quorate.errors import InputError, OptionError
from quorate.estimators import MMSR, DawidSkene, Estimator, MajorityVote, Quorate
from quorate.estimators.base import gold_of
from quorate.methods.registry import METHODS

CLASSES: dict[str, Any] = {
    name: each
    for name, each in vars(estimators).items()
    if isinstance(each, type) and issubclass(each, Estimator) and each is not Estimator
}


NAMES = sorted(CLASSES)


def test_every_method_has_a_class() -> None:
    assert {each.method for each in CLASSES.values()} == set(METHODS)


# Options under which a class runs its method with Quorate's defaults rather than crowd-kit's.
OURS: dict[str, dict[str, Any]] = {
    "DawidSkene": {"n_iter": 10, "tol": 1e-6, "class_prior": False},
    "OneCoinDawidSkene": {"n_iter": 10, "tol": 1e-6, "class_prior": False},
    "KOS": {"n_iter": 10},
    "M3V": {"sweeps": 4, "burn_in": 1},
    "OptDS": {"starts": 5},
    "MACE": {"n_restarts": 2},
}


SAME: dict[str, dict[str, Any]] = {
    "M3V": {"sweeps": 4, "burn_in": 1},
    "OptDS": {"starts": 5},
    "MACE": {"restarts": 2},
}


def known(name: str, data: Any) -> Any:
    """The labels without which a class has nothing to do: those of the majority, for one task in four."""
    return MajorityVote().fit_predict(data)[::4] if name == "GoldMajorityVote" else None


@pytest.mark.parametrize("name", NAMES)
def test_an_estimator_can_be_pickled_and_copied_before_and_after_it_is_fitted(name: str, data: Any) -> None:
    fresh = CLASSES[name](**SAME.get(name, {}))
    fitted = pickle.loads(pickle.dumps(fresh)).fit(data, true_labels=known(name, data))
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert repr(again) == repr(fresh)
        for attribute in ("labels_", "probas_", "skills_", "weights_"):
            assert getattr(again, attribute).equals(getattr(fitted, attribute))
        assert again.result_.summary() == fitted.result_.summary()
        assert again.fit_predict(data, true_labels=known(name, data)).equals(fitted.labels_)


def same(in_pandas: float, in_table: float | None) -> bool:
    """Whether pandas has the very number, and NaN exactly where there is none."""
    return bool(np.isnan(in_pandas)) if in_table is None else in_pandas == in_table


@pytest.mark.parametrize("name", NAMES)
def test_a_class_says_what_its_method_says(name: str, data: Any) -> None:
    fitted = CLASSES[name](**OURS.get(name, {})).fit(data, true_labels=known(name, data))
    result = quorate.aggregate(data, fitted.method, gold=gold_of(known(name, data)), **SAME.get(name, {}))
    labels = dict(zip(*(result.labels[column].to_pylist() for column in ("task", "label")), strict=True))
    assert fitted.labels_.to_dict() == labels
    assert fitted.fit_predict(data, true_labels=known(name, data)).equals(fitted.labels_)
    for row in result.posterior.to_pylist():
        assert fitted.probas_.loc[row["task"], row["label"]] == row["probability"]
    assert fitted.fit_predict_proba(data, true_labels=known(name, data)).equals(fitted.probas_)
    assert fitted.probas_.sum(axis=1).to_numpy() == pytest.approx(1.0, abs=1e-12)  # sums of three numbers below one
    for row in result.workers.to_pylist():
        attributes = {"skill": fitted.skills_, "accuracy": fitted.accuracies_, "weight": fitted.weights_}
        if name != "MajorityVote":  # which estimates none, and here reports agreement
            assert same(attributes["skill"][row["worker"]], row[fitted.scale])
            assert same(attributes["accuracy"][row["worker"]], row["accuracy"])
        assert attributes["weight"][row["worker"]] == row["weight"]
    assert fitted.result_.method == fitted.method


@pytest.mark.parametrize("name", NAMES)
def test_the_order_is_by_task_or_by_appearance_and_by_worker(name: str, data: Any) -> None:
    fitted = CLASSES[name](**SAME.get(name, {})).fit(data, true_labels=known(name, data))
    appear = name.endswith("DawidSkene") or name == "MACE"
    tasks = list(dict.fromkeys(data["task"])) if appear else sorted(set(data["task"]))
    assert fitted.labels_.index.tolist() == fitted.probas_.index.tolist() == tasks
    appear = appear or name in ("GLAD", "MMSR")
    workers = list(dict.fromkeys(data["worker"])) if appear else sorted(set(data["worker"]))
    assert fitted.skills_.index.tolist() == fitted.weights_.index.tolist() == workers
    assert fitted.probas_.columns.tolist() == sorted(set(data["label"]))


@pytest.mark.parametrize(
    ("tasks", "labels"),
    [
        (pd.Series([2, 2, 1, 1], dtype="int64"), pd.Series([9, 10, 9, 9], dtype="int64")),
        (pd.Series(["b", "b", "a", "a"], dtype=object), pd.Series(["9", "10", "9", "9"], dtype=object)),
        (pd.Series([2.5, 2.5, 1.5, 1.5]), pd.Series([True, False, True, True])),
        (pd.Series([2, 2, 1, 1], dtype="int32"), pd.Series(["x", "y", "x", "x"], dtype="category")),
    ],
)
def test_names_keep_their_types(tasks: Any, labels: Any) -> None:
    data = pd.DataFrame({"task": tasks, "worker": ["ann", "bob", "ann", "bob"], "label": labels})
    fitted = MajorityVote().fit(data)
    kind = labels.cat.categories.dtype if labels.dtype == "category" else labels.dtype
    assert fitted.labels_.dtype == fitted.probas_.columns.dtype == kind
    assert fitted.labels_.index.dtype == tasks.dtype
    assert fitted.labels_.index.tolist() == sorted(set(tasks))
    assert fitted.probas_.columns.tolist() == sorted(set(labels))  # "10" before "9", as crowd-kit and pandas sort text


def test_other_tables_will_do(data: Any) -> None:
    import polars as pl

    table = {name: data[name].tolist() for name in ("task", "worker", "label")}
    expected = Quorate().fit_predict(data)
    assert Quorate().fit_predict(table).to_dict() == expected.to_dict()
    assert Quorate().fit_predict(pl.DataFrame(table)).to_dict() == expected.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_true_labels_are_believed(name: str, data: Any) -> None:
    first = data["task"].iloc[0]
    wrong = next(label for label in sorted(set(data["label"])) if label != MajorityVote().fit_predict(data)[first])
    fitted = CLASSES[name](**SAME.get(name, {})).fit(data, true_labels=pd.Series({first: wrong}))
    assert fitted.labels_[first] == wrong
    assert fitted.probas_.loc[first, wrong] == 1.0


def test_no_true_labels_are_no_gold(data: Any) -> None:
    none = pd.Series([], dtype=object)
    assert Quorate().fit_predict(data, true_labels=none).equals(Quorate().fit_predict(data))


def test_the_skill_of_a_majority_vote_is_that_of_agreement_with_it(data: Any) -> None:
    fitted = MajorityVote().fit(data)
    for worker, own in data.groupby("worker"):
        share = (own["label"].to_numpy() == fitted.labels_[own["task"]].to_numpy()).mean()
        assert fitted.accuracies_[worker] == fitted.skills_[worker] == pytest.approx(share)


def test_a_majority_vote_may_be_weighed(data: Any) -> None:
    workers = sorted(set(data["worker"]))
    dictator = pd.Series({worker: float(worker == workers[0]) for worker in workers})
    labels = MajorityVote().fit_predict(data, dictator)
    own = data[data["worker"] == workers[0]]
    assert (labels[own["task"]].to_numpy() == own["label"].to_numpy()).all()
    some = dictator[:1]
    assert MajorityVote(on_missing_skill="ignore").fit_predict(data, skills=some).equals(labels)
    assert MajorityVote(0.0, "value").fit_predict(data, skills=some).equals(labels)
    with pytest.raises(InputError, match="7 workers were not given a skill"):
        MajorityVote().fit(data, skills=some)
    with pytest.raises(OptionError, match="default_skill"):
        MajorityVote(on_missing_skill="value")


def test_a_weighed_vote_believes_true_labels_too(data: Any) -> None:
    first = data["task"].iloc[0]
    skills = pd.Series(1.0, index=sorted(set(data["worker"])))
    for label in sorted(set(data["label"])):
        assert MajorityVote().fit(data, skills, pd.Series({first: label})).labels_[first] == label


@pytest.mark.parametrize("each", [DawidSkene, Quorate])
def test_errors_are_probabilities_of_answers_given_the_class(each: Any, data: Any) -> None:
    errors = each().fit(data).errors_
    assert errors.index.names == ["worker", "label"]
    sums = errors.groupby(level="worker").sum(min_count=1).to_numpy()
    assert sums == pytest.approx(np.ones((8, 3)))


def test_the_errors_of_dawid_and_skene_are_shares_of_the_posterior(data: Any) -> None:
    """A naive double loop: how often the worker gave the label, weighted by the probability of the class."""
    fitted = DawidSkene().fit(data)
    worker, given, true = data["worker"].iloc[0], *sorted(set(data["label"]))[:2]
    own = data[data["worker"] == worker]
    of_class = sum(fitted.probas_.loc[task, true] for task in own["task"])
    n_given = sum(fitted.probas_.loc[task, true] for task in own[own["label"] == given]["task"])
    assert fitted.errors_.loc[(worker, given), true] == pytest.approx(n_given / of_class)


@pytest.mark.parametrize("name", ["RankOne", "Wawa", "IWMV", "ZeroBasedSkill", "MMSR"])
def test_predict_votes_with_the_weights_found(name: str, data: Any) -> None:
    fitted = CLASSES[name]().fit(data)
    assert fitted.predict(data).equals(fitted.labels_)
    assert np.allclose(fitted.predict_proba(data), fitted.probas_, rtol=0, atol=1e-12)  # sums in another order
    half = data[data["task"].isin(sorted(set(data["task"]))[:30])]
    assert fitted.predict(half).equals(fitted.labels_[:30])
    with pytest.raises(InputError, match="'unknown worker'"):
        fitted.predict(pd.DataFrame({"task": [1], "worker": ["unknown worker"], "label": [data["label"].iloc[0]]}))


def test_scores_of_mmsr_are_shares_of_the_weight_cast(data: Any) -> None:
    """A weight below zero counts against its own label, as in crowd-kit."""
    fitted = MMSR().fit(data)
    weight = data["worker"].map(fitted.weights_)
    cast = data.assign(weight=weight).pivot_table(index="task", columns="label", values="weight", aggfunc="sum")
    expected = cast.fillna(0.0).div(cast.sum(axis=1), axis=0)
    pd.testing.assert_frame_equal(fitted.scores_, expected, check_names=False)
    pd.testing.assert_frame_equal(fitted.predict_score(data), fitted.scores_)
