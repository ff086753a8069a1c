"""Skills and their signs together."""

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.arrays import FloatArray, IntArray
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats, correlations, pair_stats
from quorate.skills.estimate_skills import solve_signed
from quorate.skills.identification import Identification, identify_workers
from quorate.skills.moments import from_pairs
from quorate.skills.solvers import SOLVERS
from tests.crowds import connected_odd_graph, signed_skills
from tests.skills.samples import TIGHT, exact_problem, noisy_problem


class ExactIdentification(Identification):
    """Identification whose table holds exact correlations, which no count of answers does."""

    def __init__(self, skills: FloatArray, i: IntArray, j: IntArray, weights: FloatArray) -> None:
        pairs = PairStats.linked(i, j)
        n = len(skills)
        super().__init__(
            np.ones(n, np.int64),
            2,
            np.zeros(n, dtype=bool),
            pairs,
            "shared",
            identify_pairs(pairs, n),
            len(i),
            lambda: pairs,
            lambda: from_pairs(n, i, j, weights, skills[i] * skills[j]),
        )
        self.__dict__["table"] = (i, j, weights, skills[i] * skills[j])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rule", ["descent", "weighed", "breadth-first"])
@pytest.mark.parametrize("seed", range(25))
def test_signs_are_recovered_too(solver: str, rule: str, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(3, 13))
    i, j = connected_odd_graph(n, rng)
    skills = signed_skills(n, rng)
    weights = rng.integers(1, 20, len(i)).astype(float)
    problem = exact_problem(skills, i, j, weights)
    solution, signs = solve_signed(
        problem, ExactIdentification(skills, i, j, weights), solver=solver, rule=rule, **TIGHT
    )
    assert solution.skills == pytest.approx(skills, abs=1e-6)
    assert signs is not None
    assert signs.contradicted == 0


def test_two_groups_of_opposite_sign_joined_by_one_pair_are_distinguished() -> None:
    """From a positive start, descent ends in a local minimum here; the signs of the pairs lead out of it."""
    i, j = np.array([0, 0, 1, 3, 3, 4, 2]), np.array([1, 2, 2, 4, 5, 5, 3])
    skills = np.array([0.9, 0.8, 0.7, -0.6, -0.5, -0.6])
    weights = np.array([50.0, 50, 50, 50, 50, 50, 1])
    problem = exact_problem(skills, i, j, weights)
    assert SOLVERS["coordinate"](problem, **TIGHT).loss > 0.01
    solution, _ = solve_signed(problem, ExactIdentification(skills, i, j, weights), **TIGHT)
    assert solution.skills == pytest.approx(skills, abs=1e-6)


def test_the_signs_tell_how_much_of_the_evidence_contradicts_them() -> None:
    """The share of N_ij |C_ij x_i x_j| whose correlation has not the sign of x_i x_j, by a loop over pairs."""
    crowd = simulate.crowd(60, 10, 3, skills=np.linspace(-0.3, 0.6, 10), seed=2)
    identification, problem = identify_workers(crowd.answers), noisy_problem(crowd)
    solution, signs = solve_signed(problem, identification)
    pairs = pair_stats(crowd.answers)
    total = against = 0.0
    for i, j, n, c in zip(pairs.i, pairs.j, pairs.shared, correlations(pairs, 2), strict=True):
        weight = n * abs(c * solution.skills[i] * solution.skills[j])
        total += weight
        against += weight * (c * solution.skills[i] * solution.skills[j] < 0)
    assert signs is not None
    assert signs.contradicted == pytest.approx(against / total)
    assert signs.contradicted > 0.01


def test_signs_are_checked_where_there_is_a_pair_table(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.crowd(60, 10, 3, seed=2)
    problem, identification = noisy_problem(crowd), identify_workers(crowd.answers)
    n_pairs = 10 * 9 // 2
    monkeypatch.setattr("quorate.skills.identification.MAX_PAIRS", n_pairs)
    assert solve_signed(problem, identification)[1] is not None
    monkeypatch.setattr("quorate.skills.identification.MAX_PAIRS", n_pairs - 1)
    assert solve_signed(problem, identification, solver="coordinate")[1] is None


@pytest.mark.parametrize("rule", ["descent", "weighed", "breadth-first"])
@pytest.mark.parametrize("turn", [1, -1])
def test_known_labels_say_which_way_round_a_crowd_is(rule: str, turn: int) -> None:
    """Most are wrong, whichever comes first, where the signs are spread from."""
    skills = np.array([0.8, -0.7, -0.8, -0.6, 0.5, -0.7])[::turn]
    crowd = simulate.crowd(200, 6, 4, skills=skills, seed=3)
    known = {row["task"]: row["label"] for row in crowd.truth_table.to_pylist()[:40]}
    found = quorate.aggregate(crowd.answers, "rank-one", signs=rule, gold=known).skills
    assert np.sign(found).tolist() == np.sign(skills).tolist()
