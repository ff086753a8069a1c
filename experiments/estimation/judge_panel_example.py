"""Figures of one public panel of LLM judges with human labels, as docs/llm-judges.md shows them.

    QUORATE_DATASETS=FOLDER python -m experiments.estimation.judge_panel_example [PANEL] [--draws 100]

PANEL is a folder of FOLDER/panels with labels.csv (task, worker, label) and truth.csv (task, label). Known labels are
drawn at random, many times, to count how often the interval of `quorate.estimate` covers the share by all human labels.
"""

import argparse
import csv
import os
import random
from pathlib import Path

import numpy as np

import quorate

NUMBERS_OF_KNOWN_LABELS = (30, 60, 120)


def main() -> None:
    """Print the figures of one panel."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("panel", nargs="?", default="asukul_rag24_binary")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    folder = Path(os.environ["QUORATE_DATASETS"]) / "panels" / options.panel
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        truth = {row["task"]: row["label"] for row in csv.DictReader(file)}
    answers = quorate.read(folder / "labels.csv")
    result = quorate.aggregate(answers)
    rows = result.labels.to_pylist()
    is_right = [row["label"] == truth[row["task"]] for row in rows if row["task"] in truth]
    alpha = quorate.agreement(answers).overall["krippendorff_alpha"].value
    print(f"{answers.n_tasks} tasks, {answers.n_workers} judges, {answers.n_answers} verdicts, alpha {alpha:.2f}")
    mean_confidence = float(np.mean([row["confidence"] for row in rows]))
    print(f"mean confidence {mean_confidence:.2f}, right {np.mean(is_right):.2f}")
    print_judges(answers, result, truth)
    positive = sorted(set(truth.values()))[-1]
    share = float(np.mean([label == positive for label in truth.values()]))
    print(f"share of {positive!r} by all human labels {share:.3f}")
    without = quorate.estimate(answers).prevalence[positive]
    print(f"no known labels: {without.value:.2f} ({without.low:.2f} to {without.high:.2f})")
    for number in NUMBERS_OF_KNOWN_LABELS:
        print_draws(answers, truth, positive, share, number, options.draws)


def print_judges(answers: quorate.Answers, result: quorate.Result, truth: dict[str, str]) -> None:
    """Print the agreement of each judge with the labels, and its accuracy by the human labels."""
    correct: dict[str, list[bool]] = {}
    for row in answers.to_table().to_pylist():
        if row["task"] in truth:
            correct.setdefault(row["worker"], []).append(row["label"] == truth[row["task"]])
    for row in result.workers.to_pylist():
        accuracy = float(np.mean(correct[row["worker"]]))
        print(f"  {row['worker']}: agreement {row['agreement']:.2f}, right {accuracy:.2f}, {row['n_answers']} verdicts")


def print_draws(
    answers: quorate.Answers, truth: dict[str, str], positive: str, share: float, number: int, draws: int
) -> None:
    """Print how often the interval covers the share, and how wide it is, over random draws of known labels."""
    n_covered = 0
    half_widths = []
    for seed in range(draws):
        chosen = random.Random(seed).sample(sorted(truth), number)
        gold = {task: truth[task] for task in chosen}
        figure = quorate.estimate(answers, gold=gold, sampled="random").prevalence[positive]
        if figure.low is None or figure.high is None:
            raise SystemExit(f"{number} known labels support no interval")
        n_covered += figure.low <= share <= figure.high
        half_widths.append((figure.high - figure.low) / 2)
    print(f"{number} known labels: half width {np.mean(half_widths):.3f}, covers in {n_covered} of {draws} draws")


if __name__ == "__main__":
    main()
