"""`quorate demo`: a sparse crowd with known truth, aggregated and compared with the truth and with majority vote."""

import numpy as np

from quorate import simulate
from quorate.cli.terminal import print_head, print_lines, print_table
from quorate.evaluation.metrics import expected_error
from quorate.methods.registry import aggregate, majority_vote


def run(seed: int = 1) -> None:
    """Print the demonstration."""
    skills = np.random.default_rng(seed).uniform(-0.2, 0.9, 60)
    crowd = simulate.crowd(n_tasks=2000, n_workers=60, per_task=4, skills=skills, seed=seed)
    result, plain = aggregate(crowd.answers), majority_vote(crowd.answers)
    print_lines(
        [
            "A simulated crowd: 60 workers, some of them spammers or worse, give 4 answers to each of 2,000 tasks.",
            "Nobody tells the program who is skilled, nor any true label.",
            "",
        ]
    )
    print_head("Labels", result.labels, most=5)
    print_lines([""])
    best = np.argsort(-result.skills)
    chosen = np.concatenate([best[:3], best[-3:]])
    names = crowd.answers.worker_names.to_pylist()
    rows = [
        [names[k], float(result.skills[k]), float(crowd.skills[k]), int(crowd.answers.per_worker[k])] for k in chosen
    ]
    print_table("The three best and the three worst workers", ["worker", "skill", "true skill", "answers"], rows)
    verdict = next(iter(result.identifiability.components()))
    cycle = [names[k] for k in verdict.odd_cycle]
    errors = [expected_error(each, crowd.truth_table).error for each in (result, plain)]
    off = np.abs(result.skills - crowd.skills)
    print_lines(
        [
            "",
            "Can the skills be told at all? Yes: the workers form one component, and it has an odd cycle,",
            f"for example {' – '.join([*cycle, cycle[0]])}.",
            f"Mean error of a skill: {off.mean():.3f}. {result.solution}",
            "",
            f"Wrong labels: {errors[0]:.2%} by Quorate, {errors[1]:.2%} by majority vote.",
            "",
            "Next, try it on your own answers, a CSV file with the columns task, worker, label:",
            "  .venv/bin/quorate aggregate answers.csv -o labels.csv --workers-out workers.csv",
            "  .venv/bin/quorate diagnose answers.csv",
            "or on a crowd of your own making:",
            "  .venv/bin/quorate simulate -o answers.csv --truth-out truth.csv --tasks 500 --workers 20",
        ]
    )
