"""The time of an iteration by workers, tasks and maximum degree [Ma20, Table 6, timecomplexity].

Seconds differ between machines and runs, so they are in separate files; sizes, orders and numbers of iterations do not
differ.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.runner.experiment import Claim, Experiment, Figure, Measured, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.answers import Answers
from quorate.graph.pairs import correlations, pair_stats
from quorate.methods.aggregate import aggregate
from quorate.progress import tracked
from quorate.simulate import answer, crowd, draw_workers
from quorate.skills.moments import Moments, from_answers, from_pairs
from quorate.skills.objective import Problem, box
from quorate.skills.pgd import lipschitz_step, projected_gradient
from quorate.voting.vote import vote_weights, weighted_majority


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    repeats: int  # number of runs, of which the fastest counts
    tasks: tuple[int, ...]
    workers: tuple[int, ...]
    windows: tuple[int, ...]
    windowed_tasks: int = 20_000


FULL = Settings(7, (1_000, 2_000, 4_000, 8_000, 16_000), (50, 100, 200, 400, 800), (8, 16, 32, 64, 128, 256))
QUICK = Settings(2, (1_000, 4_000, 16_000), (50, 200, 800), (8, 32, 128))

BY_TASKS = "PGD, sums over tasks (ours)"
BY_PAIRS = "PGD, table of pairs"
IWMV = "IWMV"
M3V = "M3V"
TIMED = (BY_TASKS, BY_PAIRS, IWMV, M3V)
SCANS = ("tasks", "workers", "maximum degree")


@dataclass(frozen=True)
class Point:
    """A crowd of one size, and the orders of complexity for it."""

    scan: str
    answers: Answers
    n_pairs: int
    max_degree: int

    @property
    def value(self) -> int:
        """The value of the quantity that the scan varies."""
        return {SCANS[0]: self.answers.n_tasks, SCANS[1]: self.answers.n_workers, SCANS[2]: self.max_degree}[self.scan]

    @property
    def orders(self) -> dict[str, int]:
        """Return the quantities to which the time of an iteration is proportional, by the paper and by our count."""
        w = self.answers.n_workers
        t = self.answers.n_tasks
        return {BY_TASKS: self.answers.n_answers, BY_PAIRS: self.max_degree * w, IWMV: t * w, M3V: w * w * t}


ORDERS = {BY_TASKS: "O(answers)", BY_PAIRS: "O(D_max W)", IWMV: "O(TW)", M3V: "O(W²T)"}


def run(*, quick: bool, seed: int) -> Experiment:
    """Time single iterations on crowds of which one quantity grows at a time, and count iterations to convergence."""
    settings = QUICK if quick else FULL
    points = crowds(settings, seed)
    seconds: dict[tuple[int, str], float] = {}
    for number, point in tracked("time complexity", list(enumerate(points))):
        for name, per_iteration in TIMERS.items():
            seconds[number, name] = per_iteration(point.answers, settings.repeats)
    iterations = [count_iterations(point) for point in points if point.scan == "tasks"]
    rows = tuple(
        (
            p.scan,
            p.answers.n_tasks,
            p.answers.n_workers,
            p.answers.n_answers,
            p.n_pairs,
            p.max_degree,
            *p.orders.values(),
        )
        for p in points
    )
    columns = (
        "scan",
        "tasks",
        "workers",
        "answers",
        "pairs",
        "maximum_degree",
        "answers_order",
        "D_max_W",
        "T_W",
        "W2_T",
    )
    return Experiment(
        Tabulation("Sizes and orders", columns, rows),
        (_orders_beside(points), _iterations_beside(iterations)),
        (_figure("time-complexity", points, None),),
        _claims(iterations),
        _notes(settings),
        _measured(points, seconds),
    )


def crowds(settings: Settings, seed: int) -> list[Point]:
    """Simulate the crowds: more tasks, more workers, or workers with more peers, all else equal."""
    rng = np.random.default_rng([seed, 11])
    drawn: list[tuple[str, Answers]] = []
    for n in settings.tasks:
        drawn.append((SCANS[0], crowd(n, 100, 10, skills=rng.uniform(0, 0.4, 100), seed=rng).answers))
    for w in settings.workers:
        drawn.append((SCANS[1], crowd(4_000, w, 10, skills=rng.uniform(0, 0.4, w), seed=rng).answers))
    drawn += [(SCANS[2], windowed(window, rng, settings.windowed_tasks)) for window in settings.windows]
    points = []
    for scan, answers in drawn:
        pairs = pair_stats(answers)
        degree = int(np.bincount(np.concatenate([pairs.i, pairs.j])).max())
        points.append(Point(scan, answers, len(pairs), degree))
    return points


def windowed(window: int, rng: np.random.Generator, n_tasks: int, n_workers: int = 400) -> Answers:
    """Assign each task to four of ``window`` neighbours on a circle of workers."""
    offset = draw_workers(n_tasks, window, 4, rng=rng)
    workers = (rng.integers(0, n_workers, n_tasks)[:, None] + offset) % n_workers
    skills = rng.uniform(0, 0.4, n_workers)
    return answer(np.repeat(np.arange(n_tasks), 4), workers.ravel(), skills, n_tasks, 2, None, rng).answers


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the smallest CPU seconds of several runs, without idle helper threads."""
    taken = []
    for _ in range(repeats):
        started = time.thread_time()
        work()
        taken.append(time.thread_time() - started)
    return min(taken)


def _of_descent(answers: Answers, moments: Moments, repeats: int) -> float:
    problem = Problem(moments, *box(answers.per_worker, 2, 1.0), answers.per_worker.astype(np.float64))
    # Few iterations, so that no tolerance is reached.
    step = lipschitz_step(moments) / 100
    n = 20
    work = partial(projected_gradient, problem, step=step, tolerance=0.0, max_iterations=n)
    return best_seconds(work, repeats) / (n + 1)  # + 1: the start is also evaluated


def _by_tasks(answers: Answers, repeats: int) -> float:
    return _of_descent(answers, from_answers(answers), repeats)


def _by_pairs(answers: Answers, repeats: int) -> float:
    pairs = pair_stats(answers)
    weights = pairs.shared.astype(np.float64)
    return _of_descent(
        answers, from_pairs(answers.n_workers, pairs.i, pairs.j, weights, correlations(pairs, 2)), repeats
    )


def _iwmv(answers: Answers, repeats: int) -> float:
    short = 1
    long = min(6, votes_needed(answers))
    times = [best_seconds(partial(aggregate, answers, "iwmv", max_iterations=n), repeats) for n in (short, long)]
    return max(times[1] - times[0], 0.0) / (long - short)


def _m3v(answers: Answers, repeats: int) -> float:
    return best_seconds(lambda: aggregate(answers, "m3v", sweeps=5, burn_in=0), repeats) / 5


TIMERS: dict[str, Callable[[Answers, int], float]] = {BY_TASKS: _by_tasks, BY_PAIRS: _by_pairs, IWMV: _iwmv, M3V: _m3v}


def votes_needed(answers: Answers, most: int = 100) -> int:
    """Return the number of votes of IWMV until its labels do not change; IWMV has a note if they do not converge."""
    return next((n for n in range(2, most) if not aggregate(answers, "iwmv", max_iterations=n).notes), most)


def count_iterations(point: Point) -> tuple[int, int, int, int]:
    """Return the numbers of iterations until the labels do not change: tasks, PGD, gradient flow, IWMV."""
    steps = [labels_stand_still(point.answers, solver) for solver in ("gradient", "flow")]
    return point.answers.n_tasks, steps[0], steps[1], votes_needed(point.answers)


def labels_stand_still(answers: Answers, solver: str) -> int:
    """Return the first iteration after which no label changes until the end of the run."""
    solution = aggregate(answers, "rank-one", solver=solver, record=True, intervals="none").solution
    assert solution is not None  # these crowds determine their skills
    path = solution.trajectory
    last = weighted_majority(answers, vote_weights(answers, path[-1])).label
    for step in range(len(path) - 1, -1, -1):
        if not np.array_equal(weighted_majority(answers, vote_weights(answers, path[step])).label, last):
            return step + 1
    return 0


def slope(points: list[Point], values: list[float]) -> float:
    """Fit values ~ (place on the scan)^slope."""
    logs = np.log(np.maximum(values, 1e-9))
    fitted = float(np.polyfit(np.log([point.value for point in points]), logs, 1)[0])
    return round(fitted, 2) + 0.0  # never -0.00


def _orders_beside(points: list[Point]) -> Tabulation:
    rows = []
    for scan in SCANS:
        chosen = [point for point in points if point.scan == scan]
        exponents = [slope(chosen, [float(p.orders[name]) for p in chosen]) for name in TIMED]
        rows.append(
            (
                scan,
                f"{chosen[0].value:,} to {chosen[-1].value:,}",
                *(f"{each:.2f}" for each in exponents),
            )
        )
    columns = ("what grows", "from, to", *(f"{ORDERS[name]}, {name}" for name in TIMED))
    return Tabulation("Exponent of each order on each scan: cost grows as size to this power", columns, tuple(rows))


def _iterations_beside(iterations: list[tuple[int, int, int, int]]) -> Tabulation:
    columns = ("tasks", "PGD", "gradient flow (rank-one)", "IWMV", "M3V (fixed)")
    return Tabulation("Iterations until no label changes any more", columns, tuple((*each, 50) for each in iterations))


def _figure(name: str, points: list[Point], seconds: dict[tuple[int, str], float] | None) -> Figure:
    rows = []
    for number, point in enumerate(points):
        for method in TIMED:
            value = point.orders[method] if seconds is None else max(seconds[number, method], 1e-6)
            rows.append({"scan": point.scan, "size": point.value, "method": method, "value": value})
    label = "operations, by the orders" if seconds is None else "CPU seconds an iteration"
    spec = lines(
        rows,
        axis("x", "size", "size, of what the panel names", log=True),
        axis("y", "value", label, log=True),
        "method",
        order=TIMED,
        panels="scan",
        panel_order=SCANS,
        columns=3,
        own_scales="x",
    )
    caption = "What the orders promise." if seconds is None else "Measured on the machine that ran this."
    return Figure(name, f"{caption} Both axes are logarithmic.", spec)


def _measured(points: list[Point], seconds: dict[tuple[int, str], float]) -> Measured:
    table = tuple(
        (point.scan, point.value, name, seconds[number, name]) for number, point in enumerate(points) for name in TIMED
    )
    rows = []
    for scan in SCANS:
        chosen = [(number, point) for number, point in enumerate(points) if point.scan == scan]
        for name in TIMED:
            times = [seconds[number, name] for number, _ in chosen]
            where = [point for _, point in chosen]
            promised = slope(where, [float(point.orders[name]) for point in where])
            rows.append(
                (scan, name, ORDERS[name], f"{promised:.2f}", f"{slope(where, times):.2f}", f"{1000 * times[-1]:.2f}")
            )
    columns = ("what grows", "method", "order", "its exponent", "measured exponent", "ms at the largest")
    return Measured(
        Tabulation("CPU seconds an iteration", ("scan", "size", "method", "cpu_seconds"), table),
        Tabulation("Measured on the machine that ran this", columns, tuple(rows)),
        _figure("time-complexity-measured", points, seconds),
    )


def _claims(iterations: list[tuple[int, int, int, int]]) -> tuple[Claim, ...]:
    fewer = [pgd < min(iwmv, 50) for _, pgd, _, iwmv in iterations]
    ranges = [f"{min(column):,} to {max(column):,}" for column in list(zip(*iterations, strict=True))[1:]]
    return (
        Claim(
            "PGD requires fewer iterations than other iterative methods.",
            verdict(*fewer),
            f"until no label changes: PGD {ranges[0]} sweeps (gradient flow {ranges[1]} steps), IWMV {ranges[2]} "
            "votes; M3V 50 sweeps by setting",
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        "Tasks: 100 workers, 10 answers a task. Workers: 4,000 tasks, 10 answers each. Maximum degree: 400 workers, "
        f"{settings.windowed_tasks:,} tasks of four answers, drawn from ever wider neighbourhoods on a circle. "
        "Two classes, skills from 0 to 0.4, so that nothing converges at once.",
        f"The seconds are the least of {settings.repeats} runs, CPU time, and differ between machines and runs: they "
        "are in `time-complexity-measured.csv`, `.md`, `.svg` and `.png`, and nowhere else.",
        "The paper's O(D_max W) is the cost of a step once there is a table of pairs, and counting that table costs "
        "the sum of squared answers a task. Sums over tasks need no table: a step costs as much as reading the answers "
        "once, whatever the degree. Where answers far outnumber pairs the table is the cheaper of the two.",
        "IWMV reads the answers, not the tasks × workers matrix: O(answers) here, where the paper has O(TW). M3V "
        "factors a workers × workers matrix, W³ operations, which shows only beyond some hundred workers.",
    )
