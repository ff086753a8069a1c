"""Parameters by name: a class made anew with them is the same, for scikit-learn and for anybody else."""

import pickle
from typing import Any

import pandas as pd
import pytest

from quorate import estimators
from quorate.errors import OptionError
from quorate.estimators import GLAD, KOS, MACE, MMSR, BinaryRelevance, DawidSkene, MajorityVote, Wawa
from tests.estimators.test_estimators import CLASSES

ALL: dict[str, Any] = {**CLASSES, "BinaryRelevance": BinaryRelevance}
# Parameters of every kind: crowd-kit's, ours, of reading, and a value that is an object.
PARAMETERS_GIVEN: dict[str, dict[str, Any]] = {
    "BinaryRelevance": {"base_aggregator": DawidSkene(n_iter=7)},
    "DawidSkene": {"n_iter": 3, "initial_error_strategy": "addition", "on_conflict": "last"},
    "GLAD": {"labels_priors": pd.Series({"x": 0.5, "y": 0.5}), "tol": 0.5, "silent": False},
    "KOS": {"random_state": None},
    "M3V": {"sweeps": 4, "burn_in": 1},
    "MACE": {"method": "em", "n_restarts": 3, "smoothing": 0.2, "seed": 4},
    "MajorityVote": {"default_skill": 0.5, "on_missing_skill": "value"},
    "ZeroBasedSkill": {"lr_init": 0.5, "skip_missing": True},
}


@pytest.mark.parametrize("name", ALL)
def test_a_class_made_anew_with_its_parameters_has_the_very_same(name: str) -> None:
    made = ALL[name](**PARAMETERS_GIVEN.get(name, {}))
    given = made.get_params(deep=False)
    again = type(made)(**given)
    assert all(again.get_params(deep=False)[key] is value for key, value in given.items())
    assert set(PARAMETERS_GIVEN.get(name, {})) <= set(given)
    assert repr(again) == repr(made)


@pytest.mark.parametrize("name", ALL)
def test_scikit_learn_clones_every_class(name: str) -> None:
    sklearn = pytest.importorskip("sklearn.base")
    made = ALL[name](**PARAMETERS_GIVEN.get(name, {}))
    copied = sklearn.clone(made)
    assert type(copied) is type(made)
    assert repr(copied) == repr(made)
    assert not hasattr(copied, "labels_")


def test_parameters_can_be_set_by_either_name() -> None:
    assert KOS().set_params(n_iter=3).get_params()["n_iter"] == 3
    made = DawidSkene(n_iter=5).set_params(max_iterations=2)
    assert made._options["max_iterations"] == 2
    assert made.set_params(n_iter=9)._options["max_iterations"] == 9
    assert MACE().set_params(method="em")._options["inference"] == "em"
    with pytest.raises(OptionError, match="no option 'colour'"):
        Wawa().set_params(colour="red")


def test_what_was_fitted_stays_until_the_next_fit(data: Any) -> None:
    fitted = GLAD().fit(data)
    labels = fitted.labels_
    assert fitted.set_params(n_iter=1).labels_ is labels
    assert len(fitted.fit(data).loss_history_) == 1


def test_parameters_of_parameters_are_reached_by_two_underscores() -> None:
    made: Any = BinaryRelevance(DawidSkene(n_iter=7))
    assert made.get_params()["base_aggregator__n_iter"] == 7
    assert made.set_params(base_aggregator__n_iter=2).base_aggregator.get_params()["n_iter"] == 2
    assert set(made.get_params(deep=False)) == {"base_aggregator"}
    assert made.set_params(base_aggregator=MajorityVote()).base_aggregator.method == "majority"


@pytest.mark.parametrize(
    ("name", "instead"),
    [("TextRASA", "texts"), ("SegmentationEM", "segmentations"), ("HRRASA", "embed")],
)
def test_a_class_that_only_crowd_kit_has_says_what_to_take(name: str, instead: str) -> None:
    with pytest.raises(ImportError, match=f"crowd-kit's {name} is not here: .*{instead}"):
        getattr(estimators, name)
    with pytest.raises(ImportError, match="is not here"):
        exec(f"from quorate.estimators import {name}")


def test_other_names_are_no_attributes() -> None:
    assert not hasattr(estimators, "Nonsense")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from quorate.estimators import Nonsense")


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_attributes_as_in_crowd_kit(name: str) -> None:
    made = ALL[name](**PARAMETERS_GIVEN.get(name, {}))
    # `method` is this package's own name of the method, in every class.
    assert all(getattr(made, key) is value for key, value in made.get_params(deep=False).items() if key != "method")
    assert not hasattr(made, "nonsense")


def test_an_attribute_that_is_set_is_what_the_next_fit_does(data: Any) -> None:
    made = DawidSkene(n_iter=50)
    made.n_iter = 2
    assert made.n_iter == made.get_params()["n_iter"] == made._options["max_iterations"] == 2
    assert len(made.fit(data).loss_history_) == 2
    copied = pickle.loads(pickle.dumps(made))
    assert copied.n_iter == 2
    assert copied.labels_.equals(made.labels_)


@pytest.mark.parametrize(("made", "name"), [(DawidSkene(), "priors_"), (MMSR(), "scores_"), (Wawa(), "labels_")])
def test_what_is_there_only_after_fit_says_so(made: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"^{type(made).__name__} has no attribute '{name}' yet; call fit first$"):
        getattr(made, name)
