"""Two readings of an experiment in which a graph limits the pairs of workers: whether it also limits the votes.

The paper says that sparsification leaves "fewer availability of tasks for training". So either the answers off the
graph do not exist, and those on it are used for training and votes; or all answers vote, and the graph limits only the
pairs for training. Methods that do not use pairs are trained on the answers on the graph in both readings.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from experiments.paper.rivals import PAIRED, RIVALS
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import QuorateError
from quorate.evaluation.compare import parse_method
from quorate.evaluation.metrics import credit
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats, pair_stats
from quorate.methods.aggregate import aggregate, majority_vote
from quorate.result import Result
from quorate.simulate import Edges
from quorate.skills.estimate_skills import solve
from quorate.skills.identification import identify_workers
from quorate.voting.vote import vote_weights, weighted_majority

LIMITED = "the graph limits training and votes"
ALL_VOTE = "the graph limits training, all answers vote"
READINGS = (LIMITED, ALL_VOTE)
SHORT = {LIMITED: "two answers per task", ALL_VOTE: "all answers"}
Errors = dict[tuple[str, str], float | None]  # (reading, method) -> error; None if the method failed


def on_edges(answers: Answers, edges: Edges, rng: np.random.Generator) -> Answers:
    """Return the answers of the two workers of one edge per task; every edge is used once before any is used twice.

    >>> from quorate.simulate import crowd, ring
    >>> on_edges(crowd(10, 5, 5, seed=0).answers, ring(5), np.random.default_rng(0)).per_worker.tolist()
    [4, 4, 4, 4, 4]
    """
    i, j = edges
    n = answers.n_tasks
    edge = np.concatenate([rng.permutation(len(i)) for _ in range(-(-n // len(i)))])[:n]
    mine = edge[answers.task]
    return answers.where((answers.worker == i[mine]) | (answers.worker == j[mine]))


def pairs_on(answers: Answers, edges: Edges) -> PairStats:
    """Return the pairs of these edges, counted over all tasks that the two workers share."""
    pairs = pair_stats(answers)
    n = answers.n_workers
    wanted = np.isin(pairs.i * n + pairs.j, np.minimum(*edges) * n + np.maximum(*edges))
    return chosen_pairs(pairs, wanted)


def chosen_pairs(pairs: PairStats, wanted: BoolArray) -> PairStats:
    """Return some of the pairs."""
    return PairStats(pairs.i[wanted], pairs.j[wanted], pairs.shared[wanted], pairs.agreed[wanted])


def weights_from(answers: Answers, pairs: PairStats, spec: str) -> FloatArray:
    """Return vote weights from the skills of these pairs alone; equal weights if no skill is determined."""
    _, options = parse_method(spec)
    identification = identify_workers(answers)
    identification = replace(
        identification, chosen=pairs, graph=identify_pairs(pairs, answers.n_workers, identification.is_gold)
    )
    skills = solve(identification, **options).skills
    return np.ones(answers.n_workers) if np.isnan(skills).all() else vote_weights(answers, skills)


def error_of(answers: Answers, true: IntArray, weights: FloatArray) -> float:
    """Return the error of a weighted vote, exact ties split evenly; tasks without a true class (-1) are left out."""
    voted = replace(majority_vote(answers), label_source=weighted_majority(answers, weights))
    return wrong(voted, true)


def wrong(result: Result, true: IntArray) -> float:
    """Return the share of wrong labels of a result, exact ties split evenly."""
    return float(1 - credit(result, true)[true != -1].mean())


def both_errors(
    part: Answers,
    all_answers: Answers,
    pairs: PairStats,
    true: IntArray,
    *,
    seed: int,
    rivals: Mapping[str, str] = RIVALS,
) -> Errors:
    """Run every method once on the answers on the graph, and score it under both readings.

    Args:
        part: the answers on the graph.
        all_answers: every answer.
        pairs: those on the graph, for the methods that use pairs; counted over all answers.
        true: the class of each task, -1 where unknown.
        seed: for the methods that draw random numbers.
        rivals: the methods, by their names in tables.
    """
    found: Errors = {}
    for name, spec in rivals.items():
        method, options = parse_method(spec)
        if method in ("opt-ds", "kos", "m3v"):
            options = {"seed": seed, **options}
        try:
            result = aggregate(part, method, **options)
            weights = weights_from(all_answers, pairs, spec) if name in PAIRED else result.skill_estimates.weights
            found[LIMITED, name] = wrong(result, true)
            found[ALL_VOTE, name] = error_of(all_answers, true, np.nan_to_num(weights))
        except (QuorateError, ArithmeticError, ValueError, np.linalg.LinAlgError):
            found[LIMITED, name] = found[ALL_VOTE, name] = None
    return found
