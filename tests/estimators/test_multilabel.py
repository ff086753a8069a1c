"""Several labels per task: one question a label."""

from typing import Any

import pandas as pd
import pytest

from quorate.errors import InputError
from quorate.estimators import BinaryRelevance, DawidSkene, MajorityVote

LABELS_GIVEN = [["cat"], ["cat", "dog"], {"cat"}, (), ["dog"], ["dog", "dog"]]
DATA = pd.DataFrame({"task": [2, 2, 2, 1, 1, 1], "worker": list("abcabc"), "label": LABELS_GIVEN})


def test_a_label_applies_where_most_gave_it() -> None:
    fitted = BinaryRelevance().fit(DATA)
    assert fitted.labels_.to_dict() == {1: ["dog"], 2: ["cat"]}
    assert fitted.labels_.name == "agg_label"
    assert fitted.labels_.index.name == "task"
    assert fitted.probas_.loc[1].to_dict() == {"cat": 0.0, "dog": pytest.approx(2 / 3)}
    assert list(fitted.aggregators_) == ["cat", "dog"]
    assert isinstance(fitted.aggregators_["dog"], MajorityVote)


def test_one_label_an_answer_and_two_classes_equals_the_base_aggregator(data: Any) -> None:
    two = data[data["label"] != "c2"]
    lists = two.assign(label=[[label] for label in two["label"]])
    several = BinaryRelevance(DawidSkene(n_iter=4)).fit_predict(lists)
    one = DawidSkene(n_iter=4).fit_predict(two)
    assert several[one.index].map(lambda labels: labels[0]).equals(one)
    assert (several.map(len) == 1).all()


def test_every_label_has_an_aggregator_of_its_own_and_the_given_one_stays_unfitted() -> None:
    base = DawidSkene(n_iter=3)
    fitted = BinaryRelevance(base).fit(DATA)
    assert not hasattr(base, "labels_")
    assert all(repr(each) == repr(base) for each in fitted.aggregators_.values())
    assert fitted.aggregators_["cat"] is not fitted.aggregators_["dog"]


def test_no_label_at_all_leaves_every_task_without() -> None:
    nothing = BinaryRelevance().fit(DATA.assign(label=[[]] * 6))
    assert nothing.labels_.to_dict() == {2: [], 1: []}
    assert nothing.probas_.shape == (2, 0)


def test_a_label_that_is_no_list_is_named_by_its_row() -> None:
    with pytest.raises(InputError, match=r"row 2: the label is not a list: 'cat'"):
        BinaryRelevance().fit(DATA.assign(label=[["dog"], "cat", *LABELS_GIVEN[2:]]))
