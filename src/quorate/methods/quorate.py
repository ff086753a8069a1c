"""The default method, `method="quorate"`: rank-one skills, partially pooled confusion matrices, calibrated confidence.

Skills by centred rank-one completion start two EM steps of confusion matrices. Scores are tempered by the dependence
measured in the crowd, mixed with the plain vote as far as one skill per worker does not explain which workers agree,
corrected by gold labels and averaged over a calibration law. Every step is a sum over blocks, so the method is the same
in memory, on disk and in Spark. docs/methods.md has the mathematics, `experiments/default_method` the figures.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums, count_gold
from quorate.blocks.kernels import equal_answers
from quorate.blocks.memory import memory_blocks
from quorate.blocks.worker_rows import dense
from quorate.calibration.calibration_law import (
    MODELS,
    PEOPLE,
    CalibrationLaw,
    calibration_law,
    mixed_law,
    no_calibration,
)
from quorate.calibration.confidence import ConfidenceBasis, GoldCheck, count_right, gold_check
from quorate.calibration.dependence import (
    DEPENDENCES,
    INDEPENDENT,
    MEASURED,
    NO_DEPENDENCE,
    Dependence,
    dependence_of,
    measure_dependence,
)
from quorate.calibration.one_factor import one_factor_fit
from quorate.calibration.share_right import ShareEstimate, share_right_given_gold
from quorate.calibration.tempered_scorer import TemperedScorer
from quorate.errors import unknown_name_error
from quorate.methods.fit import Fitted
from quorate.models.confusion import (
    MAX_MATRIX_ENTRIES,
    AccuracyModel,
    ConfusionMatrices,
    ConfusionModel,
    LeaveOneOut,
    ModelPosterior,
    fit_confusion,
    has_matrices,
    pooled_confusion,
)
from quorate.models.confusion_prior import relative_errors
from quorate.models.response_bias import ResponseBias
from quorate.models.scorer import PluralityScorer, Scorer, SkillScorer
from quorate.skills.centred_skills import CentredEstimates, centred_estimates
from quorate.skills.identification import identify_workers
from quorate.skills.priors import Priors, determined_by
from quorate.skills.shrinkage import response_bias, shrunk_skills
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import Vote, by_posterior, weight

# What gold, groups, judges, ordered classes and abstentions need is imported where it is used: for a crowd
# without them the imports would take 15 ms, a fortieth of the time for a million answers.
if TYPE_CHECKING:
    from quorate.blocks.transform import RenamedClasses
    from quorate.calibration.gold_correction import GoldCorrected
    from quorate.io.model_names import Models
    from quorate.models.copying import CopyingModel, GroupedScorer

EM_STEPS = 2  # 1 to 3 have the same error on the public sets: `python -m experiments.default_method.ablation`
UNKNOWN_SKILL = 0.5  # assumed if no skill of the crowd is identified: halfway between guessing and perfect
MAX_COPYING_WORKERS = 50  # no search for copying groups in larger crowds; `diagnose` searches in any crowd
MAX_SAMPLE_ANSWERS = 150_000  # answers of sampled whole tasks, for the share of right labels and other means
MAX_CELLS = 1 << 22  # tasks × classes that are predicted at once, to limit memory


def fit(
    blocks: Blocks,
    *,
    cautious: bool = False,
    group: IntArray | None = None,
    dependence: str = MEASURED,
    ordered: bool = False,
    skills: Priors | None = None,
    models: "Models | None" = None,
    classes: pa.Array | None = None,
    worker_names: pa.Array | None = None,
) -> Fitted:
    """Fit the default method to blocks of tasks; gold labels come with the blocks.

    Args:
        blocks: blocks of tasks.
        cautious: stay close to the majority vote.
        group: of each worker, -1 for none: workers who may copy or share mistakes.
        dependence: whether workers share mistakes: ``measured`` from the answers, or ``independent``.
        ordered: the classes are ordered.
        skills: skills of workers from an earlier batch.
        models: the workers that are models, whose calibration law is that of judge panels.
        classes: names of the classes, for messages; numbers by default.
        worker_names: names of the workers, for messages; numbers by default.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> blocks = blocks_of(crowd.answers)
    >>> labels = np.concatenate([vote.label for vote in blocks.map(fit(blocks).vote)])
    >>> bool((labels == crowd.truth).mean() > 0.85)
    True
    """
    if dependence not in DEPENDENCES:
        raise unknown_name_error(dependence, DEPENDENCES, "dependence")
    has_gold = count_gold(blocks) > 0
    identification = identify_workers(blocks)
    determined = identification.graph.determined if skills is None else determined_by(identification.graph, skills)
    anchored, free = _split_gold(blocks, determined, has_gold)
    has_anchors = has_gold and count_gold(anchored) > 0
    without_gold = centred_estimates(
        identify_workers(anchored, use_block_gold=True) if has_anchors else identification, skills
    )
    workers = centred_estimates(identify_workers(blocks, use_block_gold=True), skills) if has_gold else without_gold
    crowd = _estimate(anchored, without_gold)
    groups = None if group is None or crowd.model is None else group_codes(group)
    factor_weight = 1.0 if crowd.model is None else one_factor_fit(anchored, crowd.bias)
    is_detected = False
    is_small = blocks.n_workers <= MAX_COPYING_WORKERS
    if groups is None and crowd.model is not None and dependence == MEASURED and is_small:
        groups = _search_copying(anchored, crowd, factor_weight)
        is_detected = groups is not None
    copying = None
    grouped_crowd: _Crowd = crowd
    if groups is not None:
        grouped_crowd, copying = _as_groups(anchored, crowd, groups)
        factor_weight = one_factor_fit(_as_one_worker_each(anchored, groups), grouped_crowd.bias)
    errors = _dependence(anchored, crowd, groups, copying)
    if dependence == INDEPENDENT:
        errors = NO_DEPENDENCE
        factor_weight = 1.0
    scorer = _scorer(
        anchored,
        crowd,
        grouped_crowd,
        copying,
        errors,
        factor_weight,
        groups,
        cautious=cautious,
        ordered=ordered,
        dependence=dependence,
    )
    law, alpha, n_models = _law(blocks, None if models is None else models.is_model, dependence)
    share = _share_right(blocks, scorer, law)
    corrected: GoldCorrected | None = None
    if has_gold and free.gold_tasks().n_tasks > 0:
        from quorate.calibration.gold_correction import correct_by_gold

        n_symbols = None if blocks.class_of_symbol is None else len(blocks.class_of_symbol)
        corrected = correct_by_gold(free, scorer, law, n_symbols=n_symbols)
        law = corrected.law
    class_names = _names(classes, blocks.n_classes)
    prediction = Prediction(((None, scorer),) if corrected is None else corrected.parts, law)
    check: GoldCheck | None = None
    n_gold = blocks.gold_tasks().n_tasks if has_gold else 0
    if corrected is not None:
        other_confidence = _confidence(free, prediction)
        check = gold_check(corrected, class_names, other_confidence)
        share = share_right_given_gold(share, other_confidence, corrected.confidence, blocks.n_tasks - n_gold)
    shared = errors.of_errors(n_models / max(blocks.n_workers, 1))
    votes = shared.effective_votes(_votes_per_task(blocks, scorer))
    basis = ConfidenceBasis(
        dependence=dependence,
        rho=errors.rho,
        rho_low=errors.low if crowd.model is not None else 0.0,
        error_correlation=shared.rho,
        error_correlation_low=shared.low,
        answers_per_task=blocks.n_answers / max(blocks.n_tasks, 1),
        effective_votes=votes[0],
        effective_votes_low=votes[1],
        effective_votes_high=votes[2],
        one_factor_weight=factor_weight if crowd.model is not None and dependence == MEASURED else None,
        families=() if groups is None else _members(groups, _names(worker_names, blocks.n_workers)),
        is_detected=is_detected,
        known=check,
        share_right=share,
        n_models=n_models,
        n_workers=blocks.n_workers,
        models_by_name=models is not None and models.by_name,
        alpha=alpha,
        n_tasks=blocks.n_tasks,
        n_gold=n_gold,
        right_alone=_right_alone(blocks, check, n_gold),
    )
    is_model = None if models is None else models.is_model
    estimates = _worker_estimates(blocks, workers, groups if is_detected else None, skills, is_model)
    if is_model is not None:
        has_counts = np.zeros(blocks.n_workers, dtype=bool)
        if estimates.gold_counts is not None:
            has_counts = estimates.gold_counts.weight > 0
        if (is_model & ~has_counts).any():
            agreement = np.where(is_model & ~has_counts, _agreement(blocks, prediction), np.nan)
            estimates = replace(estimates, agreement=agreement)
    ordered_classes = None
    if ordered:
        ordered_classes = pa.array(class_names) if classes is None else classes
    return Fitted(
        vote=prediction,
        skill_estimates=estimates,
        identifiability=workers.identification.graph,
        fitted_confusion=_confusion_matrices(blocks, scorer, prediction, has_gold),
        basis=basis,
        notes=(*workers.notes, *basis.notes()),
        in_order=ordered_classes,
    )


def _worker_estimates(
    blocks: Blocks,
    workers: CentredEstimates,
    copying_groups: IntArray | None,
    skills: Priors | None,
    is_model: BoolArray | None,
) -> WorkerEstimates:
    """Return the skills of the worker table; those of copying workers by agreement with workers outside the group."""
    estimates: WorkerEstimates | None = None
    if copying_groups is not None:
        from quorate.skills.copying import copying_estimates

        sample = blocks.sample(MAX_SAMPLE_ANSWERS)
        estimates = copying_estimates(sample.answers, copying_groups, sample.gold, skills)
    if estimates is None:
        estimates = workers.skill_estimates
    return estimates.with_gold(blocks, None, centred=True, is_model=is_model)


def _right_alone(blocks: Blocks, check: GoldCheck | None, n_gold: int) -> float | None:
    """Return how many gold labels the answers alone give: by the gold check or, if it lacks gold tasks, by the vote."""
    if n_gold == 0:
        return None
    if check is not None and check.n == n_gold:
        return check.right_alone
    gold = blocks.gold_tasks()
    assert gold.gold is not None
    return count_right(ModelPosterior(PluralityScorer(1.0))(replace(gold, gold=None)), gold.gold.astype(np.int64))[0]


def _agreement(blocks: Blocks, prediction: "Prediction") -> FloatArray:
    """Return the share of each worker's answers that equal the label of their task; NaN without answers."""
    (equal,) = blocks.sum(_equal_answers, prediction, blocks.n_workers)
    n = blocks.per_worker
    agreement: FloatArray = np.divide(equal, n, out=np.full(len(n), np.nan), where=n > 0)
    return agreement


def _equal_answers(blocks: Iterable[Block], prediction: "Prediction", n_workers: int) -> Sums:
    """Count the answers of each worker that equal the predicted label."""
    equal = np.zeros(n_workers)
    for block in blocks:
        equal += equal_answers(block, prediction(block).label)
    return (equal,)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Skills and confusion matrices of a crowd, fitted without the gold that corrects and checks."""

    bias: ResponseBias
    skill: FloatArray  # [workers], for the vote: the crowd's mean where not identified
    average: float  # skill of an average answer
    relative_error: FloatArray  # [workers]
    model: ConfusionModel | AccuracyModel | None  # None where no skill is identified


def _split_gold(blocks: Blocks, determined: BoolArray, has_gold: bool) -> tuple[Blocks, Blocks]:
    """Return the blocks with the gold that identifies workers who else are not identified, and with all other gold."""
    if not has_gold:
        return blocks, blocks
    from quorate.blocks.transform import GoldOfWorkers, TransformedBlocks

    return TransformedBlocks(blocks, GoldOfWorkers(~determined)), TransformedBlocks(blocks, GoldOfWorkers(determined))


def _estimate(blocks: Blocks, workers: CentredEstimates) -> _Crowd:
    """Fit confusion matrices by two EM steps from the skills; gold is used only where a component needs it."""
    if blocks.n_classes < 2 or workers.bias_of_workers is None:
        n = blocks.n_workers
        return _Crowd(response_bias(blocks), np.full(n, UNKNOWN_SKILL), UNKNOWN_SKILL, np.ones(n), None)
    frequency = workers.bias_of_workers.frequency[: blocks.n_workers]
    bias = replace(workers.bias_of_workers, frequency=frequency)
    return _fitted_crowd(blocks, bias, workers.skills, workers.mean)


def _fitted_crowd(blocks: Blocks, bias: ResponseBias, skill: FloatArray, average: float) -> _Crowd:
    relative_error = relative_errors(skill, average)
    start = SkillScorer(skill, bias.frequency, bias.prior)
    model = pooled_confusion(blocks, start, relative_error, n_steps=EM_STEPS)
    return _Crowd(bias, skill, average, relative_error, model)


def group_codes(group: IntArray) -> IntArray | None:
    """Return groups numbered from 0, with a group for each worker in none (-1); None if no group has two workers.

    >>> group_codes(np.array([5, -1, 5, -1])).tolist(), group_codes(np.array([0, 1]))
    ([2, 1, 2, 0], None)
    """
    group_or_worker = np.where(group >= 0, group, -1 - np.arange(len(group)))
    codes = np.unique(group_or_worker, return_inverse=True)[1].astype(np.int64)
    return None if int(codes.max(initial=0)) + 1 == len(group) else codes


def search_copying(blocks: Blocks) -> IntArray | None:
    """Search for copying groups in a crowd of any size; None where no grouping is supported.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> search_copying(blocks_of(quorate.simulate.crowd(300, 10, 5, seed=0).answers)) is None
    True
    """
    crowd = _estimate(blocks, centred_estimates(identify_workers(blocks)))
    if crowd.model is None:
        return None
    return _search_copying(blocks, crowd, one_factor_fit(blocks, crowd.bias))


def _search_copying(blocks: Blocks, crowd: _Crowd, factor_weight: float) -> IntArray | None:
    """Search for copying groups if one skill per worker does not explain who agrees; None if there are none."""
    if factor_weight >= 1.0 or not has_matrices(blocks):
        return None
    from quorate.calibration.find_copying import find_copying

    assert crowd.model is not None
    return find_copying(blocks, crowd.model, _fit_groups)


def _fit_groups(blocks: Blocks) -> Scorer:
    """Fit a model to blocks whose workers are groups, as the start of the copying model."""
    crowd = _crowd_of_groups(blocks)
    assert crowd.model is not None
    return crowd.model


def _crowd_of_groups(blocks: Blocks) -> _Crowd:
    bias = response_bias(blocks)
    posterior = shrunk_skills(blocks, bias)
    return _fitted_crowd(blocks, bias, posterior.mean, posterior.average)


def _as_one_worker_each(blocks: Blocks, groups: IntArray) -> Blocks:
    """Return the blocks of a crowd in which each group is one worker, who gives the majority of its answers."""
    from quorate.blocks.transform import GroupMajority, TransformedBlocks

    return TransformedBlocks(blocks, GroupMajority(groups))


def _as_groups(blocks: Blocks, crowd: _Crowd, groups: IntArray) -> "tuple[_Crowd, CopyingModel | GroupedScorer]":
    """Estimate the crowd of groups that answer as one worker each, and the model of copying within them.

    If the matrices of this model would be too large, each group has one vote instead.
    """
    from quorate.blocks.transform import GroupMajority
    from quorate.models.copying import GroupedScorer, fit_copying

    grouped = _as_one_worker_each(blocks, groups)
    grouped_crowd = _crowd_of_groups(grouped)
    assert grouped_crowd.model is not None
    if blocks.n_workers * blocks.n_classes**2 > MAX_MATRIX_ENTRIES:
        return grouped_crowd, GroupedScorer(grouped_crowd.model, GroupMajority(groups))
    start: Scorer = GroupedScorer(grouped_crowd.model, GroupMajority(groups))
    if int(groups.max()) + 1 < 3:  # two groups alone cannot show which one is right
        assert crowd.model is not None
        start = crowd.model
    return grouped_crowd, fit_copying(blocks, groups, ModelPosterior(start))


def _dependence(
    blocks: Blocks, crowd: _Crowd, groups: IntArray | None, copying: "CopyingModel | GroupedScorer | None"
) -> Dependence:
    """Measure how strongly errors of workers of different groups are correlated; a typical value without a model."""
    if crowd.model is None:
        return dependence_of(np.zeros(0), np.zeros(0))
    if copying is None:
        return measure_dependence(blocks, crowd.model)
    model = fit_confusion(blocks, ModelPosterior(copying), crowd.relative_error)
    return measure_dependence(blocks, model, groups, copying)


def _scorer(
    blocks: Blocks,
    crowd: _Crowd,
    grouped_crowd: _Crowd,
    copying: "CopyingModel | GroupedScorer | None",
    errors: Dependence,
    factor_weight: float,
    groups: IntArray | None,
    *,
    cautious: bool,
    ordered: bool,
    dependence: str,
) -> TemperedScorer:
    """Return the weighted mixture of the two models of the answers, tempered by the dependence."""
    m = blocks.n_classes
    weight_of_vote = 1.0
    if m > 1:
        average = np.clip(grouped_crowd.average, 1e-6, 1 - 1e-6)
        weight_of_vote = float(weight(np.array([average]), m)[0])
    vote = PluralityScorer(weight_of_vote)
    if crowd.model is None:
        return TemperedScorer((vote, vote), np.array([0.0, 1.0]), errors.rho)
    first: Scorer = crowd.model
    if dependence == INDEPENDENT and isinstance(crowd.model, ConfusionModel):  # nothing else corrects the model
        refitted = crowd.model.refit(blocks, ModelPosterior(crowd.model))
        assert isinstance(refitted, ConfusionModel)
        first = LeaveOneOut(refitted, crowd.model)
    models: tuple[Scorer, Scorer] = (first, vote)
    weights = np.array([factor_weight, 1 - factor_weight])
    if copying is not None and groups is not None:
        from quorate.blocks.transform import GroupMajority
        from quorate.models.copying import GroupedScorer

        models = (copying, GroupedScorer(vote, GroupMajority(groups)))
    elif ordered and m > 2 and has_matrices(blocks):
        from quorate.models.ordinal import MedianScorer, fit_ordinal

        ordinal = fit_ordinal(blocks, crowd.skill, crowd.bias.crowd, errors.rho)
        models = (ordinal, MedianScorer(ordinal.skill, errors.rho))
        weights = np.array([0.5, 0.5])
    if cautious:
        weights = np.array([0.0, 1.0])
    if blocks.class_of_symbol is not None and isinstance(crowd.model, ConfusionModel):
        from quorate.models.abstention import ClassModel, WithSymbols, fit_symbols

        symbols = fit_symbols(blocks, ClassModel(crowd.model.log_theta, crowd.model.log_prior, errors.rho))
        if symbols is not None:
            models = (WithSymbols(models[0], symbols), WithSymbols(models[1], symbols))
    return TemperedScorer(models, weights, errors.rho, copying)


def _law(blocks: Blocks, is_model: BoolArray | None, dependence: str) -> tuple[CalibrationLaw, float | None, int]:
    """Return the calibration law of this kind of crowd, Krippendorff's alpha of a panel, and the number of models."""
    m = blocks.n_classes
    n_models = 0 if is_model is None else int(is_model.sum())
    alpha: float | None = None
    if m > 1:
        from quorate.interrater.nominal_alpha import nominal_alpha

        alpha = nominal_alpha(blocks)
    if dependence == INDEPENDENT:
        return no_calibration(m), alpha, n_models
    people = calibration_law(PEOPLE, m)
    if is_model is None or alpha is None:
        return people, alpha, 0
    share = float(blocks.per_worker[is_model].sum()) / max(blocks.n_answers, 1)
    return mixed_law(people, calibration_law(MODELS, m, alpha), share), alpha, n_models


def _share_right(blocks: Blocks, scorer: TemperedScorer, law: CalibrationLaw) -> ShareEstimate:
    """Estimate the share of right labels on a sample of whole tasks that have answers."""
    answers = blocks.sample(MAX_SAMPLE_ANSWERS).answers
    sample = memory_blocks(answers.only(answers.per_task > 0))
    parts = list(sample.map(_top_sums, scorer, law))
    return law.share_right(np.sum(parts, axis=0), sample.n_tasks)


def _confidence(blocks: Blocks, prediction: "Prediction") -> FloatArray:
    """Return the confidence of a sample of the tasks without gold that have answers."""
    sampled = blocks.sample(MAX_SAMPLE_ANSWERS)
    is_open = sampled.answers.per_task > 0
    if sampled.gold is not None:
        is_open &= sampled.gold < 0
    sample = memory_blocks(sampled.answers.only(is_open))
    parts = [posterior.max(axis=1) for posterior in sample.map(prediction.posterior)]
    return np.concatenate([np.empty(0), *parts])


def _top_sums(block: Block, scorer: TemperedScorer, law: CalibrationLaw) -> FloatArray:
    return law.top_sums(scorer(block) / scorer.weights.sum())


@dataclass(frozen=True)
class Prediction:
    """Calibrated posterior and labels of any block; can be sent to the process that has the blocks."""

    parts: "tuple[tuple[RenamedClasses | None, TemperedScorer], ...]"
    law: CalibrationLaw

    def __call__(self, block: Block) -> Vote:
        """Predict a block, some tasks at a time where classes are many."""
        at_once = max(MAX_CELLS // max(block.n_classes, 1), 1)
        if block.n_tasks <= at_once:
            posterior = self.posterior(block)
        else:
            spans = range(0, block.n_tasks, at_once)
            pieces = [block.span(low, min(low + at_once, block.n_tasks)) for low in spans]
            posterior = np.concatenate([self.posterior(piece) for piece in pieces])
        return by_posterior(block, posterior)

    def posterior(self, block: Block) -> FloatArray:
        """Return the calibrated posterior of each task; tasks × classes."""
        return self.law.calibrated(self.uncalibrated(block))

    def uncalibrated(self, block: Block) -> FloatArray:
        """Return the posterior of each task before calibration; tasks × classes."""
        mixed: FloatArray | None = None
        total = 0.0
        for renaming, scorer in self.parts:
            part = scorer(block if renaming is None else renaming(block))
            mixed = part if mixed is None else mixed + part
            total += float(scorer.weights.sum())
        assert mixed is not None  # there is a part
        mixed /= total
        return mixed


def _votes_per_task(blocks: Blocks, scorer: TemperedScorer) -> FloatArray:
    """Return the number of votes of each task of a sample; the votes of a copying group count as effective votes."""
    sample = memory_blocks(blocks.sample(MAX_SAMPLE_ANSWERS).answers)
    if scorer.copying is None:
        return sample.all_tasks.per_task.astype(np.float64)
    return np.concatenate(list(sample.map(scorer.copying.effective_votes)))


def _confusion_matrices(
    blocks: Blocks, scorer: TemperedScorer, prediction: "Prediction", has_gold: bool
) -> ConfusionMatrices | None:
    """Return the workers' confusion matrices under the final posterior, gold clamped; None where there are none."""
    model = scorer.models[0]
    if isinstance(model, ConfusionModel) and not has_gold:
        return _matrices_of(model)
    from quorate.models.abstention import WithSymbols
    from quorate.models.copying import CopyingModel

    while isinstance(model, WithSymbols):
        model = model.model
    if isinstance(model, ConfusionModel) and not has_gold:
        return _matrices_of(model)
    if not isinstance(model, ConfusionModel | CopyingModel) or not has_matrices(blocks):
        return None
    refitted = fit_confusion(blocks, prediction.uncalibrated, np.ones(blocks.n_workers))
    assert isinstance(refitted, ConfusionModel)
    return _matrices_of(refitted)


def _matrices_of(model: ConfusionModel) -> ConfusionMatrices:
    return ConfusionMatrices(model.theta(), dense(model.counts), np.exp(model.log_prior))


def _names(names: pa.Array | None, n: int) -> list[str]:
    return [str(k) for k in range(n)] if names is None else [str(name) for name in names.to_pylist()]


def copying_members(groups: IntArray) -> list[IntArray]:
    """Return the workers of every group that has several.

    >>> [members.tolist() for members in copying_members(np.array([0, 1, 0]))]
    [[0, 2]]
    """
    several = np.flatnonzero(np.bincount(groups) > 1)
    return [np.flatnonzero(groups == k) for k in several]


def _members(groups: IntArray, names: list[str]) -> tuple[tuple[str, ...], ...]:
    """Name the members of every group that has several."""
    return tuple(sorted(tuple(names[w] for w in members) for members in copying_members(groups)))
