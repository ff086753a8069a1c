"""Learnability: the same skills on a bipartite graph, and with one edge added [Ma20, Theorem 8, learnability].

Not in the paper, which proves this without an experiment.
"""

from dataclasses import dataclass

import numpy as np

from experiments.paper.rivals import vote_error
from experiments.runner.experiment import Claim, Experiment, Figure, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.arrays import FloatArray
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats
from quorate.methods.aggregate import aggregate
from quorate.progress import tracked
from quorate.simulate import Edges, crowd_on_graph, ring
from quorate.skills.coordinate import coordinate_descent
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem

W = 10  # an even ring has no odd cycle
TASKS = 20_000
DIGITS = 9  # smaller differences are rounding errors, which differ between machines
EVEN = "ring of ten, bipartite"
ODD = "the same with one edge added"


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    starts: int
    scales: tuple[float, ...] = tuple(np.linspace(0.7, 1.4, 29).round(3).tolist())


FULL = Settings(8)
QUICK = Settings(4)


@dataclass(frozen=True)
class Fit:
    """Result of the solver from one start."""

    graph: str
    start: str
    loss: float
    off: float  # ||x - s||_inf
    scale: float  # factor of the skills of the first side, and divisor of those of the other


def graphs() -> dict[str, Edges]:
    """Return the two graphs; the edge that is added joins two workers of the same side."""
    i, j = ring(W)
    return {EVEN: (i, j), ODD: (np.append(i, 0), np.append(j, 2))}


def problem_of(edges: Edges, skills: FloatArray) -> Problem:
    """Return the problem with exact correlations."""
    i, j = edges
    ones = np.ones(len(skills))
    return Problem(from_pairs(len(skills), i, j, np.ones(len(i)), skills[i] * skills[j]), -ones, ones, ones)


def stretched(skills: FloatArray, scale: float) -> FloatArray:
    """Multiply the skills of one side of the ring, and divide those of the other: no product along the ring changes."""
    return np.where(np.arange(len(skills)) % 2 == 0, skills * scale, skills / scale)


def run(*, quick: bool, seed: int) -> Experiment:
    """Solve from several starts on both graphs, and move along the solutions that fit equally well."""
    settings = QUICK if quick else FULL
    rng = np.random.default_rng([seed, 8])
    skills = rng.uniform(0.4, 0.7, W)
    starts = {f"{value:g} everywhere": np.full(W, value) for value in (0.3, 0.9)}
    starts |= {f"random {k + 1}": rng.uniform(0.1, 0.9, W) for k in range(settings.starts)}
    fits = []
    for graph, edges in graphs().items():
        for name, start in tracked("learnability", list(starts.items())):
            fits.append(_fit(graph, problem_of(edges, skills), name, start, skills))
    along = [
        (graph, scale, round(abs(problem_of(edges, skills).loss_and_gradient(stretched(skills, scale))[0]), DIGITS))
        for graph, edges in graphs().items()
        for scale in settings.scales
    ]
    voted = _votes(skills, settings, seed)
    table = tuple((fit.graph, fit.start, fit.loss, fit.off, fit.scale) for fit in fits)
    columns = ("graph", "start", "loss", "largest_error", "scale")
    return Experiment(
        Tabulation("Where the solver ends", columns, table),
        (_fits_beside(fits), voted, _verdicts(skills, seed)),
        (_figure(along),),
        _claims(fits),
        _notes(),
    )


def _fit(graph: str, problem: Problem, name: str, start: FloatArray, skills: FloatArray) -> Fit:
    found = coordinate_descent(problem, start, tolerance=1e-12, max_iterations=20_000)
    ratio = found.skills / skills
    off = float(np.abs(found.skills - skills).max())
    return Fit(graph, name, *(round(value, DIGITS) for value in (abs(found.loss), off, float(ratio[0]))))


def _fits_beside(fits: list[Fit]) -> Tabulation:
    rows = [(fit.graph, fit.start, f"{fit.loss:.9f}", f"{fit.off:.4f}", f"{fit.scale:.4f}") for fit in fits]
    columns = ("graph", "start", "loss", "largest error of a skill", "first side stretched by")
    return Tabulation("Where the solver ends, on exact correlations", columns, tuple(rows))


def _votes(skills: FloatArray, settings: Settings, seed: int) -> Tabulation:
    """Vote on the bipartite graph with solutions that fit equally well: their labels differ."""
    simulated = crowd_on_graph(graphs()[EVEN], skills, TASKS, seed=np.random.default_rng([seed, 9]))
    problem = problem_of(graphs()[EVEN], skills)
    scales = (settings.scales[0], 0.85, 1.0, 1.2, settings.scales[-1])
    rows = []
    for scale in scales:
        estimated = stretched(skills, scale)
        rows.append((scale, f"{abs(problem.loss_and_gradient(estimated)[0]):.9f}", vote_error(simulated, estimated)))
    columns = ("one side stretched by", "loss", "error of the vote")
    return Tabulation(
        f"They fit alike and do not label alike ({TASKS:,} tasks, two answers each)", columns, tuple(rows)
    )


def _verdicts(skills: FloatArray, seed: int) -> Tabulation:
    rows = []
    for graph, edges in graphs().items():
        i, j = edges
        component = next(identify_pairs(PairStats.linked(i, j), W).components())
        simulated = crowd_on_graph(edges, skills, TASKS, seed=np.random.default_rng([seed, 9]))
        result = aggregate(simulated.answers, "rank-one")
        known = ~np.isnan(result.skills)
        off = f"{np.abs(result.skills - skills)[known].max():.3f}" if known.any() else "–"
        witness = f"odd cycle {component.odd_cycle}" if component.odd_cycle else f"sides {component.sides}"
        rows.append((graph, witness, f"{known.sum()} of {W}", off))
    columns = ("graph", "witness", "skills determined", "largest error")
    return Tabulation(f"What `rank-one` says of {TASKS:,} simulated tasks", columns, tuple(rows))


def _figure(along: list[tuple[str, float, float]]) -> Figure:
    rows = [{"graph": graph, "scale": scale, "loss": loss} for graph, scale, loss in along]
    spec = lines(
        rows,
        axis("x", "scale", "one side's skills times this, the other's divided by it"),
        axis("y", "loss", "loss"),
        "graph",
        order=(EVEN, ODD),
        points=False,
    )
    caption = "The loss along a line of solutions: flat at zero on the bipartite graph, one minimum with an edge more."
    return Figure("learnability", caption, spec)


def _claims(fits: list[Fit]) -> tuple[Claim, ...]:
    even = [fit for fit in fits if fit.graph == EVEN]
    odd = [fit for fit in fits if fit.graph == ODD]
    scales = [fit.scale for fit in even]
    return (
        Claim(
            "Without an odd cycle the skills are not determined; with one they are.",
            verdict(
                all(fit.loss == 0 for fit in even) and max(scales) - min(scales) > 0.01,
                all(fit.off < 1e-3 for fit in odd),
            ),
            f"bipartite: {len(even)} starts end at a loss below 1e-9 with one side stretched by {min(scales):.2f} to "
            f"{max(scales):.2f}; with one edge more all end within 0.001 of the skills",
        ),
    )


def _notes() -> tuple[str, ...]:
    return (
        f"{W} workers on an even ring, skills uniform on [0.4, 0.7], exact correlations, coordinate descent. The edge "
        "that is added joins the first and the third worker, which closes a triangle.",
        "Stretch one side and shrink the other by the same factor: no product along an edge changes, so no amount of "
        "answers tells such solutions apart. They weigh the two workers of a task differently, and so label "
        "differently.",
    )
