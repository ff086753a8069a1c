"""Advice compared with even allocation: further answers until an error of 5 %, and bias of the estimated skills.

Not in the paper, which has no adaptive collection.
"""

from dataclasses import dataclass

import numpy as np

from experiments.advice.collection import ADVICE, EVEN, FIRST, POLICIES, TASKS, Trace, W, ask, collect_by
from experiments.runner.experiment import Claim, Experiment, Figure, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.advice.adaptive_skills import adaptive_skills
from quorate.graph.components import identify
from quorate.graph.repair import repair
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.progress import tracked
from quorate.simulate import Crowd, collect

TARGET = 0.05


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    seeds: int
    batch: int = 40  # answers between two evaluations
    most: int = 4_000  # answers in total
    after: int = 1_600  # answers in total at which the intervals are evaluated
    n_classes: tuple[int, ...] = (2, 4)
    broken: int = 200  # crowds to repair


FULL = Settings(10)
QUICK = Settings(3, batch=80)


def repaired(seed: int, n: int) -> tuple[int, int]:
    """Draw crowds that are bipartite or disconnected; return how many are repaired, and with the fewest answers."""
    rng = np.random.default_rng([seed, 12])
    mended = minimal = drawn = 0
    while drawn < n:
        simulated = _sparse(rng)
        before = identify(simulated.answers)
        if before.n_components == 1 and before.identifiable[0]:
            continue
        drawn += 1
        plan = repair(simulated.answers, before)
        after = identify(ask(simulated, plan.task, plan.worker, rng).answers)
        mended += bool(after.n_components == 1 and after.identifiable[0])
        # Each answer joins at most two components; if the joined component is bipartite, one more answer is needed.
        minimal += plan.n_answers == max(before.n_components - 1, 1)
    return mended, minimal


def _sparse(rng: np.random.Generator) -> Crowd:
    """Draw a small crowd with one or two answers per task."""
    n_workers = int(rng.integers(3, 30))
    n_tasks = int(rng.integers(3, 40))
    tasks = np.concatenate([np.arange(n_tasks), rng.integers(0, n_tasks, int(rng.integers(0, n_tasks)))])
    workers = rng.integers(0, n_workers, len(tasks))
    cells = np.unique(np.stack([tasks, workers]), axis=1)
    _, codes = np.unique(cells[1], return_inverse=True)
    n = int(codes.max()) + 1
    if n < 3:
        return _sparse(rng)
    truth = rng.integers(0, 2, n_tasks)
    return collect(cells[0], codes, truth[cells[0]], truth, rng.random(n), 2)


def run(*, quick: bool, seed: int) -> Experiment:
    """Collect by each policy for each number of classes, evaluate the intervals, and repair broken crowds."""
    settings = QUICK if quick else FULL
    traces: dict[tuple[str, int], list[Trace]] = {}
    runs = [(policy, m, k) for m in settings.n_classes for policy in POLICIES for k in range(settings.seeds)]
    for policy, m, k in tracked("advice", runs):
        traces.setdefault((policy, m), []).append(_collect(policy, m, seed * 1000 + k, settings))
    mended, minimal = repaired(seed, settings.broken)
    rows = tuple(
        (policy, m, k, int(n), round(float(error), 6), round(float(expected), 6))
        for (policy, m), each in traces.items()
        for k, trace in enumerate(each)
        for n, error, expected in zip(trace.n_answers, trace.error, trace.expected, strict=True)
    )
    columns = ("policy", "classes", "seed", "answers", "error", "expected_error")
    skills = {(policy, m): _skills(traces[policy, m]) for policy in (EVEN, ADVICE) for m in settings.n_classes}
    return Experiment(
        Tabulation("Error along the collection", columns, rows),
        (_saved(traces, settings), _skill_sheet(skills), _calibration(traces, settings)),
        (_figure(traces, settings),),
        _claims(traces, skills, settings, mended, minimal),
        _notes(settings),
    )


def _collect(policy: str, m: int, seed: int, settings: Settings) -> Trace:
    limits = {"batch": settings.batch, "most": settings.most, "after": settings.after}
    return collect_by(policy, m, seed, target=TARGET, **limits)


def _mean_further(traces: dict[tuple[str, int], list[Trace]], policy: str, m: int) -> float:
    return float(np.mean([trace.further(TARGET) for trace in traces[policy, m]]))


def _saved(traces: dict[tuple[str, int], list[Trace]], settings: Settings) -> Tabulation:
    rows = []
    for m in settings.n_classes:
        even = _mean_further(traces, EVEN, m)
        for policy in POLICIES:
            mean = _mean_further(traces, policy, m)
            heaviest = max(trace.heaviest for trace in traces[policy, m])
            rows.append((m, policy, mean, f"{1 - mean / even:.0%}", f"{heaviest:.2f}"))
    columns = ("classes", "policy", f"further answers to {TARGET:.0%} error", "fewer than even", "heaviest load / mean")
    return Tabulation(f"After {FIRST} answers to each of {TASKS} tasks by {W} workers", columns, tuple(rows))


@dataclass(frozen=True)
class Skills:
    """Bias of the skills and coverage of the intervals."""

    coverage: float
    width: float
    bias: float
    agreement_bias: float  # of the estimate from agreement


def _skills(traces: list[Trace]) -> Skills:
    rows = []
    for trace in traces:
        truth = trace.at_the_end.skills
        found = adaptive_skills(trace.at_the_end.answers)
        pairwise = aggregate_in_memory("rank-one", trace.at_the_end.answers).skills
        held = (found.low <= truth) & (truth <= found.high)
        bias = (found.skills - truth).mean(), np.nanmean(pairwise - truth)
        rows.append((held.mean(), (found.high - found.low).mean(), *bias))
    return Skills(*(float(value) for value in np.mean(rows, axis=0)))


def _skill_sheet(skills: dict[tuple[str, int], Skills]) -> Tabulation:
    rows = tuple(
        (m, policy, f"{s.coverage:.3f}", f"{s.width:.2f}", f"{s.bias:+.3f}", f"{s.agreement_bias:+.3f}")
        for (policy, m), s in skills.items()
    )
    columns = ("classes", "collected by", "coverage at 95%", "mean width", "bias of one-coin EM", "bias of rank-one")
    return Tabulation("Skills after the collection", columns, rows)


def _calibration(traces: dict[tuple[str, int], list[Trace]], settings: Settings) -> Tabulation:
    rows = []
    for m in settings.n_classes:
        each = traces[ADVICE, m]
        for k in range(0, min(len(trace.error) for trace in each), max(1, 160 // settings.batch)):
            error, expected, n = (
                float(np.mean([values[k] for values in column]))
                for column in zip(*((trace.error, trace.expected, trace.n_answers) for trace in each), strict=True)
            )
            rows.append((m, int(n), f"{error:.3f}", f"{expected:.3f}"))
    columns = ("classes", "answers", "error", "error that the advice expected")
    return Tabulation("Does it know when to stop?", columns, tuple(rows))


def _figure(traces: dict[tuple[str, int], list[Trace]], settings: Settings) -> Figure:
    rows = []
    for (policy, m), each in traces.items():
        length = max(len(trace.error) for trace in each)
        longest = next(trace.n_answers for trace in each if len(trace.error) == length)
        # A collection that ended early keeps its last error.
        errors = [np.append(t.error, np.full(length - len(t.error), t.error[-1])) for t in each]
        for n, error in zip(longest, np.mean(errors, axis=0), strict=True):
            further = int(n) - FIRST * TASKS
            if further <= 2_400:
                rows.append({"policy": policy, "classes": f"{m} classes", "n": further, "error": float(error)})
    panels = [f"{m} classes" for m in settings.n_classes]
    spec = lines(
        rows,
        axis("x", "n", "further answers"),
        axis("y", "error", "share of wrong labels"),
        "policy",
        order=tuple(POLICIES),
        panels="classes",
        panel_order=panels,
        points=False,
        rules=[{"panel": panel, "value": TARGET} for panel in panels],
    )
    caption = f"Error against further answers, mean of {settings.seeds} collections; the dashed line is the target."
    return Figure("advice", caption, spec)


def _claims(
    traces: dict[tuple[str, int], list[Trace]],
    skills: dict[tuple[str, int], Skills],
    settings: Settings,
    mended: int,
    minimal: int,
) -> tuple[Claim, ...]:
    saved = {m: 1 - _mean_further(traces, ADVICE, m) / _mean_further(traces, EVEN, m) for m in settings.n_classes}
    heaviest = max(trace.heaviest for m in settings.n_classes for trace in traces[ADVICE, m])
    held = {m: skills[ADVICE, m].coverage for m in settings.n_classes}
    bias = max(abs(skills[ADVICE, m].bias) for m in settings.n_classes)
    pairwise = [skills[ADVICE, m].agreement_bias for m in settings.n_classes]
    return (
        Claim(
            "With each worker's load at most twice the mean, advice needs at least 60% fewer further answers than even "
            f"allocation to reach {TARGET:.0%} error.",
            verdict(*(share >= 0.6 for share in saved.values()), heaviest <= 2.1),  # a load is a whole number
            ", ".join(f"{share:.0%} fewer with {m} classes" for m, share in saved.items())
            + f"; heaviest load {heaviest:.2f} times the mean",
        ),
        Claim(
            "Every bipartite or disconnected crowd is repaired with the fewest answers.",
            verdict(mended == minimal == settings.broken),
            f"{mended} of {settings.broken} mended, {minimal} with the fewest",
        ),
        Claim(
            "After adaptive collection the intervals of one-coin EM cover, and its skills are nearly unbiased; those "
            "from agreement are too low.",
            verdict(
                *(0.92 <= share <= 0.97 for share in held.values()),
                *(2 * abs(skills[ADVICE, m].bias) < -skills[ADVICE, m].agreement_bias for m in settings.n_classes),
            ),
            ", ".join(f"coverage {share:.3f} with {m} classes" for m, share in held.items())
            + f"; bias at most {bias:.3f} against {min(pairwise):.3f} to {max(pairwise):.3f} from agreement",
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        f"{W} workers of skills uniform on [0, 1] and {TASKS} tasks begin with {FIRST} answers a task by random "
        f"workers; {settings.batch} answers are added at a time, and skills are estimated anew after each batch. All "
        "policies are judged by the same posterior. A collection ends at half the target, or at "
        f"{settings.most:,} answers.",
        f"Skills are looked at after {settings.after:,} answers in all.",
        "Even allocation asks about the tasks with fewest answers, and any worker who has not answered them.",
        f"The {settings.broken} broken crowds have 3 to 29 workers and one or two answers to most tasks; the fewest is "
        "one less than the components, and one if there is one bipartite component. A test compares small ones with "
        "every smaller set of assignments.",
    )
