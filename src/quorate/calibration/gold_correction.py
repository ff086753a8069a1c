"""Corrections by gold labels: of swapped classes, scores of votes, classes of tasks, and the calibration law.

Several corrections are fitted and averaged, weighted by the likelihood of the gold labels; each gold task is scored
with corrections from the other folds (cross-fitting). A vote correction compares the answers on gold tasks by true
class with the same answers by estimated class, and refits the confusion matrices to the corrected posterior. A task
correction multiplies the posterior by a transition matrix from the estimated to the true class. Both are shrunk toward
no correction by kappa pseudo-observations per class. Classes that the crowd swaps are swapped back first. If gold is
not a random sample of the tasks, for example labels of the least certain tasks, it is weighted to represent all tasks
(`gold_weights`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, one_block
from quorate.blocks.memory import MemoryBlocks, memory_blocks
from quorate.blocks.transform import RenamedClasses, TransformedBlocks
from quorate.calibration.calibration_law import CalibrationLaw
from quorate.calibration.tempered_scorer import TemperedScorer, Transition, VoteCorrection, one_hot
from quorate.models.confusion import ModelPosterior
from quorate.models.confusion_prior import pooled_matrix
from quorate.voting.posterior import FLOOR

NONE = "none"
VOTES = "vote"
TASKS = "task"
TASKS_REFIT = "refit"  # a task correction, with the matrices refitted from it
# Kinds of correction with their kappa. Finer grids, or one chosen correction instead of the average, were no better on
# the public sets: `python -m experiments.default_method.ablation` prints the effect of leaving kinds out.
Corrections: TypeAlias = tuple[tuple[str, float], ...]
CORRECTIONS: Corrections = (
    (NONE, 0.0),
    (VOTES, 30.0),
    (VOTES, 10.0),
    (VOTES, 3.0),
    (TASKS, 10.0),
    (TASKS, 3.0),
    (TASKS_REFIT, 3.0),
)
N_FOLDS = 10
MAX_SAMPLE_ANSWERS = 100_000  # size of the sample of tasks, for the ones without gold
MAX_CORRECTION = 3.0  # nats that a correction adds to one vote or subtracts from it
MIXING_PRIOR_TASKS = 4.0  # pseudo-tasks of the prior weights of the two models
MIN_MODEL_WEIGHT = 0.05  # prior weight of either model
MIXING_STEPS = 30  # of EM
UNIFORM_SHARE = 0.02  # of the likelihood of a gold label, equal for all classes, so that no single label decides
MIN_CORRECTION_WEIGHT = 0.01  # a correction of less weight is left out
# Conventional, 1 %: gold is not random if its mean confidence is more standard errors from that of the other tasks.
NOT_RANDOM_Z = 2.576
MAX_STRATA = 5  # of confidence; conventional: five strata remove 90 % of a difference in means (Cochran 1968)
MIN_STRATUM_GOLD = 10  # gold tasks per stratum; conventional: the relative error of its weight is then about 1/3
SWAP_LEVEL = 0.05  # conventional; of the sign test for a swap of two classes, over all pairs (Bonferroni)
# With more classes votes are not corrected: the correction needs several tables of classes × classes, 32 MB each.
MAX_VOTE_CLASSES = 2_000
MAX_SWAP_CLASSES = 40  # with more classes, no pair of classes has enough gold labels

Swaps = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GoldCorrected:
    """Corrected scorers, and the posterior of gold tasks without their own gold label."""

    parts: tuple[tuple[RenamedClasses | None, TemperedScorer], ...]  # their weights sum to one
    out_of_fold: FloatArray  # posterior of the gold tasks before calibration, without their own label
    label: IntArray  # gold labels of the same tasks
    without_gold: FloatArray  # posterior of the same tasks by the answers alone
    law: CalibrationLaw
    swaps: Swaps  # pairs of classes that the crowd swaps
    correction_weights: FloatArray  # of CORRECTIONS; zero for those that were not computed
    gain: float  # cross-fitted gain in the log-likelihood of all gold labels by the corrections, in nats

    @property
    def confidence(self) -> FloatArray:
        """Calibrated confidence of the gold tasks, without their own label."""
        best: FloatArray = self.law.calibrated(self.out_of_fold).max(axis=1)
        return best


def correct_by_gold(
    blocks: Blocks, scorer: TemperedScorer, law: CalibrationLaw, *, n_symbols: int | None = None
) -> GoldCorrected:
    """Correct a scorer and its calibration by the gold labels in the blocks.

    Args:
        blocks: blocks of tasks, some with gold.
        scorer: fitted without gold.
        law: calibration law, without gold.
        n_symbols: number of symbols, if answers have grades or workers abstain.
    """
    gold = blocks.gold_tasks()
    assert gold.gold is not None
    label = gold.gold.astype(np.int64)
    fold = _folds(gold.n_tasks)
    sample = blocks.sample(MAX_SAMPLE_ANSWERS)
    other_tasks = memory_blocks(sample.answers).all_tasks
    if sample.gold is not None:
        other_tasks = other_tasks.only(sample.gold < 0)
    gold_posterior = law.calibrated(scorer(gold) / scorer.weights.sum())
    other_posterior = law.calibrated(scorer(other_tasks) / scorer.weights.sum())
    gold_weight = gold_weights(gold_posterior.max(axis=1), other_posterior.max(axis=1))
    corrections = tuple(entry for entry in CORRECTIONS if entry[0] != VOTES or blocks.n_classes <= MAX_VOTE_CLASSES)
    swaps = class_swaps(gold_posterior, label)
    swaps_of_fold = [class_swaps(gold_posterior[fold != k], label[fold != k]) for k in range(int(fold.max()) + 1)]
    fits = {
        pairs: _cross_fit(
            _Problem(gold, other_tasks, scorer, _renaming(pairs, blocks.n_classes, n_symbols), gold_weight),
            corrections,
            fold,
        )
        for pairs in {swaps, *swaps_of_fold}
    }
    out_of_fold = np.zeros((len(label), blocks.n_classes))
    log_likelihood = np.zeros(len(corrections))
    for k, pairs in enumerate(swaps_of_fold):
        in_fold = fold == k
        weights = _correction_weights(fits[pairs].logs[~in_fold], gold_weight[~in_fold])
        out_of_fold[in_fold] = np.einsum("c,ctg->tg", weights, fits[pairs].posterior[:, in_fold])
        log_likelihood += gold_weight[in_fold] @ fits[pairs].logs[in_fold]
    gain = float(np.logaddexp.reduce(log_likelihood - log_likelihood[0]) - np.log(len(corrections)))
    correction_weights = _correction_weights(fits[swaps].logs, gold_weight)
    renaming = _renaming(swaps, blocks.n_classes, n_symbols)
    parts = []
    problem = _Problem(gold, other_tasks, scorer, renaming, gold_weight)
    renamed_blocks = blocks if renaming is None else TransformedBlocks(blocks, renaming)
    for (kind, kappa), weight, mixing in zip(corrections, correction_weights, fits[swaps].mixing, strict=True):
        if weight > MIN_CORRECTION_WEIGHT:
            corrected = problem.corrected(kind, kappa, np.ones(len(label), dtype=bool), renamed_blocks)
            parts.append((renaming, replace(corrected, weights=mixing * weight)))
    weight_of_correction = dict(zip(corrections, correction_weights.tolist(), strict=True))
    total = sum(float(part.weights.sum()) for _, part in parts)
    parts = [(renaming, replace(part, weights=part.weights / total)) for _, part in parts]
    return GoldCorrected(
        tuple(parts),
        out_of_fold,
        label,
        gold_posterior,
        law.updated(out_of_fold, label),
        swaps,
        np.array([weight_of_correction.get(correction, 0.0) for correction in CORRECTIONS]),
        gain,
    )


def gold_weights(gold_confidence: FloatArray, other_confidence: FloatArray) -> FloatArray:
    """Return the weights with which gold tasks represent all tasks; ones if gold may be a random sample.

    Labels of the least certain tasks tell little about the others: without weights, 30 of them could shift the class
    prior of all tasks (`python -m experiments.advice.expert_labels`). The tasks are divided into strata of confidence,
    and the gold tasks of a stratum represent all tasks of the stratum (poststratification). The weights sum to the
    effective sample size (sum w)² / sum w² (Kish 1965).

    Args:
        gold_confidence: confidence of the gold tasks without their gold labels.
        other_confidence: confidence of the other tasks.

    >>> spread = np.linspace(0.5, 1.0, 301)
    >>> gold_weights(spread[::10], spread).tolist() == [1.0] * 31
    True
    >>> chosen = np.concatenate([spread[:20], spread[30::30]])  # the 20 least certain, and 10 of the others
    >>> weights = gold_weights(chosen, spread)
    >>> bool(weights[0] < 0.1), bool(weights[-1] > 0.9), bool(weights.sum() < 15)
    (True, True, True)
    """
    n = len(gold_confidence)
    if n < 2 * MIN_STRATUM_GOLD or len(other_confidence) < 2:
        return np.ones(n)
    standard_error = np.sqrt(other_confidence.var() / n)
    if abs(gold_confidence.mean() - other_confidence.mean()) <= NOT_RANDOM_Z * standard_error:
        return np.ones(n)
    n_strata = min(MAX_STRATA, n // MIN_STRATUM_GOLD)
    edges = np.unique(np.quantile(gold_confidence, np.arange(1, n_strata) / n_strata))
    stratum = np.searchsorted(edges, gold_confidence, side="right")
    stratum_of_task = np.searchsorted(edges, np.concatenate([gold_confidence, other_confidence]), side="right")
    gold_share = np.bincount(stratum, minlength=len(edges) + 1) / n
    task_share = np.bincount(stratum_of_task, minlength=len(edges) + 1) / len(stratum_of_task)
    weights = task_share[stratum] / gold_share[stratum]
    scaled: FloatArray = weights * weights.sum() / (weights**2).sum()
    return scaled


def class_swaps(posterior: FloatArray, label: IntArray) -> Swaps:
    """Return pairs of classes to swap, chosen one after the other while gold labels support it significantly.

    For each pair, a sign test compares the numbers of gold tasks of the two classes that have the label of the other
    class and of their own. The test does not use the size of the posterior, which is too certain if workers share
    errors.

    Args:
        posterior: of the gold tasks.
        label: their gold labels.

    >>> class_swaps(np.tile([[0.9, 0.1]], (5, 1)), np.ones(5, dtype=int))
    ((0, 1),)
    >>> class_swaps(np.tile([[0.9, 0.1]], (5, 1)), np.array([1, 0, 0, 0, 1]))
    ()
    """
    from scipy.special import bdtrc

    m = posterior.shape[1]
    if m > MAX_SWAP_CLASSES or m < 2 or len(label) == 0:
        return ()
    counts = np.zeros((m, m), np.int64)  # labelled × true class
    np.add.at(counts, (posterior.argmax(axis=1), label), 1)
    first, second = np.triu_indices(m, 1)
    swaps: list[tuple[int, int]] = []
    for _ in range(m - 1):
        exchanged = counts[first, second] + counts[second, first]
        total = exchanged + counts[first, first] + counts[second, second]
        p = np.where(exchanged > 0, bdtrc(np.maximum(exchanged - 1, 0), np.maximum(total, 1), 0.5), 1.0)
        best = int(np.argmin(p))
        if p[best] > SWAP_LEVEL / len(first):
            break
        pair = (int(first[best]), int(second[best]))
        counts[list(pair)] = counts[[pair[1], pair[0]]]
        swaps.append(pair)
    return tuple(swaps)


def _renaming(swaps: Swaps, n_classes: int, n_symbols: int | None) -> RenamedClasses | None:
    """Return the renaming of the answers' classes that undoes the swaps; None without swaps."""
    if not swaps:
        return None
    order: IntArray = np.arange(n_classes)
    for one, other in swaps:
        order[[one, other]] = order[[other, one]]
    # order[true class] is the class that the crowd gives, so answers are renamed by the inverse.
    return RenamedClasses(np.argsort(order), n_symbols)


@dataclass(frozen=True)
class _CrossFit:
    """Gold tasks scored by corrections from the other folds, for every kind of correction."""

    posterior: FloatArray  # corrections × tasks × classes
    logs: FloatArray  # tasks × corrections: log-likelihood of each gold label
    mixing: FloatArray  # corrections × 2: weights of the models, estimated from all gold labels


def _cross_fit(problem: "_Problem", corrections: Corrections, fold: IntArray) -> _CrossFit:
    m = problem.gold.n_classes
    n = problem.gold.n_tasks
    rows = np.arange(n)
    prior = np.maximum(problem.scorer.weights, MIN_MODEL_WEIGHT)
    prior = prior / prior.sum()
    posterior = np.zeros((len(corrections), n, m))
    mixing = np.zeros((len(corrections), 2))
    for c, (kind, kappa) in enumerate(corrections):
        parts = np.zeros((2, n, m))
        for k in range(int(fold.max()) + 1):
            in_fold = fold == k
            corrected = problem.corrected(kind, kappa, ~in_fold, None)
            parts[:, in_fold] = np.stack(corrected.components(problem.gold))[:, in_fold]
        likelihood = parts[:, rows, problem.label].T
        for k in range(int(fold.max()) + 1):
            in_fold = fold == k
            weights = _mixing_weights(likelihood[~in_fold], prior, problem.gold_weight[~in_fold])
            posterior[c, in_fold] = np.einsum("k,ktg->tg", weights, parts[:, in_fold])
        mixing[c] = _mixing_weights(likelihood, prior, problem.gold_weight)
    of_label = posterior[:, rows, problem.label].T
    logs = np.log((1 - UNIFORM_SHARE) * of_label + UNIFORM_SHARE / m)
    return _CrossFit(posterior, logs, mixing)


class _Problem:
    """Gold tasks, a sample of the others and the scorer, all with renamed classes."""

    def __init__(
        self,
        gold: Block,
        other_tasks: Block,
        scorer: TemperedScorer,
        renaming: RenamedClasses | None,
        gold_weight: FloatArray,
    ) -> None:
        self.gold_weight = gold_weight
        self.gold = gold if renaming is None else renaming(gold)
        self.other_tasks = other_tasks if renaming is None else renaming(other_tasks)
        self.scorer = scorer if renaming is None else scorer.renamed(renaming.new_class)
        assert gold.gold is not None
        self.label = gold.gold.astype(np.int64)
        self.all_tasks = one_block([replace(self.gold, gold=None), replace(self.other_tasks, gold=None)])
        self.posterior = self.scorer(self.all_tasks) / self.scorer.weights.sum()
        class_counts = self.posterior.sum(axis=0) + 1
        self.class_prior = class_counts / class_counts.sum()

    @cached_property
    def pooled(self) -> FloatArray:
        """Pooled confusion matrix of all answers."""
        return pooled_matrix(self.scorer.votes(self.all_tasks).T @ self.posterior)[0]

    def corrected(self, kind: str, kappa: float, use: FloatArray, blocks: Blocks | None) -> TemperedScorer:
        """Return the scorer corrected by some of the gold labels.

        Args:
            kind: of correction.
            kappa: pseudo-observations per class of no correction.
            use: mask of the gold labels that may be used.
            blocks: blocks to which matrices are refitted, with all gold; None for the sample, with the gold in `use`.
        """
        scorer = self.scorer
        chosen = np.flatnonzero(use)
        if kind == NONE or len(chosen) == 0:
            return scorer
        gold = self.gold.of_tasks(chosen)
        label = self.label[chosen]
        weight = self.gold_weight[chosen]
        if kind == TASKS:
            return self._task_correction(scorer, gold, label, kappa, weight)
        if blocks is None:
            gold_in_use = np.full(self.all_tasks.n_tasks, -1, np.int32)
            gold_in_use[chosen] = label
            blocks = MemoryBlocks(replace(self.all_tasks, gold=gold_in_use))
        model = scorer.models[0]
        if kind == VOTES:
            corrected = self._vote_correction(scorer, gold, label, kappa, weight)
            model = model.refit(blocks, _Normalised(corrected))
            refitted = replace(scorer, models=(model, scorer.models[1]))
            return self._vote_correction(refitted, gold, label, kappa, weight)
        corrected = self._task_correction(scorer, gold, label, kappa, weight)
        model = model.refit(blocks, _Normalised(corrected))
        model = model.refit(blocks, ModelPosterior(model))
        refitted = replace(scorer, models=(model, scorer.models[1]))
        return self._task_correction(refitted, gold, label, kappa, weight)

    def _vote_correction(
        self, scorer: TemperedScorer, gold: Block, label: IntArray, kappa: float, weight: FloatArray
    ) -> TemperedScorer:
        """Return the scorer corrected by the ratio of answers by true and by estimated class, each plus kappa P.

        Only the shift of the class prior, which concerns all tasks, uses the weights. The answers by class are compared
        on the same gold tasks, so they need no weights.
        """
        factor = scorer.tempering_factor(gold)[:, None]
        votes = scorer.votes(gold) * factor  # correlated answers count as effective votes
        truth = one_hot(label, gold.n_classes)
        corrections = []
        for posterior in scorer.components(gold):
            by_truth = _normalise_columns(votes.T @ truth + kappa * self.pooled)
            by_estimate = _normalise_columns(votes.T @ posterior + kappa * self.pooled)
            true_prior = weight @ truth + kappa * self.class_prior
            estimated_prior = weight @ posterior + kappa * self.class_prior
            ratio = np.log(np.maximum(by_truth, FLOOR)) - np.log(np.maximum(by_estimate, FLOOR))
            shift = np.log(true_prior / true_prior.sum()) - np.log(estimated_prior / estimated_prior.sum())
            corrections.append(VoteCorrection(np.clip(ratio, -MAX_CORRECTION, MAX_CORRECTION), shift))
        return replace(scorer, corrections=(corrections[0], corrections[1]))

    def _task_correction(
        self, scorer: TemperedScorer, gold: Block, label: IntArray, kappa: float, weight: FloatArray
    ) -> TemperedScorer:
        """Return the scorer with transitions from estimated to true class; kappa pseudo-tasks per class are right."""
        gold_classes, code = np.unique(label, return_inverse=True)
        truth = one_hot(code, len(gold_classes)) * weight[:, None]
        transitions = []
        for posterior in scorer.components(gold):
            counts = posterior.T @ truth
            total = counts.sum(axis=1) + kappa
            transitions.append(Transition(kappa / total, gold_classes, counts / total[:, None]))
        return replace(scorer, transitions=(transitions[0], transitions[1]))


@dataclass(frozen=True)
class _Normalised:
    """The posterior of a tempered scorer whose weights may not sum to one, as a function that can be pickled."""

    scorer: TemperedScorer

    def __call__(self, block: Block) -> FloatArray:
        posterior: FloatArray = self.scorer(block) / self.scorer.weights.sum()
        return posterior


def _folds(n: int) -> IntArray:
    """Return the fold of each of n gold tasks, in turn: the tasks are sorted by the hashes of their ids."""
    return np.arange(n) % max(min(N_FOLDS, n), 1)


def _correction_weights(logs: FloatArray, gold_weight: FloatArray) -> FloatArray:
    """Return the weights of the corrections by the likelihood of some gold labels, with equal prior weights."""
    total = gold_weight @ logs
    weights = np.exp(total - total.max())
    normalised: FloatArray = weights / weights.sum()
    return normalised


def _mixing_weights(likelihood: FloatArray, prior: FloatArray, gold_weight: FloatArray) -> FloatArray:
    """Return the weights of the two models by EM on the likelihood that each gives to the gold labels."""
    weights = prior
    for _ in range(MIXING_STEPS):
        share = likelihood * weights + 1e-12
        share = share / share.sum(axis=1, keepdims=True)
        weights = (gold_weight @ share + MIXING_PRIOR_TASKS * prior) / (gold_weight.sum() + MIXING_PRIOR_TASKS)
    return weights


def _normalise_columns(counts: FloatArray) -> FloatArray:
    normalised: FloatArray = counts / np.maximum(counts.sum(axis=0), FLOOR)
    return normalised
