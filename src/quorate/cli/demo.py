"""`quorate demo`: a simulated crowd with known truth; Quorate against majority vote."""

import numpy as np

from quorate import simulate
from quorate.cli.terminal import print_lines, print_table
from quorate.evaluation.metrics import expected_error
from quorate.methods.aggregate import aggregate, majority_vote
from quorate.notes import printed_commands_use

N_SHOWN_LABELS = 5
N_SHOWN_WORKERS = 3  # at each end of the ranking


def run(seed: int = 1) -> None:
    """Print the demonstration: first the main result, last the next commands and the summary."""
    skills = np.random.default_rng(seed).uniform(-0.2, 0.9, 60)
    crowd = simulate.crowd(n_tasks=2000, n_workers=60, per_task=4, skills=skills, seed=seed)
    result = aggregate(crowd.answers)
    error = expected_error(result, crowd.truth_table).error
    majority_error = expected_error(majority_vote(crowd.answers), crowd.truth_table).error
    print_lines(
        [
            f"Wrong labels: {error:.1%} with Quorate, {majority_error:.1%} with majority vote.",
            "",
            "How this was measured: 60 simulated workers, some of them guessing or worse, gave 4 answers to each of",
            "2,000 tasks. The program does not know who is good, or any true label.",
            "",
        ]
    )
    labels = result.labels.arrow.slice(0, N_SHOWN_LABELS).to_pylist()
    rows = [[row["task"], row["label"], f"{row['confidence']:.0%}"] for row in labels]
    print_table(f"Labels (first {N_SHOWN_LABELS} of 2,000)", ["task", "label", "confidence"], rows)
    print_lines([""])
    best_first = np.argsort(-result.skills)
    shown = [*best_first[:N_SHOWN_WORKERS], *best_first[-N_SHOWN_WORKERS:]]
    names = crowd.answers.worker_names.to_pylist()
    rows = [
        [names[k], float(result.skills[k]), float(crowd.skills[k]), int(crowd.answers.per_worker[k])] for k in shown
    ]
    title = f"Workers (best and worst {N_SHOWN_WORKERS} of 60)"
    print_table(title, ["worker", "skill", "true skill", "answers"], rows)
    print_lines(
        [
            "",
            "Now with your own file (any CSV with columns for the task, the worker and the answer):",
            "  quorate doctor answers.csv      what is in it, and what to run",
            "  quorate report answers.csv      a page to read and to share",
            "",
            "What quorate aggregate prints for these answers (it estimates the errors without the true labels):",
        ]
    )
    with printed_commands_use("answers.csv"):
        print_lines(f"  {line}" for line in result.summary().splitlines())
