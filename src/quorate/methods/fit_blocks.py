"""Run a method over blocks: the same for answers in memory, on disk and in Spark."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from quorate.answers import Answers, Counted, check_vote_size
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import OUT_OF_CORE_METHODS, Block, Blocks, Sums
from quorate.blocks.kernels import add_chances
from quorate.blocks.memory import MAX_BLOCK_ANSWERS, MemoryBlocks, blocks_of
from quorate.errors import UnknownMethodError
from quorate.graph.components import identify
from quorate.io.gold import known_classes
from quorate.io.groups import groups_of
from quorate.io.read_table import Source
from quorate.methods.contradiction import contradiction_counts, contradiction_notes, contradiction_over_blocks
from quorate.methods.fit import Fitted, Labelling, unused_abstention_notes
from quorate.methods.registry import METHODS
from quorate.methods.support import support_of_answers, support_of_blocks
from quorate.notes import Note
from quorate.result import Result
from quorate.skills.priors import priors_of
from quorate.voting.vote import BlockVote, LabelRows, Vote, stack_votes


def block_fit(method: str) -> Callable[..., Fitted]:
    """Return the function that fits a method to blocks.

    Raises:
        UnknownMethodError: the method needs every answer in memory.

    >>> block_fit("majority").__module__
    'quorate.methods.majority'
    """
    if method not in OUT_OF_CORE_METHODS:
        names = ", ".join(OUT_OF_CORE_METHODS)
        raise UnknownMethodError(f"the method {method!r} needs every answer in memory; methods that do not are {names}")
    return METHODS[method].load()


def fit_blocks(blocks: Blocks, method: str = "quorate", crowd: Counted | None = None, **options: Any) -> Fitted:
    """Fit a method to blocks in memory, on disk or in Spark.

    Args:
        blocks: blocks of all tasks, with their gold.
        method: one of `OUT_OF_CORE_METHODS`.
        crowd: names of the workers and classes; without it, messages number them.
        options: of the method, as callers give them.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> fitted = fit_blocks(blocks_of(crowd.answers), "rank-one", crowd.answers)
    >>> labels = np.concatenate([part.label for part in fitted.labels(blocks_of(crowd.answers))])
    >>> bool((labels == quorate.aggregate(crowd.answers, "rank-one").vote.label).all())
    True
    """
    fitted = _fitted(blocks, method, crowd, **options)
    support = support_of_blocks(blocks, fitted.skill_estimates)
    notes = (*fitted.notes, *contradiction_over_blocks(blocks, fitted.vote, method), *support.notes)
    fitted = replace(fitted, notes=notes, support=support)
    if fitted.basis is None:
        return fitted
    return replace(fitted, chances=blocks.sum(_chances_of_blocks, fitted.labelling)[0])


def _chances_of_blocks(blocks: Iterable[Block], labelling: Labelling) -> Sums:
    """Sum the probability p of each worker's answers, and p (1 - p), by the posterior that gives the labels."""
    sums: FloatArray | None = None
    for block in blocks:
        sums = np.zeros((block.n_workers, 2)) if sums is None else sums
        add_chances(block, labelling.applied(labelling.vote(block), block.per_task, block.gold).posterior, sums)
    assert sums is not None  # there is at least one block, possibly empty
    return (sums,)


def aggregate_in_memory(method: str, answers: Answers, *, gold: Source = None, **options: Any) -> Result:
    """Run a method on answers in memory.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> aggregate_in_memory("majority", answers).labels["label"].to_pylist()
    ['y']
    """
    known = known_classes(gold, answers)
    blocks = blocks_of(answers, known)
    return result_in_memory(method, answers, known, _fitted(blocks, method, answers, **options))


def _fitted(blocks: Blocks, method: str, crowd: Counted | None, **options: Any) -> Fitted:
    """Fit a method, without the check whether the answers support a confidence."""
    check_vote_size(min(blocks.n_tasks, MAX_BLOCK_ANSWERS), blocks.n_classes)  # a block has at most so many tasks
    if method == "quorate" and crowd is not None:
        options = _default_options(crowd, **options)
    return block_fit(method)(blocks, **options)


def result_in_memory(method: str, answers: Answers, known: IntArray | None, fitted: Fitted) -> Result:
    """Label all tasks of answers in memory by a fitted method.

    Args:
        method: its name.
        answers: who answered what.
        known: gold class of each task, -1 where unknown; None without gold.
        fitted: what the method learned.
    """
    blocks = blocks_of(answers, known)
    assert isinstance(blocks, MemoryBlocks)
    support = support_of_answers(answers, known, fitted.skill_estimates)
    labelling = replace(fitted.labelling, support=support)
    chances = None if fitted.basis is None else np.zeros((answers.n_workers, 2))
    rows, notes = _label_tasks(blocks, labelling, method, chances)
    return Result(
        method=method,
        info=answers,
        label_source=BlockVote(rows, partial(_complete_vote, answers, known, labelling), chances),
        skill_estimates=fitted.skill_estimates,
        identifiability=identify(answers) if fitted.identifiability is None else fitted.identifiability,
        gold=known,
        fitted_confusion=fitted.fitted_confusion,
        confidence_basis=fitted.basis,
        notes=(*fitted.notes, *notes, *unused_abstention_notes(answers), *support.notes),
    )


def _label_tasks(
    blocks: MemoryBlocks, labelling: Labelling, method: str, chances: FloatArray | None
) -> tuple[LabelRows, tuple[Note, ...]]:
    """Label the tasks block by block; return the labels, and a note if they contradict the votes.

    Args:
        blocks: all tasks.
        labelling: how they are labelled.
        method: its name, for the note.
        chances: array to which the sums of `Vote.chances` are added block by block, which avoids storing the posterior
            of all tasks; None for no sums.
    """
    n_tasks = blocks.n_tasks
    all_rows: LabelRows | None = None
    counts = np.zeros(5)
    done = 0
    labelled = blocks.map(_labelled_block, labelling, method)
    for block, (rows, posterior, counted) in zip(blocks.pieces, labelled, strict=True):
        counts += counted
        if chances is not None:
            add_chances(block, posterior, chances)
        if len(rows.label) == n_tasks:
            all_rows = rows
            break
        if all_rows is None:
            all_rows = LabelRows(
                label=np.empty(n_tasks, rows.label.dtype),
                confidence=np.empty(n_tasks),
                margin=np.empty(n_tasks),
                n_answers=np.zeros(0, np.int64),
                tied=np.empty(n_tasks, dtype=bool),
                extra_columns={name: np.empty(n_tasks) for name in rows.extra_columns},
            )
        span = slice(done, done + len(rows.label))
        for name in ("label", "confidence", "margin", "tied"):
            getattr(all_rows, name)[span] = getattr(rows, name)
        for name, values in rows.extra_columns.items():
            all_rows.extra_columns[name][span] = values
        done += len(rows.label)
    assert all_rows is not None  # there is a block
    return all_rows, contradiction_notes(counts, blocks.n_classes, method)


def _labelled_block(block: Block, labelling: Labelling, method: str) -> tuple[LabelRows, FloatArray, FloatArray]:
    vote = labelling.vote(block)
    applied = labelling.applied(vote, block.per_task, block.gold)
    return labelling.rows_of(block, applied), applied.posterior, contradiction_counts(block, vote.label, method)


def _complete_vote(
    answers: Answers, known: IntArray | None, labelling: Labelling, tasks: IntArray | None = None
) -> Vote:
    """Return the vote on all tasks, or on `tasks`, with the scores and the posterior of every class."""
    if tasks is not None:
        is_chosen = np.zeros(answers.n_tasks, dtype=bool)
        is_chosen[tasks] = True
        known = None if known is None else known[tasks]
        answers = answers.only(is_chosen)
    answers.check_cells()
    vote = stack_votes(blocks_of(answers, known).map(labelling.vote), answers.n_tasks)
    return labelling.applied(vote, answers.per_task, known)


def _default_options(
    crowd: Counted, *, group: Any = None, skills: Any = None, judges: bool | None = None, **options: Any
) -> dict[str, Any]:
    """Return the options of the default method: groups and skills by worker code, models recognised by name."""
    names = crowd.worker_names
    if isinstance(crowd, Answers):
        judges = crowd.judges if judges is None else judges
    from quorate.io.model_names import models_of, repeated_calls

    models = models_of(crowd, judges)
    codes = crowd.group if isinstance(crowd, Answers) else None
    if group is not None:
        codes = groups_of(group, crowd)
    if codes is None and models is not None:
        codes = repeated_calls(names.to_pylist())
    return {
        **options,
        "group": codes,
        "skills": priors_of(skills.workers if isinstance(skills, Result) else skills, names, crowd.classes),
        "models": models,
        "classes": crowd.classes,
        "worker_names": names,
    }
