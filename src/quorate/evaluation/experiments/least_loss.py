"""Whether every solver ends at the least loss: rings, stars, trees, joined cliques and grids, exact and noisy.

Beyond the paper, whose theorem promises it for exact correlations and a positive start [Ma20, Thm noiselessPGD]. Also
``python -m quorate.evaluation.experiments.least_loss [--graphs N] [--family NAME]``.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.evaluation.experiments.experiment import Claim, Experiment, Figure, Tabulation, verdict
from quorate.evaluation.experiments.figures import axis, bars
from quorate.evaluation.simulate import Edges, clique, grid, ring, star
from quorate.progress import tracked
from quorate.skills import SOLVERS, Problem, Solution, box, coordinate_descent, from_pairs
from quorate.skills.descent import descend
from quorate.skills.optima import PairTable, least

SMALLEST, LARGEST = 11, 200
STARTS, SWEEPS, ENDED = 50, 150, 4  # random starts, sweeps of each, and how many of the lowest are taken to the end
CLOSE = 1e-6  # of the least loss
CAP = 5_000  # sweeps of gradient descent alone
LEAST_SQUARES = ("coordinate", "gradient")


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    graphs: int  # of each family, exact and noisy each


FULL = Settings(200)
QUICK = Settings(2)


def tree_with_odd_cycle(n: int, rng: np.random.Generator) -> Edges:
    """Draw a tree, each worker below one that came before, and join two at an even distance."""
    parent = [int(rng.integers(0, k)) for k in range(1, n)]
    depth = np.zeros(n, dtype=int)
    for worker, above in enumerate(parent, start=1):
        depth[worker] = depth[above] + 1
    kin = {frozenset(edge) for edge in zip(parent, range(1, n), strict=True)}
    while True:
        one, two = sorted(rng.choice(n, 2, replace=False).tolist())
        if (depth[one] - depth[two]) % 2 == 0 and frozenset((one, two)) not in kin:
            return np.array([*parent, one]), np.array([*range(1, n), two])


def joined_cliques(n: int) -> Edges:
    """Join two cliques by one edge."""
    half = n // 2
    (i, j), (k, m) = clique(half), clique(n - half)
    return np.concatenate([i, k + half, [0]]), np.concatenate([j, m + half, [half]])


Draw = Callable[[int, np.random.Generator], Edges]
FAMILIES: dict[str, Draw] = {
    "ring": lambda n, _: ring(n + 1 - n % 2),
    "star with an odd cycle": lambda n, _: star(n),
    "tree with one odd cycle": tree_with_odd_cycle,
    "two cliques joined by one edge": lambda n, _: joined_cliques(n),
    "grid with one extra edge": lambda n, _: grid(round(n**0.5), n // round(n**0.5)),
}


@dataclass(frozen=True)
class Case:
    """One graph with its correlations."""

    problem: Problem
    pairs: PairTable


@dataclass(frozen=True)
class Outcome:
    """How one solver did on one graph."""

    excess: float  # of its loss over the least that was found
    converged: bool
    sweeps: int
    seconds: float


def draw(family: str, number: int, *, exact: bool, seed: int) -> Case:
    """Draw a graph of 11 to 200 workers, skills between -0.3 and 0.8, and 100 to 3,000 shared tasks an edge."""
    rng = np.random.default_rng([seed, 17, list(FAMILIES).index(family), exact, number])
    n = int(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST + 1))))
    i, j = FAMILIES[family](n, rng)
    n = int(max(i.max(), j.max())) + 1
    skills = rng.uniform(-0.3, 0.8, n)
    tasks = int(np.exp(rng.uniform(np.log(100), np.log(3_000))))
    while exact and (low := np.abs(skills) < 0.05).any():  # a skill of zero tells of nobody: the theorem excludes it
        skills[low] = rng.uniform(-0.3, 0.8, int(low.sum()))
    correlation = skills[i] * skills[j]
    if not exact:
        correlation = 2 * rng.binomial(tasks, (1 + correlation) / 2) / tasks - 1
    pairs = PairTable(i, j, np.full(len(i), float(tasks)), correlation)
    answers: IntArray = tasks * np.bincount(np.concatenate([i, j]), minlength=n)
    lower, upper = (-np.ones(n), np.ones(n)) if exact else box(answers, 2, 1.0)
    moments = from_pairs(n, i, j, pairs.weights, correlation)
    return Case(Problem(moments, lower, upper, answers.astype(np.float64)), pairs)


def solve_case(case: Case, solver: str) -> tuple[Solution, float]:
    """Solve as `rank-one` does, and time it."""
    begin = time.perf_counter()
    if solver in LEAST_SQUARES:
        found = least(case.problem, case.pairs, lambda start: SOLVERS[solver](case.problem, start))
    else:
        found = SOLVERS[solver](case.problem)
    return found, time.perf_counter() - begin


def least_of_starts(case: Case, rng: np.random.Generator) -> float:
    """Find the least loss from 50 random starts, all swept at once; the lowest few go on to the end."""
    problem, moments = case.problem, case.problem.moments
    lower, upper = problem.lower[:, None], problem.upper[:, None]
    x = rng.uniform(lower, upper, (len(lower), STARTS))
    for _ in range(SWEEPS):
        squares = moments.shared @ (x * x)
        own = np.divide(moments.signed @ x, squares, out=x.copy(), where=squares > 0)
        x = np.clip(x + (own - x) / 2, lower, upper)
    losses = [problem.loss_and_gradient(column)[0] for column in x.T]
    return min(coordinate_descent(problem, x[:, k]).loss for k in np.argsort(losses)[:ENDED])


def sweeps_of_gradient_alone(case: Case, least_loss: float) -> int:
    """Count the sweeps until gradient descent, with nothing to help it, is as close; the cap where it never is."""
    problem = case.problem
    seen: list[float] = []

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = problem.loss_and_gradient(x)
        seen.append(loss)
        return loss, gradient

    middle = problem.middle()
    descend(problem, evaluate, middle, solver="", max_iterations=CAP, tolerance=1e-9, record=False)
    close = np.flatnonzero(np.array(seen) <= least_loss + CLOSE)
    return int(close[0]) if len(close) else CAP


Results = dict[tuple[str, bool, str], list[Outcome]]
GRADIENT = "gradient alone"


def look(case: Case, results: Results, family: str, *, exact: bool, number: int) -> None:
    """Run every solver on one graph, and set each beside the least loss that any start found."""
    found = {name: solve_case(case, name) for name in SOLVERS}
    by_starts = least_of_starts(case, np.random.default_rng([number, 18]))
    lowest = min(by_starts, *(found[name][0].loss for name in LEAST_SQUARES))
    # Exponentiated gradient minimises a convex function of its own: from elsewhere it must end at the same value.
    again = SOLVERS["exponentiated"](case.problem, np.full(len(case.problem.lower), 0.9)).loss
    for name, (solution, seconds) in found.items():
        reference = lowest if name in LEAST_SQUARES else min(again, solution.loss)
        outcome = Outcome(solution.loss - reference, solution.converged, solution.iterations, seconds)
        results.setdefault((family, exact, name), []).append(outcome)
    alone = sweeps_of_gradient_alone(case, lowest)
    results.setdefault((family, exact, GRADIENT), []).append(Outcome(0.0, alone < CAP, alone, 0.0))


def measure(settings: Settings, seed: int, families: tuple[str, ...] = tuple(FAMILIES)) -> Results:
    """Run every solver on every graph."""
    results: Results = {}
    cells = [(f, exact, k) for f in families for exact in (True, False) for k in range(settings.graphs)]
    for family, exact, number in tracked("least loss", cells):
        look(draw(family, number, exact=exact, seed=seed), results, family, exact=exact, number=number)
    return results


def run(*, quick: bool, seed: int) -> Experiment:
    """Run every solver on every graph, and count how often it ends at the least loss."""
    settings = QUICK if quick else FULL
    results = measure(settings, seed)
    rows = tuple(
        (family, "exact" if exact else "noisy", name, k, o.excess, o.converged, o.sweeps)
        for (family, exact, name), outcomes in results.items()
        for k, o in enumerate(outcomes)
    )
    columns = ("graph", "correlations", "solver", "number", "excess", "converged", "sweeps")
    return Experiment(
        Tabulation("How each solver ended", columns, rows),
        (beside(results),),
        (figure(results),),
        claims(results),
        notes(settings),
    )


def figure(results: Results) -> Figure:
    """Draw the sweeps that each solver takes."""
    rows = [
        {"case": "exact" if exact else "noisy", "family": family, "solver": name}
        | {"sweeps": max(float(np.median([o.sweeps for o in each])), 1.0)}
        for (family, exact, name), each in results.items()
    ]
    spec = bars(
        rows,
        axis("x", "sweeps", "sweeps, median"),
        "family",
        "solver",
        order=[*SOLVERS, GRADIENT],
        category_order=list(FAMILIES),
        panels="case",
        panel_order=["exact", "noisy"],
    )
    return Figure("least-loss", "Sweeps of each solver over all its starts, and of gradient descent alone.", spec)


def beside(results: Results) -> Tabulation:
    """Summarise by family and solver."""
    rows = []
    for (family, exact, name), each in results.items():
        alone = results[family, exact, GRADIENT]
        ratio = float(np.median([o.sweeps for o in each]) / max(np.median([o.sweeps for o in alone]), 1))
        ended = sum(o.excess <= CLOSE for o in each)
        rows.append(
            (
                *(family, "exact" if exact else "noisy", name),
                "–" if name == GRADIENT else f"{ended} of {len(each)}",
                "–" if name == GRADIENT else f"{max(o.excess for o in each):.0e}",
                f"{sum(o.converged for o in each)} of {len(each)}",
                *(int(np.median([o.sweeps for o in each])), max(o.sweeps for o in each), ratio),
            )
        )
    columns = (
        "graph", "correlations", "solver", f"within {CLOSE:.0e} of the least loss", "greatest excess", "converged",
        "sweeps, median", "most", "median / gradient alone",
    )  # fmt: skip
    return Tabulation("Every solver, beside the least loss of 50 random starts", columns, tuple(rows))


def claims(results: Results) -> tuple[Claim, ...]:
    """Judge what the solvers promise."""
    ended = [o.excess <= CLOSE for (_, _, name), each in results.items() if name != GRADIENT for o in each]
    settled = [o.converged for (_, _, name), each in results.items() if name != GRADIENT for o in each]
    ratios = []
    for (family, exact, name), each in results.items():
        if name == "coordinate":
            alone = results[family, exact, GRADIENT]
            ratios.append(sum(o.sweeps for o in each) / max(sum(o.sweeps for o in alone), 1))
    return (
        Claim(
            "Every solver ends at the least loss that any start finds.",
            verdict(all(ended), all(settled)),
            f"{sum(ended):,} of {len(ended):,} runs end within {CLOSE:.0e} of it, and {sum(settled):,} say converged",
        ),
        Claim(
            "The default takes at most twice the sweeps of gradient descent.",
            verdict(*(ratio <= 2 for ratio in ratios)),
            f"{min(ratios):.2f} to {max(ratios):.2f} times those of gradient descent alone, by family",
        ),
    )


def notes(settings: Settings) -> tuple[str, ...]:
    """Tell the settings."""
    return (
        f"{settings.graphs} graphs of each kind, {SMALLEST} to {LARGEST} workers (evenly in the logarithm), skills "
        "uniform on [-0.3, 0.8], 100 to 3,000 shared tasks an edge. Exact correlations are the products of the skills, "
        "which are then 0.05 from zero at the least; noisy ones are counts of agreements.",
        f"The least loss is the lowest of {STARTS} random starts over the whole box, any signs, each swept {SWEEPS} "
        f"times and the lowest {ENDED} taken to the end, and of the solvers themselves.",
        "Gradient descent alone starts from one half, with the spectral step and Armijo's rule, and is stopped by an "
        f"oracle once it is within {CLOSE:.0e} of the least loss; where it never is, it counts with {CAP:,} sweeps. "
        "Sweeps of the solvers are those of all their starts; a step of Newton's up to 500 workers is solved by a "
        "factorisation and counts as the looks at the data that it takes.",
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=FULL.graphs, help="of each kind")
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append", help="all by default")
    given = parser.parse_args(arguments)
    results = measure(Settings(given.graphs), 0, tuple(given.family or FAMILIES))
    sheet = beside(results)
    for row in (sheet.columns, *sheet.rows):
        print(" | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row))
    for claim in claims(results):
        print(f"{claim.text} {claim.verdict}: {claim.evidence}")


if __name__ == "__main__":
    main()
