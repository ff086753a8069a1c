"""The public API: what it exports, what help() shows, and the names of version 0.2."""

import inspect
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.advice import stopping
from quorate.calibration import confidence
from quorate.errors import ArgumentError, OptionError
from quorate.methods.registry import METHODS, option_names
from quorate.result import OLD_ATTRIBUTES
from quorate.skills.solvers import SOLVERS

OLD_CONTENT = {
    "quorate.warehouse": ("aggregate", "read"),
    "quorate.reading": (),
    "quorate.reading.exports": ("read_export", "recognise"),
    "quorate.reading.times": ("read_times",),
}
ROWS: dict[str, list[Any]] = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}


@pytest.mark.parametrize("name", sorted(quorate.__all__))
def test_every_export_is_there_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(quorate, name) is not None
    assert name in dir(quorate)


@pytest.mark.parametrize("name", sorted(set(quorate.DEPRECATED) - {"warehouse"}))
def test_a_name_of_version_0_2_works_and_warns(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"quorate.{name} is now "):
        old = getattr(quorate, name)
    assert callable(old)
    assert name not in quorate.__all__
    path = quorate.DEPRECATED[name].partition("(")[0].removeprefix("quorate.")
    new: Any = quorate
    for part in path.split("."):
        new = getattr(new, part)  # what the warning names exists
    assert callable(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("quorate.warehouse", "quorate.backends"),
        ("quorate.reading", "quorate.io"),
        ("quorate.reading.exports", "quorate.io.exports.detect"),
        ("quorate.reading.times", "quorate.io.timestamps"),
    ],
)
def test_a_module_of_version_0_2_works_and_warns(old: str, new: str) -> None:
    program = f"""
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DeprecationWarning)
    import {old} as old
import {new} as new
print([str(each.message) for each in caught if str(each.message).startswith("quorate.")])
print(all(getattr(old, name) is getattr(new, name) for name in {OLD_CONTENT[old]!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    warned, is_same = done.stdout.splitlines()
    package = ".".join(old.split(".")[:2])
    assert warned.startswith(f"['{package} is now ")
    assert is_same == "True"


@pytest.mark.parametrize("name", sorted(OLD_ATTRIBUTES))
def test_an_attribute_of_version_0_2_works_and_warns(name: str) -> None:
    crowd = quorate.simulate.crowd(60, 8, 3, seed=0)
    result = quorate.aggregate(crowd.answers)
    new = OLD_ATTRIBUTES[name]
    with pytest.warns(DeprecationWarning, match=f"Result.{name} is now Result.{new}"):
        old = getattr(result, name)
    expected = getattr(result, new)
    assert old is expected or np.array_equal(old, expected, equal_nan=True)
    assert name not in dir(result)


@pytest.mark.parametrize("name", sorted(confidence.OLD_ATTRIBUTES))
def test_an_attribute_of_the_confidence_basis_works_under_its_old_name_and_warns(name: str) -> None:
    basis = quorate.aggregate(quorate.simulate.crowd(60, 8, 3, seed=0).answers).confidence_basis
    new = confidence.OLD_ATTRIBUTES[name]
    with pytest.warns(DeprecationWarning, match=f"ConfidenceBasis.{name} is now ConfidenceBasis.{new}"):
        assert getattr(basis, name) == getattr(basis, new)
    assert name not in dir(basis)


def test_answers_and_labels_of_several_have_the_old_name_of_their_questions() -> None:
    answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": ["x,y", "x", "y"]}, multi=",")
    with pytest.warns(DeprecationWarning, match=r"Answers\.asked is now Answers\.questions"):
        assert answers.asked is answers.questions
    result: Any = quorate.aggregate(answers, "majority")
    with pytest.warns(DeprecationWarning, match="asked is now"):
        assert result.asked is answers.questions


def test_a_completion_has_the_old_name_of_its_identifiability() -> None:
    completion = quorate.complete_rank_one([0, 1, 2], [1, 2, 0], [0.5, 0.5, 0.5])
    with pytest.warns(DeprecationWarning, match=r"Completion\.verdict is now Completion\.identifiability"):
        assert completion.verdict is completion.identifiability


def test_an_argument_of_version_0_2_works_and_warns() -> None:
    check: Any = quorate.check
    report: Any = quorate.report
    plot: Any = quorate.aggregate(ROWS).plot
    with pytest.warns(DeprecationWarning, match=r"sure= of check\(\) is now confident="):
        assert check(ROWS, max_unsure=0.5, sure=0.8).summary() == check(ROWS, max_unsure=0.5, confident=0.8).summary()
    with pytest.warns(DeprecationWarning, match=r"sure= of report\(\) is now confident="):
        page = report(ROWS, methods=[], sure=0.8)
    assert page.confident == 0.8
    with pytest.warns(DeprecationWarning, match=r"Report\.sure is now Report\.confident"):
        assert page.sure == 0.8
    with pytest.warns(DeprecationWarning, match=r"Report\.found is now Report\.arranged_findings"):
        assert page.found is page.arranged_findings
    with pytest.warns(DeprecationWarning, match=r"sure= of confidence\(\) is now confident="):
        assert plot.confidence(sure=0.8).to_dict() == plot.confidence(confident=0.8).to_dict()
    with pytest.raises(ArgumentError, match="give confident= only"):
        check(ROWS, max_unsure=0.5, sure=0.8, confident=0.8)


@pytest.mark.parametrize("name", sorted(stopping.OLD_ATTRIBUTES))
def test_the_number_of_answers_needed_has_its_old_names(name: str) -> None:
    advice: Any = quorate.advise(quorate.simulate.crowd(60, 8, 3, seed=0).answers, 3)
    with pytest.warns(DeprecationWarning, match=r"Advice\.need is now Advice\.answers_needed"):
        needed = advice.need
    new = stopping.OLD_ATTRIBUTES[name]
    with pytest.warns(DeprecationWarning, match=f"AnswersNeeded.{name} is now AnswersNeeded.{new}"):
        assert np.array_equal(getattr(needed, name), getattr(advice.answers_needed, new))


def test_advice_on_gold_has_the_old_name_of_its_random_tasks() -> None:
    advice: Any = quorate.suggest_gold(ROWS, 1)
    with pytest.warns(DeprecationWarning, match=r"GoldAdvice\.drawn is now GoldAdvice\.is_random"):
        assert np.array_equal(advice.drawn, advice.is_random)


def test_the_agreement_of_a_worker_has_its_old_name() -> None:
    by_worker = quorate.agreement(ROWS).by_worker
    with pytest.warns(DeprecationWarning, match=r"WorkerAgreement\.alike is now WorkerAgreement\.agreeing_share"):
        assert by_worker.alike is by_worker.agreeing_share


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = quorate.nonsense  # type: ignore[attr-defined]


def test_star_import_has_the_public_names() -> None:
    names: dict[str, Any] = {}
    exec("from quorate import *", names)
    assert {"aggregate", "read", "Result", "load"} <= names.keys()
    assert not names.keys() & quorate.DEPRECATED.keys()


READ_ANSWERS = ["read", "aggregate", "diagnose", "advise", "suggest_gold", "report", "check", "agreement", "compare"]
READ_SCORES = ["read_scores", "rate", "advise_scores", "compare_scores"]


@pytest.mark.parametrize("name", [*READ_ANSWERS, "estimate", "next_steps", *READ_SCORES])
def test_help_shows_every_keyword(name: str) -> None:
    shown = inspect.signature(getattr(quorate, name)).parameters
    assert {"task", "worker", "label", "on_conflict", "skip_missing"} <= shown.keys()
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())
    assert "Unpack" not in str(inspect.signature(getattr(quorate, name)))


def test_help_shows_no_argument_of_any_type_and_no_long_union() -> None:
    for name in set(quorate.__all__) - {"__version__"}:
        function = getattr(quorate, name)
        if not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        loose = [each.name for each in signature.parameters.values() if str(each.annotation) == "Any"]
        assert not loose, (name, loose)
        assert "ArrowStream" not in str(signature), name


def test_choices_are_literal_types() -> None:
    shown = str(inspect.signature(quorate.aggregate))
    assert "intervals: Literal['auto', 'full', 'fast', 'none'] = 'auto'" in shown
    assert "on_conflict: Literal['error', 'first', 'last', 'drop'] = 'error'" in shown
    assert "dependence: Literal['measured', 'independent']" in shown
    assert "scale: Literal['nominal', 'ordinal', 'interval'] = 'nominal'" in str(inspect.signature(quorate.agreement))


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("rank-one", "solver"),
        ("rank-one", "weighting"),
        ("rank-one", "threshold_by"),
        ("rank-one", "signs"),
        ("dawid-skene", "zeros"),
        ("mace", "inference"),
    ],
)
def test_every_choice_that_help_lists_is_one_of_the_method(method: str, option: str) -> None:
    listed = re.search(rf"\b{option}: Literal\[(.*?)\]", str(inspect.signature(quorate.aggregate)))
    assert listed is not None
    choices = re.findall(r"'([\w-]+)'", listed[1])
    assert len(choices) > 1
    for choice in choices:
        options: dict[str, Any] = {option: choice}
        assert len(quorate.aggregate(ROWS, method, **options).labels) == 2
    others: dict[str, Any] = {option: "none"}
    with pytest.raises(OptionError, match="none"):
        quorate.aggregate(ROWS, method, **others)


def test_aggregate_shows_the_options_of_every_method() -> None:
    shown = inspect.signature(quorate.aggregate).parameters
    for method, entry in METHODS.items():
        solvers = SOLVERS if method == "rank-one" else [""]
        for solver in solvers:
            assert set(option_names(entry.load(), {"solver": solver} if solver else {})) <= shown.keys(), method


def test_diagnose_and_advise_take_a_result() -> None:
    crowd = quorate.simulate.crowd(60, 8, 3, seed=0)
    result = quorate.aggregate(crowd.answers)
    assert quorate.diagnose(result).summary() == result.diagnosis.summary()
    assert quorate.advise(result, 3).assignments == quorate.advise(crowd.answers, 3).assignments
    with pytest.raises(OptionError, match="task= has no effect"):
        quorate.diagnose(result, task="item")


def test_score_takes_results_and_tables() -> None:
    result = quorate.aggregate(ROWS, "majority")
    truth = {1: "x", 2: "y"}
    assert quorate.score(result, truth).error == quorate.score(result.labels.arrow, truth).error == 0.5
