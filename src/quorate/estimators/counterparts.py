"""The classes that crowd-kit has too, with its options and its defaults."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, one_of
from quorate.estimators.estimator import Estimator, Voter, by_worker, confusion_frame
from quorate.reading.files import Source
from quorate.voting.vote import reveal, skill_of, weighted_majority


class MajorityVote(Estimator):
    """Every vote counts the same, or as much as the caller's ``skills`` say.

    `skills_` come from the share of a worker's answers that agree with the labels, as in crowd-kit; the worker's own
    vote is in those labels, so they are flattering.

    Args:
        default_skill: of workers whom ``skills`` does not name, with ``on_missing_skill="value"``.
        on_missing_skill: ``error``; ``ignore``, so that such a worker's vote counts nothing; or ``value``.
        options: see `Estimator`.
    """

    method = "majority"

    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error", **options: Any) -> None:
        super().__init__(**options)
        one_of(on_missing_skill, ["error", "ignore", "value"], "policy for missing skills")
        if on_missing_skill == "value" and default_skill is None:
            raise OptionError("on_missing_skill='value' needs a default_skill")
        self.default_skill, self.on_missing_skill = default_skill, on_missing_skill

    def fit(self, data: Source, skills: Any = None, true_labels: Any = None) -> Self:  # type: ignore[override]
        """Vote; ``skills`` are crowd-kit's word for the weight of each worker's vote, a Series by worker."""
        super().fit(data, true_labels)
        result = self.result_
        if skills is not None:
            others = {"error": None, "ignore": 0.0, "value": self.default_skill}[self.on_missing_skill]
            weights = by_worker(result.answers, skills.to_dict(), "given a skill", others)
            ballot = weighted_majority(result.answers, weights)
            if result.gold is not None:
                ballot = reveal(ballot, result.gold)
            result = replace(result, vote=ballot, workforce=replace(result.workforce, weights=weights))
        return self._keep(result, _agreement(result.answers, result.ballot.label), data)


class _ByExpectation(Estimator):
    """What the two classes of Dawid and Skene share: crowd-kit's defaults, which estimate the share of each class."""

    as_they_appear = ("task", "worker")

    def __init__(
        self, n_iter: int = 100, tol: float = 1e-5, initial_error_strategy: str | None = None, **options: Any
    ) -> None:
        if initial_error_strategy is not None:
            raise OptionError("initial_error_strategy is not supported: EM starts from the shares of the votes")
        super().__init__(**{"n_iter": n_iter, "tol": tol, "class_prior": True, **options})

    def fit(self, data: Source, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Aggregate the answers; crowd-kit's ``initial_error`` is not supported."""
        if initial_error is not None:
            raise OptionError("initial_error is not supported: EM starts from the shares of the votes")
        return super().fit(data, true_labels)


class DawidSkene(_ByExpectation):
    """EM over a confusion matrix a worker; with crowd-kit's defaults, which are not those of `quorate.aggregate`."""

    method = "dawid-skene"

    @property
    def priors_(self) -> Any:
        """The share of each class, a Series by label."""
        return self.probas_.mean().rename("prior")

    @property
    def errors_(self) -> Any:
        """The probability of each worker's answer (rows: worker, label) given the true class (columns)."""
        answers, posterior = self.result_.answers, self.result_.ballot.posterior
        given = np.zeros((answers.n_workers, answers.n_classes, answers.n_classes))
        np.add.at(given, (answers.worker, answers.label), posterior[answers.task])
        total = given.sum(axis=1, keepdims=True)
        matrices = np.divide(given, total, out=np.full_like(given, np.nan), where=total > 0)
        return confusion_frame(self.result_, matrices)


class OneCoinDawidSkene(_ByExpectation):
    """EM over one accuracy a worker; with crowd-kit's defaults."""

    method = "one-coin"


class KOS(Estimator):
    """Message passing between tasks and workers; more than two classes are voted on one against the rest."""

    method = "kos"

    def __init__(self, n_iter: int = 100, random_state: int | None = 0, **options: Any) -> None:
        super().__init__(n_iter=n_iter, random_state=random_state or 0, **options)


class Wawa(Voter):
    """IWMV: vote, weigh each worker by agreement with the labels, and vote again until the labels stand still.

    crowd-kit's Wawa does this once and weighs by the share w of agreement; here the weight is M·w - 1, which is zero
    for a worker who guesses, and the labels settle.
    """

    method = "iwmv"


class MMSR(Voter):
    """Trimmed rank-one completion, for crowds with adversaries.

    crowd-kit takes workers who share no task for workers who never agree; here they are no evidence, so the labels
    differ wherever not everybody met everybody.
    """

    method = "m-msr"
    as_they_appear = ("worker",)

    def __init__(self, n_iter: int = 10_000, tol: float = 1e-10, random_state: int | None = 0, **options: Any) -> None:
        super().__init__(n_iter=n_iter, tol=tol, random_state=random_state or 0, **options)


IWMV = Wawa


def _agreement(answers: Answers, label: IntArray) -> FloatArray:
    """Return the skill of each worker's share of agreement with the labels."""
    alike = answers.alike(label)
    share: FloatArray = np.divide(
        alike, answers.per_worker, out=np.full(answers.n_workers, np.nan), where=answers.per_worker > 0
    )
    return skill_of(share, answers.n_classes) if answers.n_classes > 1 else np.full(answers.n_workers, np.nan)
