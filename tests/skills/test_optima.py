"""Which optimum: the least that 50 random starts find, on graphs that barely determine the skills."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.evaluation import simulate
from quorate.evaluation.experiments.least_loss import FAMILIES, LEAST_SQUARES, draw, least_of_starts, solve_case
from quorate.skills import Problem, Solution, coordinate_descent, from_pairs
from quorate.skills.notes import DOUBTFUL_SIGN, RIVAL
from quorate.skills.optima import PairTable, least, logarithmic_start
from tests.skills.samples import exact_problem


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "noisy"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("number", range(2))
def test_every_solver_ends_at_the_least_loss(family: str, exact: bool, number: int) -> None:
    """A part of the experiment `least-loss`, which takes 200 graphs of each kind."""
    case = draw(family, number, exact=exact, seed=5)
    lowest = least_of_starts(case, np.random.default_rng(number))
    for solver in LEAST_SQUARES:
        found, _ = solve_case(case, solver)
        assert found.converged
        assert found.loss <= lowest + 1e-6
        if exact:
            assert found.loss == pytest.approx(0.0, abs=1e-6)
    assert solve_case(case, "exponentiated")[0].converged


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_correlations_start_at_the_skills(family: str) -> None:
    """Logarithms of exact correlations are linear in those of the skills: no descent is left to do."""
    case = draw(family, 1, exact=True, seed=0)
    start = logarithmic_start(case.problem, case.pairs)
    assert case.problem.loss_and_gradient(start)[0] == pytest.approx(0.0, abs=1e-9 * case.pairs.weights.sum())


def two_cliques(joint: float) -> tuple[Problem, PairTable]:
    """Two cliques of five that hang together by one pair, 100 meetings each."""
    (i, j), skills = simulate.clique(5), np.full(10, 0.7)
    i, j = np.concatenate([i, i + 5, [0]]), np.concatenate([j, j + 5, [5]])
    correlation = skills[i] * skills[j]
    correlation[-1] = joint
    ones, weights = np.ones(10), np.full(len(i), 100.0)
    return Problem(from_pairs(10, i, j, weights, correlation), -ones, ones, ones), PairTable(i, j, weights, correlation)


@pytest.mark.parametrize(("joint", "rivals"), [(0.005, 5), (0.4, None)])
def test_two_optima_that_are_nearly_as_good_are_told(joint: float, rivals: int | None) -> None:
    """Turning one clique round costs 2·100·0.49·C: next to nothing for a correlation that says next to nothing."""
    problem, pairs = two_cliques(joint)
    found = least(problem, pairs, lambda start: coordinate_descent(problem, start))
    assert (found.rival is None) is (rivals is None)
    if found.rival is not None:
        assert found.rival.n_workers == rivals
        assert found.rival.difference == pytest.approx(1.4, abs=0.05)  # the joint draws its two a little
        assert 0 < found.rival.excess <= 2 * 100 * 0.49 * joint


def test_a_rival_and_a_sign_that_is_open_are_noted() -> None:
    """Two groups of three that met once: as good one way round as the other; and their skills may sum to nothing."""
    strong = simulate.crowd(300, 3, 3, skills=np.full(3, 0.8), seed=0).answers
    rows = {"task": [], "worker": [], "label": []}  # type: dict[str, list[str]]
    for group in "ab":
        for task, worker, label in zip(strong.task, strong.worker, strong.label, strict=True):
            rows["task"].append(f"{group}{task}")
            rows["worker"].append(f"{group}{worker}")
            rows["label"].append(str(label))
    for label, worker in (("0", "a0"), ("1", "b0")):
        rows["task"].append("joint")
        rows["worker"].append(worker)
        rows["label"].append(label)
    result = quorate.aggregate(rows, "rank-one")
    kinds = [note.kind for note in result.notes]
    assert RIVAL in kinds
    assert DOUBTFUL_SIGN in kinds
    assert result.solution is not None
    assert result.solution.to_dict()["rival"]["n_workers"] == 3
    gold = {f"{group}{t}": "0" if strong.counts[t, 0] > 1 else "1" for group in "ab" for t in range(60)}
    settled = [note.kind for note in quorate.aggregate(rows, "rank-one", gold=gold).notes]
    assert RIVAL not in settled
    assert DOUBTFUL_SIGN not in settled


def test_a_crowd_that_determines_its_skills_has_no_such_notes() -> None:
    for seed in range(10):
        notes = quorate.aggregate(simulate.crowd(300, 12, 4, seed=seed).answers, "rank-one").notes
        assert not [note for note in notes if note.kind in (RIVAL, DOUBTFUL_SIGN)]


@pytest.mark.parametrize("solver", ["coordinate", "gradient", "exponentiated"])
@pytest.mark.parametrize("signs", ["descent", "weighed", "breadth-first"])
def test_any_start_ends_at_the_same_skills(solver: str, signs: str) -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    usual = quorate.aggregate(answers, "rank-one", solver=solver, signs=signs).skills
    own = np.random.default_rng(0).uniform(0.2, 0.9, 12)
    for start in (0.9, own, own.tolist(), -own):
        found = quorate.aggregate(answers, "rank-one", solver=solver, signs=signs, start=start)
        assert found.skills == pytest.approx(usual, abs=1e-4)


def test_with_a_fixed_step_the_path_begins_at_the_start() -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    options: dict[str, Any] = {"solver": "gradient", "step": 1e-4, "record": True, "max_iterations": 3}
    solution = quorate.aggregate(answers, "rank-one", start=0.3, **options).solution
    assert solution is not None
    path = solution.trajectory
    assert path[0] == pytest.approx(np.full(12, 0.3))
    assert len(path) == 4


@pytest.mark.parametrize(
    ("start", "said"), [(np.ones(3), "each of the 12 workers, not 3"), (1.5, "not 1.5"), ([np.nan] * 12, "not nan")]
)
def test_a_start_that_is_none_is_refused(start: object, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        quorate.aggregate(simulate.crowd(300, 12, 4, seed=1).answers, "rank-one", start=start)


def test_the_lower_loss_is_kept() -> None:
    """A descent that ends higher than another is never returned, whichever came first."""
    problem = exact_problem(np.array([0.8, 0.6, 0.5, -0.4]), *simulate.clique(4), np.ones(6))
    table = problem.moments.table
    assert table is not None
    good = coordinate_descent(problem, np.array([0.8, 0.6, 0.5, -0.4]))
    bad = coordinate_descent(problem, max_iterations=1)
    for order in ([good, bad], [bad, good]):
        waiting = [*order, *[good] * 50]
        assert least(problem, PairTable(*table()), partial(_next_of, waiting)).loss == good.loss


def _next_of(waiting: list[Solution], _: FloatArray | None) -> Solution:
    return waiting.pop(0)
