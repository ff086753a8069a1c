"""Write examples/reviews.csv and examples/truth.csv: 200 simulated reviews, three answers each by six annotators.

    python examples/make_reviews.py

ana is right 95% of the time, ben 90%, chloe 86%, dev 80% and elif 55%; finn answers "neutral" nine times in ten.
"""

import csv
import random
from pathlib import Path

FOLDER = Path(__file__).parent
LABELS = ("negative", "neutral", "positive")
ACCURACY = {"ana": 0.95, "ben": 0.90, "chloe": 0.86, "dev": 0.80, "elif": 0.55, "finn": 0.33}


def main() -> None:
    """Simulate the reviews and write both files."""
    rng = random.Random(12)
    with (
        (FOLDER / "reviews.csv").open("w", newline="", encoding="utf-8") as answer_file,
        (FOLDER / "truth.csv").open("w", newline="", encoding="utf-8") as truth_file,
    ):
        answers = csv.writer(answer_file)
        truth = csv.writer(truth_file)
        answers.writerow(["task", "worker", "label"])
        truth.writerow(["task", "label"])
        for number in range(1, 201):
            task = f"review-{number:03}"
            true_label = rng.choice(LABELS)
            truth.writerow([task, true_label])
            for worker in sorted(rng.sample(list(ACCURACY), 3)):
                is_right = rng.random() < ACCURACY[worker]
                label = true_label if is_right else rng.choice([other for other in LABELS if other != true_label])
                if worker == "finn" and rng.random() < 0.9:
                    label = "neutral"
                answers.writerow([task, worker, label])


if __name__ == "__main__":
    main()
