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

    # Identification: gold that it does not need is spared for the corrections and the check.
    has_gold = count_gold(blocks) > 0
    identification = identify_workers(blocks)
    is_determined = identification.graph.determined if skills is None else determined_by(identification.graph, skills)
    needed_gold_blocks, spare_gold_blocks = _split_gold(blocks, is_determined, has_gold)

    # Skills: of the vote by the needed gold only, of the worker table by all gold.
    if has_gold and count_gold(needed_gold_blocks) > 0:
        identification = identify_workers(needed_gold_blocks, use_block_gold=True)
    vote_skills = centred_estimates(identification, skills)
    table_skills = vote_skills
    if has_gold:
        table_skills = centred_estimates(identify_workers(blocks, use_block_gold=True), skills)

    # Confusion matrices, and how well one skill per worker explains who agrees.
    crowd = _fit_crowd(needed_gold_blocks, vote_skills)
    is_measured = crowd.model is not None and dependence == MEASURED
    one_factor_weight = one_factor_fit(needed_gold_blocks, crowd.bias) if is_measured else 1.0

    # Copying groups, declared or detected.
    groups: _Groups | None = None
    group_of_worker, is_detected = _copying_groups(needed_gold_blocks, crowd, group, one_factor_weight)
    if group_of_worker is not None:
        groups = _fit_groups(needed_gold_blocks, crowd, group_of_worker)
        if is_measured:
            one_factor_weight = one_factor_fit(
                _groups_as_workers(needed_gold_blocks, group_of_worker), groups.crowd.bias
            )

    # Dependence of errors, by which scores are tempered.
    errors = NO_DEPENDENCE if dependence == INDEPENDENT else _measure_dependence(needed_gold_blocks, crowd, groups)
    scorer = _tempered_scorer(
        needed_gold_blocks,
        crowd,
        groups,
        errors.rho,
        one_factor_weight,
        cautious=cautious,
        ordered=ordered,
        independent=dependence == INDEPENDENT,
    )

    # Calibration.
    is_model = None if models is None else models.is_model
    law, alpha, n_models = _calibration_law(blocks, is_model, dependence)
    share_right = _share_right(blocks, scorer, law)
    prediction = Prediction(((None, scorer),), law)

    # Corrections by the spare gold, which is also a check of the confidence.
    class_names = _names(classes, blocks.n_classes)
    check: GoldCheck | None = None
    n_gold = blocks.gold_tasks().n_tasks if has_gold else 0
    if has_gold and spare_gold_blocks.gold_tasks().n_tasks > 0:
        from quorate.calibration.gold_correction import correct_by_gold

        n_symbols = None if blocks.class_of_symbol is None else len(blocks.class_of_symbol)
        corrected = correct_by_gold(spare_gold_blocks, scorer, law, n_symbols=n_symbols)
        prediction = Prediction(corrected.parts, corrected.law)
        other_confidence = _confidence_without_gold(spare_gold_blocks, prediction)
        check = gold_check(corrected, class_names, other_confidence)
        share_right = share_right_given_gold(
            share_right, other_confidence, corrected.confidence, blocks.n_tasks - n_gold
        )

    # Result.
    basis = _confidence_basis(
        blocks,
        scorer,
        errors,
        dependence=dependence,
        one_factor_weight=one_factor_weight if is_measured else None,
        members=() if group_of_worker is None else _member_names(group_of_worker, worker_names),
        is_detected=is_detected,
        check=check,
        share_right=share_right,
        n_models=n_models,
        models_by_name=models is not None and models.by_name,
        alpha=alpha,
        n_gold=n_gold,
    )
    ordered_classes = None
    if ordered:
        ordered_classes = pa.array(class_names) if classes is None else classes
    return Fitted(
        vote=prediction,
        skill_estimates=_worker_estimates(
            blocks, table_skills, prediction, group_of_worker if is_detected else None, skills, is_model
        ),
        identifiability=table_skills.identification.graph,
        fitted_confusion=_confusion_matrices(blocks, scorer, prediction, has_gold),
        basis=basis,
        notes=(*table_skills.notes, *basis.notes()),
        in_order=ordered_classes,
    )


def _split_gold(blocks: Blocks, is_determined: BoolArray, has_gold: bool) -> tuple[Blocks, Blocks]:
    """Return the blocks with the gold that identification needs, and with the gold that it can spare.

    Args:
        blocks: blocks of tasks.
        is_determined: of each worker, whether its skill is determined without gold.
        has_gold: whether there is any gold.
    """
    if not has_gold:
        return blocks, blocks
    from quorate.blocks.transform import GoldOfWorkers, TransformedBlocks

    needed_gold_blocks = TransformedBlocks(blocks, GoldOfWorkers(~is_determined))
    spare_gold_blocks = TransformedBlocks(blocks, GoldOfWorkers(is_determined))
    return needed_gold_blocks, spare_gold_blocks


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Skills and confusion matrices of a crowd, fitted without the spare gold, which corrects and checks."""

    bias: ResponseBias
    skill: FloatArray  # [workers], for the vote: the crowd's mean where not identified
    average: float  # skill of an average answer
    relative_error: FloatArray  # [workers]
    model: ConfusionModel | AccuracyModel | None  # None where no skill is identified


def _fit_crowd(blocks: Blocks, estimates: CentredEstimates) -> _Crowd:
    """Fit confusion matrices by two EM steps from the skills; gold in the blocks is clamped."""
    if blocks.n_classes < 2 or estimates.bias_of_workers is None:
        n = blocks.n_workers
        return _Crowd(response_bias(blocks), np.full(n, UNKNOWN_SKILL), UNKNOWN_SKILL, np.ones(n), None)
    frequency = estimates.bias_of_workers.frequency[: blocks.n_workers]
    bias = replace(estimates.bias_of_workers, frequency=frequency)
    return _fit_matrices(blocks, bias, estimates.skills, estimates.mean)


def _fit_matrices(blocks: Blocks, bias: ResponseBias, skill: FloatArray, average: float) -> _Crowd:
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


def _copying_groups(
    blocks: Blocks, crowd: _Crowd, group: IntArray | None, one_factor_weight: float
) -> tuple[IntArray | None, bool]:
    """Return the declared or detected group of each worker, and whether the groups were detected.

    The group is None if no group has two workers, or if no skill is identified.
    """
    if crowd.model is None:
        return None, False
    declared = None if group is None else group_codes(group)
    if declared is not None:
        return declared, False
    if blocks.n_workers > MAX_COPYING_WORKERS:
        return None, False
    detected = _search_copying(blocks, crowd, one_factor_weight)
    return detected, detected is not None


def search_copying(blocks: Blocks) -> IntArray | None:
    """Search for copying groups in a crowd of any size; None where no grouping is supported.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> search_copying(blocks_of(quorate.simulate.crowd(300, 10, 5, seed=0).answers)) is None
    True
    """
    if not has_matrices(blocks):  # the search compares confusion matrices
        return None
    crowd = _fit_crowd(blocks, centred_estimates(identify_workers(blocks)))
    if crowd.model is None:
        return None
    return _search_copying(blocks, crowd, one_factor_fit(blocks, crowd.bias))


def _search_copying(blocks: Blocks, crowd: _Crowd, one_factor_weight: float) -> IntArray | None:
    """Search for copying groups if one skill per worker does not explain who agrees; None if there are none."""
    if one_factor_weight >= 1.0 or not has_matrices(blocks):
        return None
    from quorate.calibration.find_copying import find_copying

    assert crowd.model is not None
    return find_copying(blocks, crowd.model, _fit_model_of_groups)


def _fit_model_of_groups(blocks: Blocks) -> Scorer:
    """Fit a model to blocks whose workers are groups, as the start of the copying model."""
    crowd = _fit_crowd_of_groups(blocks)
    assert crowd.model is not None
    return crowd.model


def _fit_crowd_of_groups(blocks: Blocks) -> _Crowd:
    """Fit skills and confusion matrices to blocks whose workers are groups."""
    bias = response_bias(blocks)
    posterior = shrunk_skills(blocks, bias)
    return _fit_matrices(blocks, bias, posterior.mean, posterior.average)


def _groups_as_workers(blocks: Blocks, group: IntArray) -> Blocks:
    """Return the blocks of a crowd in which each group is one worker, who gives the majority of its answers."""
    from quorate.blocks.transform import GroupMajority, TransformedBlocks

    return TransformedBlocks(blocks, GroupMajority(group))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of copying workers."""

    crowd: _Crowd  # in which each group answers as one worker
    model: "CopyingModel | GroupedScorer"  # of the answers of all workers


def _fit_groups(blocks: Blocks, crowd: _Crowd, group: IntArray) -> _Groups:
    """Fit the crowd of groups that answer as one worker each, and the model of copying within them.

    If the matrices of this model would be too large, each group has one vote instead.
    """
    from quorate.blocks.transform import GroupMajority
    from quorate.models.copying import GroupedScorer, fit_copying

    crowd_of_groups = _fit_crowd_of_groups(_groups_as_workers(blocks, group))
    assert crowd_of_groups.model is not None
    one_vote_each = GroupedScorer(crowd_of_groups.model, GroupMajority(group))
    if blocks.n_workers * blocks.n_classes**2 > MAX_MATRIX_ENTRIES:
        return _Groups(crowd_of_groups, one_vote_each)
    start: Scorer = one_vote_each
    if int(group.max()) + 1 < 3:  # two groups alone cannot show which one is right
        assert crowd.model is not None
        start = crowd.model
    return _Groups(crowd_of_groups, fit_copying(blocks, group, ModelPosterior(start)))


def _measure_dependence(blocks: Blocks, crowd: _Crowd, groups: _Groups | None) -> Dependence:
    """Measure how strongly errors of workers of different groups are correlated; a typical value without a model."""
    if crowd.model is None:
        return dependence_of(np.zeros(0), np.zeros(0))
    if groups is None:
        return measure_dependence(blocks, crowd.model)
    model = fit_confusion(blocks, ModelPosterior(groups.model), crowd.relative_error)
    return measure_dependence(blocks, model, groups.model.group, groups.model)


def _tempered_scorer(
    blocks: Blocks,
    crowd: _Crowd,
    groups: _Groups | None,
    rho: float,
    one_factor_weight: float,
    *,
    cautious: bool,
    ordered: bool,
    independent: bool,
) -> TemperedScorer:
    """Return the weighted mixture of the two models of the answers, tempered by the dependence."""
    m = blocks.n_classes
    weight_of_vote = 1.0
    if m > 1:
        average = crowd.average if groups is None else groups.crowd.average
        weight_of_vote = float(weight(np.clip([average], 1e-6, 1 - 1e-6), m)[0])
    vote = PluralityScorer(weight_of_vote)
    if crowd.model is None:
        return TemperedScorer((vote, vote), np.array([0.0, 1.0]), rho)
    first: Scorer = crowd.model
    if independent and isinstance(crowd.model, ConfusionModel):  # nothing else corrects the model
        refitted = crowd.model.refit(blocks, ModelPosterior(crowd.model))
        assert isinstance(refitted, ConfusionModel)
        first = LeaveOneOut(refitted, crowd.model)
    models: tuple[Scorer, Scorer] = (first, vote)
    weights = np.array([one_factor_weight, 1 - one_factor_weight])
    if groups is not None:
        from quorate.blocks.transform import GroupMajority
        from quorate.models.copying import GroupedScorer

        models = (groups.model, GroupedScorer(vote, GroupMajority(groups.model.group)))
    elif ordered and m > 2 and has_matrices(blocks):
        from quorate.models.ordinal import MedianScorer, fit_ordinal

        ordinal = fit_ordinal(blocks, crowd.skill, crowd.bias.crowd, rho)
        models = (ordinal, MedianScorer(ordinal.skill, rho))
        weights = np.array([0.5, 0.5])
    if cautious:
        weights = np.array([0.0, 1.0])
    if blocks.class_of_symbol is not None and isinstance(crowd.model, ConfusionModel):
        from quorate.models.abstention import ClassModel, WithSymbols, fit_symbols

        symbols = fit_symbols(blocks, ClassModel(crowd.model.log_theta, crowd.model.log_prior, rho))
        if symbols is not None:
            models = (WithSymbols(models[0], symbols), WithSymbols(models[1], symbols))
    return TemperedScorer(models, weights, rho, None if groups is None else groups.model)


def _calibration_law(
    blocks: Blocks, is_model: BoolArray | None, dependence: str
) -> tuple[CalibrationLaw, float | None, int]:
    """Return the calibration law of this kind of crowd, Krippendorff's alpha, and the number of models."""
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


def _top_sums(block: Block, scorer: TemperedScorer, law: CalibrationLaw) -> FloatArray:
    return law.top_sums(scorer(block) / scorer.weights.sum())


def _confidence_without_gold(blocks: Blocks, prediction: "Prediction") -> FloatArray:
    """Return the confidence of a sample of the tasks without gold that have answers."""
    sampled = blocks.sample(MAX_SAMPLE_ANSWERS)
    is_chosen = sampled.answers.per_task > 0
    if sampled.gold is not None:
        is_chosen &= sampled.gold < 0
    sample = memory_blocks(sampled.answers.only(is_chosen))
    parts = [posterior.max(axis=1) for posterior in sample.map(prediction.posterior)]
    return np.concatenate([np.empty(0), *parts])


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


def _confidence_basis(
    blocks: Blocks,
    scorer: TemperedScorer,
    errors: Dependence,
    *,
    dependence: str,
    one_factor_weight: float | None,
    members: tuple[tuple[str, ...], ...],
    is_detected: bool,
    check: GoldCheck | None,
    share_right: ShareEstimate,
    n_models: int,
    models_by_name: bool,
    alpha: float | None,
    n_gold: int,
) -> ConfidenceBasis:
    """Return what the confidence is based on; see the fields of `ConfidenceBasis`.

    The effective votes are means over a sample of tasks, in which a copying group counts by its own effective votes.

    Args:
        blocks: blocks of tasks.
        scorer: the tempered posterior.
        errors: dependence by which the scores are tempered.
        dependence: measured or independent.
        one_factor_weight: None if the dependence was not measured.
        members: names of the workers of each copying group.
        is_detected: whether these groups were detected.
        check: comparison with spare gold labels; None without them.
        share_right: share of right labels among the tasks without gold.
        n_models: number of workers that are models.
        models_by_name: whether they were recognised by their names.
        alpha: Krippendorff's alpha.
        n_gold: number of tasks with gold.
    """
    error_correlation = errors.of_errors(n_models / max(blocks.n_workers, 1))
    sample = memory_blocks(blocks.sample(MAX_SAMPLE_ANSWERS).answers)
    votes_per_task = sample.all_tasks.per_task.astype(np.float64)
    if scorer.copying is not None:
        votes_per_task = np.concatenate(list(sample.map(scorer.copying.effective_votes)))
    effective_votes, effective_votes_low, effective_votes_high = error_correlation.effective_votes(votes_per_task)
    return ConfidenceBasis(
        dependence=dependence,
        rho=errors.rho,
        rho_low=0.0 if one_factor_weight is None else errors.low,
        error_correlation=error_correlation.rho,
        error_correlation_low=error_correlation.low,
        answers_per_task=blocks.n_answers / max(blocks.n_tasks, 1),
        effective_votes=effective_votes,
        effective_votes_low=effective_votes_low,
        effective_votes_high=effective_votes_high,
        one_factor_weight=one_factor_weight,
        families=members,
        is_detected=is_detected,
        known=check,
        share_right=share_right,
        n_models=n_models,
        n_workers=blocks.n_workers,
        models_by_name=models_by_name,
        alpha=alpha,
        n_tasks=blocks.n_tasks,
        n_gold=n_gold,
        right_alone=_right_alone(blocks, check, n_gold),
    )


def _right_alone(blocks: Blocks, check: GoldCheck | None, n_gold: int) -> float | None:
    """Return how many gold labels the answers alone give: by the gold check or, if it lacks gold tasks, by the vote."""
    if n_gold == 0:
        return None
    if check is not None and check.n == n_gold:
        return check.right_alone
    gold = blocks.gold_tasks()
    assert gold.gold is not None
    return count_right(ModelPosterior(PluralityScorer(1.0))(replace(gold, gold=None)), gold.gold.astype(np.int64))[0]


def _worker_estimates(
    blocks: Blocks,
    estimates: CentredEstimates,
    prediction: Prediction,
    detected_group: IntArray | None,
    priors: Priors | None,
    is_model: BoolArray | None,
) -> WorkerEstimates:
    """Return the skills of the worker table.

    Skills of detected copying workers follow from their agreement with workers outside the group. Models that answered
    no gold task get the share of their answers that equal the labels, because their skills do not show their accuracy.
    """
    table: WorkerEstimates | None = None
    if detected_group is not None:
        from quorate.skills.copying import copying_estimates

        sample = blocks.sample(MAX_SAMPLE_ANSWERS)
        table = copying_estimates(sample.answers, detected_group, sample.gold, priors)
    if table is None:
        table = estimates.skill_estimates
    table = table.with_gold(blocks, None, centred=True, is_model=is_model)
    if is_model is None:
        return table
    is_unchecked = is_model
    if table.gold_counts is not None:
        is_unchecked = is_model & ~(table.gold_counts.weight > 0)
    if not is_unchecked.any():
        return table
    (equal,) = blocks.sum(_equal_answers, prediction, blocks.n_workers)
    n = blocks.per_worker
    agreement = np.divide(equal, n, out=np.full(len(n), np.nan), where=(n > 0) & is_unchecked)
    return replace(table, agreement=agreement)


def _equal_answers(blocks: Iterable[Block], prediction: Prediction, n_workers: int) -> Sums:
    """Count the answers of each worker that equal the predicted label."""
    equal = np.zeros(n_workers)
    for block in blocks:
        equal += equal_answers(block, prediction(block).label)
    return (equal,)


def _confusion_matrices(
    blocks: Blocks, scorer: TemperedScorer, prediction: Prediction, has_gold: bool
) -> ConfusionMatrices | None:
    """Return the workers' confusion matrices under the final posterior, gold clamped; None where there are none."""
    model = scorer.models[0]
    if not isinstance(model, ConfusionModel):
        from quorate.models.abstention import WithSymbols
        from quorate.models.copying import CopyingModel

        while isinstance(model, WithSymbols):
            model = model.model
        if not isinstance(model, ConfusionModel | CopyingModel):
            return None
    if isinstance(model, ConfusionModel) and not has_gold:
        return _matrices_of(model)
    if not has_matrices(blocks):
        return None
    refitted = fit_confusion(blocks, prediction.uncalibrated, np.ones(blocks.n_workers))
    assert isinstance(refitted, ConfusionModel)
    return _matrices_of(refitted)


def _matrices_of(model: ConfusionModel) -> ConfusionMatrices:
    return ConfusionMatrices(model.theta(), dense(model.counts), np.exp(model.log_prior))


def _names(names: pa.Array | None, n: int) -> list[str]:
    """Return the names as text; numbers by default."""
    return [str(k) for k in range(n)] if names is None else [str(name) for name in names.to_pylist()]


def copying_members(groups: IntArray) -> list[IntArray]:
    """Return the workers of every group that has several.

    >>> [members.tolist() for members in copying_members(np.array([0, 1, 0]))]
    [[0, 2]]
    """
    several = np.flatnonzero(np.bincount(groups) > 1)
    return [np.flatnonzero(groups == k) for k in several]


def _member_names(groups: IntArray, worker_names: pa.Array | None) -> tuple[tuple[str, ...], ...]:
    """Return the names of the members of every group that has several."""
    names = _names(worker_names, len(groups))
    return tuple(sorted(tuple(names[w] for w in members) for members in copying_members(groups)))
