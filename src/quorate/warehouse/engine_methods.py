"""The methods that run inside an engine: each finds the weights of the votes, and what to say of the workers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quorate.answers import Roster
from quorate.meetings.graph import Identifiability
from quorate.methods.iwmv import not_settled
from quorate.methods.outcome import workforce_of
from quorate.result import Result
from quorate.skills.notes import Note, orientation_note, undetermined_note
from quorate.skills.solve import solve
from quorate.uncertainty import Workforce
from quorate.uncertainty.intervals import IntervalChoice
from quorate.voting.vote import skill_of, vote_weights
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.counted_pairs import BIG_TASK, count_pairs
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold
from quorate.warehouse.engine_iwmv import VOTES, vote_again
from quorate.warehouse.engine_labels import EngineLabels
from quorate.warehouse.engine_vote import Weighing
from quorate.warehouse.inference import PairInference, square_sums
from quorate.warehouse.pair_evidence import evidence_of
from quorate.warehouse.roster import with_pairs


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Everything but the vote."""

    roster: Roster
    weighing: Weighing
    workforce: Workforce
    graph: Identifiability | None = None  # None where the method counts no pairs
    inference: PairInference | None = None  # can still ask the engine; what the workforce has of it need not
    notes: tuple[Note, ...] = ()

    def result(self, method: str, vote: EngineLabels, choice: IntervalChoice) -> Result:
        """Put a result together."""
        return Result(
            method=method,
            roster=self.roster,
            vote=vote,
            workforce=self.workforce,
            graph=self.graph,
            notes=self.notes,
            interval_choice=choice,
        )


def majority(home: Engine, found: Cleaned, gold: EngineGold | None) -> Judged:
    """Let every vote count the same.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> home, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> majority(home, clean(home, source), None).workforce.weights.tolist()
    [1.0, 1.0, 1.0]
    """
    workforce = workforce_of(found.roster.per_worker, None)
    return Judged(roster=found.roster, weighing=Weighing(workforce.weights, log_odds=False), workforce=workforce)


def iwmv(home: Engine, found: Cleaned, gold: EngineGold | None, *, max_iterations: int = VOTES) -> Judged:
    """Weigh each worker by M·w - 1, w its share of agreement with the labels, a few times over.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> home, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> iwmv(home, clean(home, source), None).workforce.weights.tolist()
    [1.0, 1.0, -1.0]
    """
    roster, last = found.roster, vote_again(home, found, gold, max_iterations=max_iterations)
    skills, weights = None, None
    if roster.n_classes > 1:
        skills, weights = skill_of(last.agreement, roster.n_classes), roster.n_classes * last.agreement - 1
    return Judged(
        roster=roster,
        weighing=last.vote,
        workforce=workforce_of(roster.per_worker, skills, weights),
        notes=() if last.settled else (not_settled(max_iterations),),
    )


def rank_one(
    home: Engine,
    found: Cleaned,
    gold: EngineGold | None,
    *,
    big_task: int = BIG_TASK,
    with_intervals: bool = True,
    weighting: str = "shared",
    threshold: float | None = None,
    **options: Any,
) -> Judged:
    """Count the pairs in the engine, and solve here.

    Args:
        home: where the answers are.
        found: the answers.
        gold: known labels, if there are any.
        big_task: tasks with more answers stay out of the join.
        with_intervals: ask the engine for what they need, too.
        weighting: of the pairs.
        threshold: below which a pair's correlation does not count.
        options: as `quorate.skills.solve.solve`.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> home, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> rank_one(home, clean(home, source), None).graph.identifiable.tolist()
    [True]
    """
    roster, n_gold = found.roster, 0 if gold is None else gold.n_tasks
    counted = count_pairs(home, found, gold, big_task=big_task)
    evidence = evidence_of(roster, counted, n_gold, weighting=weighting, threshold=threshold)
    estimate = solve(evidence, **options)
    skills, status = estimate.skills[: roster.n_workers], estimate.status[: roster.n_workers]
    weights = vote_weights(roster, skills)
    inference = None
    if estimate.solution is not None and with_intervals:
        inference = PairInference(
            estimate.skills,
            evidence.moments if evidence.chosen is None else evidence.all_moments(),
            evidence.per_worker,
            partial(square_sums, home, found, gold=gold),
            roster.n_classes,
            roster.n_answers + n_gold,
        )
    # Where no skill is determined, the plain majority decides.
    is_lost = np.isnan(skills).all()
    return Judged(
        roster=with_pairs(roster, counted),
        weighing=Weighing(np.ones(roster.n_workers) if is_lost else weights, log_odds=not is_lost),
        workforce=Workforce(
            skills=skills,
            weights=weights,
            status=status,
            solution=estimate.solution,
            signs=estimate.signs,
            inference=None if inference is None else inference.scored(),
        ),
        graph=evidence.verdict,
        inference=inference,
        notes=(*undetermined_note(status), *orientation_note(evidence), *estimate.notes),
    )
