"""Time advice on a million answers: 200,000 tasks, 2,000 workers, five answers per task, four classes.

    python benchmarks/advise.py [BUDGET ...]        # the table of docs/performance.md

Prints CPU seconds of this process without reading: for the labels, for the fit of the skills, and for the advice given
both.
"""

import sys
import time
from collections.abc import Sequence

from data import CROWDS

from quorate.advice.adaptive_skills import adaptive_skills, fit_worker_posterior, identify_crowd
from quorate.advice.advise import advise_from
from quorate.advice.available_workers import gather_available_workers
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd


def main(budgets: Sequence[int]) -> None:
    """Print one row per budget, as Markdown."""
    shape = CROWDS["m1"]
    answers = crowd(shape.tasks, shape.workers, shape.per_task, n_classes=shape.classes, seed=0).answers
    _ = answers.per_task, answers.per_worker
    start = time.process_time()
    result = aggregate(answers)
    print(f"labels, as `quorate aggregate` has them: {time.process_time() - start:.2f} s\n")
    start = time.process_time()
    identifiability = identify_crowd(answers, answers.n_workers)
    belief = fit_worker_posterior(answers, answers, None, identifiability)
    fit = time.process_time() - start
    print(f"fit: {fit:.2f} s, {belief.fit.iterations} EM steps\n")
    print("| budget | advice, s | with the fit, s | advised |")
    print("|---|---|---|---|")
    for budget in budgets:
        start = time.process_time()
        worker_pool = gather_available_workers(answers, budget)
        advice = advise_from(result, budget, worker_pool, identifiability, belief)
        n = len(advice.assignments)
        taken = time.process_time() - start
        print(f"| {budget:,} | {taken:.2f} | {taken + fit:.2f} | {n:,} |", flush=True)
    start = time.process_time()
    adaptive_skills(answers)
    print(f"\nadaptive_skills, with intervals: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [1_000, 10_000, 100_000, 1_000_000])
