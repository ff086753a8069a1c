import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quorate
from quorate.errors import ConflictingAnswersError, OptionError, QuorateError
from quorate.estimators import (
    MACE,
    BinaryRelevance,
    DawidSkene,
    GoldMajorityVote,
    MajorityVote,
    OneCoinDawidSkene,
    Quorate,
    RankOne,
)

TRIANGLE = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxyy")}


def test_options_have_two_names(data: Any) -> None:
    few = DawidSkene(n_iter=1).fit_predict_proba(data)
    assert few.equals(DawidSkene(max_iterations=1).fit_predict_proba(data))
    assert not few.equals(DawidSkene().fit_predict_proba(data))
    result = quorate.aggregate(data, "dawid-skene", max_iterations=1, tolerance=1e-5, class_prior=True)
    assert few.loc[result.answers.task_names.to_pylist()].to_numpy() == pytest.approx(result.vote.posterior)
    solution = RankOne(solver="gradient", n_iter=7).fit(data).result_.solution
    assert solution is not None
    capped = quorate.aggregate(data, "rank-one", solver="gradient", max_iterations=7).solution
    free = quorate.aggregate(data, "rank-one", solver="gradient").solution
    assert capped is not None
    assert free is not None
    assert solution.iterations == capped.iterations < free.iterations
    assert repr(DawidSkene(n_iter=1)) == "DawidSkene(n_iter=1, tol=1e-05, class_prior=True)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quorate(n_iter=10), r"no option 'n_iter'. Its options are cautious"),
        (lambda: DawidSkene(initial_error_strategy="guess"), "assign, addition"),
        (lambda: DawidSkene().fit(TRIANGLE, None, "matrix"), "initial_error_strategy: assign or addition"),
        (lambda: OneCoinDawidSkene().fit_predict(TRIANGLE, initial_error="matrix"), "for DawidSkene"),
        (lambda: GoldMajorityVote().fit(TRIANGLE), "give some, or use MajorityVote"),
        (lambda: MACE(method="gibbs").fit(TRIANGLE), "vb, em"),
        (lambda: BinaryRelevance(MajorityVote), "DawidSkene()"),
        (lambda: MajorityVote(on_missing_skill="drop"), "error, ignore, value"),
        (lambda: RankOne(colour="red").fit(TRIANGLE), "colour"),
    ],
)
def test_options_that_mean_nothing_are_refused(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()


def test_two_answers_to_one_task_are_refused_or_resolved() -> None:
    data = pd.DataFrame({"task": [1, 1], "worker": ["ann", "ann"], "label": ["x", "y"]})
    with pytest.raises(ConflictingAnswersError):
        MajorityVote().fit(data)
    assert MajorityVote(on_conflict="last").fit_predict(data).to_dict() == {1: "y"}


def test_nothing_is_there_before_fit() -> None:
    assert not hasattr(Quorate(), "labels_")


def test_without_pandas_it_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(QuorateError, match=r"pip install 'quorate\[pandas\]'"):
        Quorate().fit({"task": [1], "worker": ["a"], "label": ["x"]})


def test_importing_the_classes_imports_no_pandas() -> None:
    script = "import sys, quorate.estimators; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=Path.cwd()).returncode == 0
