"""The bound on the error of the skills, and the error itself [Ma20, Theorem 12, pert and the finite-task bound].

Not in the paper, which states the bound and does not evaluate it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.runner.experiment import Claim, Experiment, Figure, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.arrays import FloatArray
from quorate.graph.pairs import correlations, pair_stats
from quorate.progress import tracked
from quorate.simulate import Edges, clique, crowd_on_graph, ring, star
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem
from quorate.skills.pgd import projected_gradient
from quorate.theory.skill_bounds import SkillBound, skill_bound

W = 11
KAPPA = 0.4
K = 0.8
DELTA = 0.05
GRAPHS: dict[str, Edges] = {"clique": clique(W), "star with a 3-cycle": star(W), "ring": ring(W)}


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    trials: int
    per_edge: tuple[int, ...]


FULL = Settings(20, (30, 100, 300, 1_000, 3_000, 10_000))
QUICK = Settings(3, (30, 300, 3_000))


@dataclass(frozen=True)
class Trial:
    """One crowd: the errors of two solvers, and the bounds of the theory."""

    graph: str
    per_edge: int
    disturbance: float  # max |C_ij - s_i s_j|
    plain: float  # ||x - s||_2 of projected gradient descent
    exponentiated: float  # of exponentiated gradient descent, which the theorem is about
    bound: SkillBound

    @property
    def given_disturbance(self) -> float:
        """The bound of the theorem for the actual disturbance."""
        return self.bound.perturbation(self.disturbance)


def run(*, quick: bool, seed: int) -> Experiment:
    """Simulate crowds of known skills, estimate, and compare."""
    settings = QUICK if quick else FULL
    cells = [(graph, n) for graph in GRAPHS for n in settings.per_edge]
    trials: list[Trial] = []
    for graph, n in tracked("error bound", cells):
        trials += [trial(graph, n, k, seed) for k in range(settings.trials)]
    rows = tuple(
        (
            *(t.graph, t.per_edge, t.disturbance, t.plain, t.exponentiated, t.given_disturbance),
            *(t.bound.finite_task_hoeffding, t.bound.finite_task, t.bound.smallest),
        )
        for t in trials
    )
    columns = (
        "graph", "tasks_an_edge", "disturbance", "error_gradient", "error_exponentiated", "bound_given_disturbance",
        "bound_hoeffding", "bound_paper", "smallest_eigenvalue",
    )  # fmt: skip
    return Experiment(
        Tabulation("Errors and bounds, one row a trial", columns, rows),
        (_beside(trials, settings),),
        (_figure(trials, settings),),
        _claims(trials),
        _notes(settings),
    )


def trial(graph: str, per_edge: int, number: int, seed: int) -> Trial:
    """Simulate one crowd on a graph, about ``per_edge`` tasks per edge, and estimate its skills."""
    rng = np.random.default_rng([seed, 10, list(GRAPHS).index(graph), per_edge, number])
    edges = GRAPHS[graph]
    skills = rng.uniform(KAPPA, K, W)
    pairs = pair_stats(crowd_on_graph(edges, skills, per_edge * len(edges[0]), seed=rng).answers)
    found = correlations(pairs, 2)
    moments = from_pairs(W, pairs.i, pairs.j, pairs.shared.astype(np.float64), found)
    problem = Problem(moments, np.full(W, KAPPA), np.full(W, K), np.ones(W))  # the cube that the theorem assumes
    exponentiated = exponentiated_gradient(problem, kappa=KAPPA, K=K)
    return Trial(
        graph,
        per_edge,
        float(np.abs(found - skills[pairs.i] * skills[pairs.j]).max()),
        _distance(projected_gradient(problem).skills, skills),
        _distance(exponentiated.skills, skills),
        skill_bound(pairs, W, 2, np.array([KAPPA, K]), delta=DELTA),
    )


def _distance(x: FloatArray, skills: FloatArray) -> float:
    return float(np.linalg.norm(x - skills))


def _beside(trials: list[Trial], settings: Settings) -> Tabulation:
    rows = []
    for graph in GRAPHS:
        for n in settings.per_edge:
            each = [t for t in trials if (t.graph, t.per_edge) == (graph, n)]
            error = float(np.median([t.exponentiated for t in each]))
            given, hoeffding, paper = (
                float(np.median(values))
                for values in (
                    [t.given_disturbance for t in each],
                    [t.bound.finite_task_hoeffding for t in each],
                    [t.bound.finite_task for t in each],
                )
            )
            rows.append(
                (
                    graph,
                    n,
                    float(np.median([t.plain for t in each])),
                    error,
                    given,
                    hoeffding,
                    paper,
                    f"{given / error:,.0f}",
                )
            )
    columns = (
        "graph", "tasks an edge", "error, gradient", "error, exponentiated", "bound for the disturbance that occurred",
        "by Hoeffding", "as the paper has it", "first bound / error",
    )  # fmt: skip
    return Tabulation("||x - s||_2 and its bounds (medians)", columns, tuple(rows))


def _figure(trials: list[Trial], settings: Settings) -> Figure:
    kinds: dict[str, Callable[[Trial], float]] = {
        "error, exponentiated": lambda t: t.exponentiated,
        "error, gradient": lambda t: t.plain,
        "bound, disturbance known": lambda t: t.given_disturbance,
        "bound, Hoeffding": lambda t: t.bound.finite_task_hoeffding,
        "bound, paper": lambda t: t.bound.finite_task,
    }
    rows = [
        {"graph": graph, "tasks": n, "what": what, "value": float(np.median(values))}
        for graph in GRAPHS
        for n in settings.per_edge
        for what, of in kinds.items()
        for values in [[of(t) for t in trials if (t.graph, t.per_edge) == (graph, n)]]
    ]
    spec = lines(
        rows,
        axis("x", "tasks", "tasks an edge", log=True),
        axis("y", "value", "||x - s||₂", log=True),
        "what",
        order=list(kinds),
        panels="graph",
        panel_order=list(GRAPHS),
        columns=3,
    )
    return Figure(
        "error-bound", "The error of the skills and three bounds on it, medians; both axes logarithmic.", spec
    )


def _claims(trials: list[Trial]) -> tuple[Claim, ...]:
    holds = [t.exponentiated <= t.given_disturbance for t in trials]
    probable = [t.exponentiated <= t.bound.finite_task_hoeffding for t in trials]
    ratios = [t.given_disturbance / t.exponentiated for t in trials]
    return (
        Claim(
            "The error of the skills is at most K sqrt(W) ||N||_inf / mu times the greatest disturbance.",
            verdict(all(holds)),
            f"in {sum(holds)} of {len(holds)} trials; the bound is {min(ratios):,.0f} to {max(ratios):,.0f} times the "
            "error",
        ),
        Claim(
            "The finite-task bound holds with probability 1 - delta.",
            verdict(float(np.mean(probable)) >= 1 - DELTA),
            f"in {sum(probable)} of {len(probable)} trials at delta = {DELTA}",
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        f"{W} workers, skills uniform on [{KAPPA}, {K}], the cube that the theorem assumes; tasks spread over the "
        f"edges at random, {settings.trials} trials. The theorem is about exponentiated gradient descent; plain "
        "gradient descent is beside it.",
        "The bound falls with tasks as the error does, as 1/sqrt(N), and agrees that the clique is the easiest graph. "
        "Its size is a worst case over all disturbances, and no guide to how many answers are needed.",
    )
