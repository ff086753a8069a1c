"""Voting estimators: crowd-kit's, with its options, defaults and scales, and our own (`RankOne`, `IWMV`, …)."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, unknown_name_error
from quorate.estimators.base import Estimator, Voter, by_worker, confusion_frame, mapping_of
from quorate.io.arguments import check_arguments
from quorate.io.read_table import Source
from quorate.result import Result
from quorate.voting.vote import changed_vote, reveal, weighted_majority


class MajorityVote(Estimator):
    """Every vote has the same weight, or the weight in ``skills``.

    `skills_` is the share of a worker's answers that agree with the labels, as in crowd-kit. It is too high, because
    the labels depend on the worker's own vote.

    Args:
        default_skill: weight of workers who are not in ``skills``, with ``on_missing_skill="value"``.
        on_missing_skill: ``error``; ``ignore``, which gives such a worker weight zero; or ``value``.
        options: see `Estimator`.
    """

    method = "majority"
    scale = "accuracy"
    own_parameters = ("default_skill", "on_missing_skill")

    @check_arguments
    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error", **options: Any) -> None:
        super().__init__(**options)
        if on_missing_skill not in ["error", "ignore", "value"]:
            raise unknown_name_error(on_missing_skill, ["error", "ignore", "value"], "on_missing_skill=")
        if on_missing_skill == "value" and default_skill is None:
            raise OptionError("on_missing_skill='value' needs a default_skill")
        self.default_skill = default_skill
        self.on_missing_skill = on_missing_skill

    @check_arguments
    def fit(self, data: Source, skills: Any = None, true_labels: Source = None) -> Self:  # type: ignore[override]
        """Vote; ``skills``, as in crowd-kit, is the weight of each worker's vote, a Series by worker."""
        super().fit(data, true_labels)
        result = self.result_
        answers = self.result_.answers
        if skills is not None:
            default_weight = {"error": None, "ignore": 0.0, "value": self.default_skill}[self.on_missing_skill]
            weights = by_worker(answers, mapping_of("skills", skills), "given a skill", default_weight)
            task_vote = weighted_majority(answers, weights)
            if result.gold is not None:
                task_vote = reveal(task_vote, result.gold)
            result = replace(
                result, label_source=task_vote, skill_estimates=replace(result.skill_estimates, weights=weights)
            )
        return self._keep(result, data, _agreement(answers, result.vote.label))


class Wawa(Voter):
    """Vote, weigh each worker by its share of agreement with the labels, and vote once more; see also `IWMV`."""

    method = "wawa"
    scale = "weight"


class ZeroBasedSkill(Voter):
    """Weights that move toward each worker's agreement with the labels, in smaller steps; with crowd-kit's defaults."""

    method = "zero-based-skill"
    scale = "weight"

    @check_arguments
    def __init__(
        self,
        n_iter: int = 100,
        lr_init: float = 1.0,
        lr_steps_to_reduce: int = 20,
        lr_reduce_factor: float = 0.5,
        eps: float = 1e-5,
        **options: Any,
    ) -> None:
        step_options: dict[str, Any] = {"n_iter": n_iter, "lr_init": lr_init, "lr_steps_to_reduce": lr_steps_to_reduce}
        super().__init__(**step_options, lr_reduce_factor=lr_reduce_factor, eps=eps, **options)


class GoldMajorityVote(Voter):
    """Weigh each worker by its share of right answers to tasks of known label, and vote."""

    method = "gold-majority"
    scale = "accuracy"

    @check_arguments
    def fit(self, data: Source, true_labels: Source = None) -> Self:
        """Aggregate the answers; ``true_labels``, a Series by task, determine the weights of the workers.

        Raises:
            OptionError: there are no true labels.
        """
        if true_labels is None:
            raise OptionError("GoldMajorityVote weighs workers by true_labels; give some, or use MajorityVote")
        return super().fit(data, true_labels)


class KOS(Estimator):
    """Message passing between tasks and workers; more than two classes are voted on one against the rest."""

    method = "kos"

    @check_arguments
    def __init__(self, n_iter: int = 100, random_state: int | None = 0, **options: Any) -> None:
        super().__init__(n_iter=n_iter, random_state=random_state, **options)


class MMSR(Voter):
    """Trimmed rank-one completion, for crowds with adversaries.

    crowd-kit treats workers who share no task as workers who never agree. Here such pairs are left out, so the labels
    differ if some pairs of workers share no task.
    """

    method = "m-msr"
    scale = "weight"
    as_they_appear = ("worker",)
    scores_: Any  # DataFrame, tasks × labels: see `predict_score`

    @check_arguments
    def __init__(self, n_iter: int = 10_000, tol: float = 1e-10, random_state: int | None = 0, **options: Any) -> None:
        super().__init__(n_iter=n_iter, tol=tol, random_state=random_state, **options)

    def predict_score(self, data: Source) -> Any:
        """Return each label's share of the weight of the votes, (tasks, labels), as in crowd-kit.

        A vote of negative weight counts against its own label, so a share may be below zero or above one.
        """
        answers = self._read(data)
        return self._scores(answers, by_worker(answers, self.weights_.to_dict(), "fitted"), data)

    def fit_predict_score(self, data: Source) -> Any:
        """Fit, and return `scores_`."""
        return self.fit(data).scores_

    def _keep(self, result: Result, data: Source, accuracies: FloatArray | None = None) -> Self:
        self.scores_ = self._scores(result.answers, result.weights, data)
        return super()._keep(result, data, accuracies)

    def _scores(self, answers: Answers, weights: FloatArray, data: Source) -> Any:
        task_vote = weighted_majority(answers, weights)
        total = task_vote.scores.sum(axis=1, keepdims=True)
        shares = np.divide(task_vote.scores, total, out=np.full_like(task_vote.scores, np.nan), where=total != 0)
        return self._outcome(answers, changed_vote(task_vote, posterior=shares), data)[1]


def _agreement(answers: Answers, label: IntArray) -> FloatArray:
    """Return each worker's share of agreement with the labels; NaN for one without answers."""
    share: FloatArray = np.divide(
        answers.alike(label), answers.per_worker, out=np.full(answers.n_workers, np.nan), where=answers.per_worker > 0
    )
    return share


class Quorate(Estimator):
    """The default method: centred rank-one skills, then confusion matrices shrunk toward them."""

    method = "quorate"

    @property
    def errors_(self) -> Any:
        """The probability of each worker's answer (rows: worker, label) given the true class (columns)."""
        matrices = self.result_.confusion_matrices
        if matrices is None:
            raise AttributeError("no confusion matrices were fitted: no skill is determined")
        return confusion_frame(self.result_, matrices)


class RankOne(Voter):
    """The paper's method: skills by rank-one completion of the agreements, then a log-odds vote."""

    method = "rank-one"


class RankOneCentred(Estimator):
    """The first step of the default method: rank-one completion of answers centred at each worker's response bias."""

    method = "rank-one-centred"


class IWMV(Voter):
    """Majority vote weighted by each worker's agreement with the labels above chance, until the labels are stable."""

    method = "iwmv"


class EigenRatio(Estimator):
    """ER: the ratio of two eigenvectors, per component."""

    method = "er"


class KOSSVD(Estimator):
    """The top singular vector of the centred answers."""

    method = "kos-svd"


class GhoshSVD(Estimator):
    """The top singular vector of the answers."""

    method = "ghosh-svd"


class OptDS(Estimator):
    """Tensor decomposition, then EM."""

    method = "opt-ds"


class M3V(Estimator):
    """Max-margin vote, by Gibbs sampling."""

    method = "m3v"


class M3VSVM(Estimator):
    """Max-margin vote, by alternating with a linear SVM."""

    method = "m3v-svm"
