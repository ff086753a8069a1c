"""Scores of choix, evalica and crowd-kit for folders of comparisons; `benchmarks/ranking.py` runs it in their Python.

    python benchmarks/contender_rank.py FOLDER ...

A folder has train.csv (worker, left, right, label: the winner's name, or blank for a tie). The script writes
scores.json to the folder: for each method the score of every item in log-odds, and the CPU seconds. All methods have
their documented defaults; a method without ties gets only the rows with a winner.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def main(folders: list[str]) -> None:
    """Score every folder by every method."""
    for folder in folders:
        data = pd.read_csv(Path(folder, "train.csv"), keep_default_na=False, dtype=str)
        result = {}
        for name, method in METHODS.items():
            start = time.process_time()
            try:
                scores = method(data)
            except Exception as error:
                print(f"{name} failed on {folder}: {error}", file=sys.stderr)
                continue
            workers = scores.pop("workers", None)
            result[name] = {"cpu": time.process_time() - start, "scores": scores, "workers": workers}
        Path(folder, "scores.json").write_text(json.dumps(result))


def _choix(data: pd.DataFrame) -> dict[str, float]:
    import choix

    items = sorted(set(data.left) | set(data.right))
    place = {item: code for code, item in enumerate(items)}
    decided = data[data.label != ""]
    loser = np.where(decided.label == decided.left, decided.right, decided.left)
    pairs = [(place[a], place[b]) for a, b in zip(decided.label, loser, strict=True)]
    try:
        found = choix.ilsr_pairwise(len(items), pairs)
    except (RuntimeError, ValueError, np.linalg.LinAlgError):  # not strongly connected: its documented regularisation
        found = choix.ilsr_pairwise(len(items), pairs, alpha=0.01)
    return {item: float(found[code]) for item, code in place.items()}


def _evalica(data: pd.DataFrame) -> dict[str, float]:
    import evalica

    winner = np.where(data.label == "", "draw", np.where(data.label == data.left, "x", "y"))
    names = {"draw": evalica.Winner.Draw, "x": evalica.Winner.X, "y": evalica.Winner.Y}
    found = evalica.bradley_terry(list(data.left), list(data.right), [names[each] for each in winner])
    return {str(item): float(np.log(max(score, 1e-12))) for item, score in found.scores.items()}


def _bradley_terry(data: pd.DataFrame) -> dict[str, float]:
    from crowdkit.aggregation import BradleyTerry

    found = BradleyTerry(n_iter=100).fit_predict(data[data.label != ""])
    return {str(item): float(np.log(max(score, 1e-12))) for item, score in found.items()}


def _noisy(data: pd.DataFrame) -> dict[str, Any]:
    from crowdkit.aggregation import NoisyBradleyTerry

    model = NoisyBradleyTerry(n_iter=100).fit(data[data.label != ""])
    odds = np.clip(model.scores_.to_numpy(float), 1e-9, 1 - 1e-9)
    scores: dict[str, Any] = {
        str(item): float(np.log(p / (1 - p))) for item, p in zip(model.scores_.index, odds, strict=True)
    }
    # The prediction of this model: skill times sigmoid of the gap, plus (1 - skill) times the bias.
    scores["workers"] = {
        str(worker): [float(model.skills_[worker]), float(model.biases_[worker])] for worker in model.skills_.index
    }
    return scores


METHODS = {
    "choix": _choix,
    "evalica": _evalica,
    "crowd-kit BT": _bradley_terry,
    "crowd-kit NoisyBT": _noisy,
}

if __name__ == "__main__":
    main(sys.argv[1:])
