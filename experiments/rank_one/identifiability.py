"""Coverage of the intervals of `rank-one`, for identified and weakly identified workers.

    python -m experiments.rank_one.identifiability [--seeds 2] [--no-public]

Ten families of graphs, 31 workers, 10, 30 and 100 tasks per edge, four distributions of skills. Then the counterexample
of four workers with a guesser on every odd cycle, ordinary simulated crowds, and the public sets.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import quorate
from experiments.default_method.data import PUBLIC_SETS, load_public_set
from experiments.default_method.report import Target, print_row, print_targets
from experiments.rank_one.crowds import FAMILIES, BoolArray, FloatArray, IntArray, draw
from quorate import simulate
from quorate.skills.identification import IDENTIFIED, WEAKLY_IDENTIFIED

N_WORKERS = 31
TASKS_PER_EDGE = (10, 30, 100)
SKILLS = ("U(0,1)", "U(.2,.9)", "30 % guessers", "10 % adversaries")
COUNTEREXAMPLE = np.array([0.0, 0.9, 0.3, 0.7])
COUNTEREXAMPLE_EDGES = (np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3]))
ORDINARY = ((300, 20, 3), (500, 50, 5), (2000, 200, 5))  # tasks, workers, answers per task


@dataclass(frozen=True)
class Judged:
    """Workers of some crowds: status, whether the interval covers the skill, and its width."""

    status: IntArray
    is_covered: BoolArray
    width: FloatArray

    def share(self, status: int) -> float:
        """Return the share of workers with a status among those with a skill."""
        return float((self.status == status).mean())

    def coverage(self, status: int | None = None) -> float:
        """Return the share of intervals that cover; of all, or of one status; NaN where there is none."""
        chosen = self.is_covered if status is None else self.is_covered[self.status == status]
        return float(chosen.mean()) if len(chosen) else float("nan")

    def mean_width(self, status: int) -> float:
        """Return the mean width of the intervals of a status; NaN where there is none."""
        chosen = self.width[self.status == status]
        return float(chosen.mean()) if len(chosen) else float("nan")


def judge(crowd: simulate.Crowd, method: str = "rank-one") -> Judged:
    """Return the workers of one crowd whose skill is estimated."""
    result = quorate.aggregate(crowd.answers, method)
    has_skill = ~np.isnan(result.skills)
    low = result.intervals.low[has_skill]
    high = result.intervals.high[has_skill]
    truth = crowd.skills[has_skill]
    return Judged(result.status[has_skill], (low <= truth) & (truth <= high), high - low)


def join(parts: Sequence[Judged]) -> Judged:
    """Return the workers of all crowds."""
    return Judged(
        np.concatenate([part.status for part in parts]),
        np.concatenate([part.is_covered for part in parts]),
        np.concatenate([part.width for part in parts]),
    )


def run_families(n_seeds: int, method: str = "rank-one") -> dict[str, Judged]:
    """Judge the workers of every family and print their coverage."""
    found: dict[str, Judged] = {}
    columns = ("all", "identified", "width", "weak", "width", "share weak")
    print(f"\nCoverage of 95 % intervals of {method}, {N_WORKERS} workers")
    print_row("family", columns, width=12)
    for family in FAMILIES:
        parts = [
            judge(draw(family, N_WORKERS, tasks, skills, 2, seed).simulated, method)
            for tasks in TASKS_PER_EDGE
            for skills in SKILLS
            for seed in range(n_seeds)
        ]
        found[family] = join(parts)
        print_family(family, found[family])
    print_family("all", join([*found.values()]))
    return found


def print_family(name: str, judged: Judged) -> None:
    """Print one row."""
    values = [
        judged.coverage(),
        judged.coverage(IDENTIFIED),
        judged.mean_width(IDENTIFIED),
        judged.coverage(WEAKLY_IDENTIFIED),
        judged.mean_width(WEAKLY_IDENTIFIED),
        judged.share(WEAKLY_IDENTIFIED),
    ]
    print_row(name, values, width=12, digits=3)


def run_counterexample(n_seeds: int) -> float:
    """Print the coverage of the three workers other than the guesser; return the smallest over numbers of tasks."""
    print("\nSkills (0, .9, .3, .7), every odd cycle through the first worker")
    print_row("tasks", ("coverage", "width", "called weak"), width=12)
    worst = 1.0
    for n_tasks in (100, 1_000, 4_000):
        parts = []
        for seed in range(n_seeds):
            crowd = simulate.crowd_on_graph(COUNTEREXAMPLE_EDGES, COUNTEREXAMPLE, n_tasks, seed=seed)
            judged = judge(crowd)
            parts.append(Judged(judged.status[1:], judged.is_covered[1:], judged.width[1:]))
        all_parts = join(parts)
        values = [all_parts.coverage(), float(all_parts.width.mean()), all_parts.share(WEAKLY_IDENTIFIED)]
        print_row(f"{n_tasks:,}", values, width=12, digits=3)
        worst = min(worst, all_parts.coverage())
    return worst


def weak_in_ordinary_crowds(n_seeds: int) -> int:
    """Count the weakly identified workers of ordinary simulated crowds."""
    n_weak = 0
    for n_tasks, n_workers, per_task in ORDINARY:
        for seed in range(n_seeds):
            crowd = simulate.crowd(n_tasks, n_workers, per_task, seed=seed)
            for method in ("rank-one", "quorate"):
                result = quorate.aggregate(crowd.answers, method, intervals="none")
                n_weak += int((result.status == WEAKLY_IDENTIFIED).sum())
    return n_weak


def weak_in_public_sets(method: str) -> dict[str, int]:
    """Count the weakly identified workers of each public set that has any."""
    counts = {}
    for name in PUBLIC_SETS:
        result = quorate.aggregate(load_public_set(name).answers, method, intervals="none")
        counts[name] = int((result.status == WEAKLY_IDENTIFIED).sum())
    return {name: n for name, n in counts.items() if n}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="crowds of each cell")
    parser.add_argument("--no-public", action="store_true", help="leave the public sets out")
    options = parser.parse_args(arguments)
    families = run_families(options.seeds)
    everyone = join([*families.values()])
    identified = {family: judged.coverage(IDENTIFIED) for family, judged in families.items()}
    targets = [
        Target("coverage of identified workers, all", everyone.coverage(IDENTIFIED), least=0.94),
        Target("coverage of identified workers, worst family", float(np.nanmin([*identified.values()])), least=0.90),
        Target("coverage of weakly identified workers", everyone.coverage(WEAKLY_IDENTIFIED), least=0.97),
        Target("share of workers weakly identified", everyone.share(WEAKLY_IDENTIFIED), most=0.45),
        Target(
            "coverage beside the guesser, worst number of tasks", run_counterexample(30 * options.seeds), least=0.94
        ),
        Target("weak workers of ordinary crowds", weak_in_ordinary_crowds(5), most=0),
    ]
    if not options.no_public:
        for method in ("rank-one", "quorate"):
            counts = weak_in_public_sets(method)
            targets.append(Target(f"weak workers of the public sets, {method} {counts}", sum(counts.values()), most=2))
    print_targets(targets)


if __name__ == "__main__":
    main()
