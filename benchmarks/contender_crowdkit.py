"""crowd-kit, as its users call it: pandas reads the CSV, the class fits, pandas writes the labels.

    python contender_crowdkit.py CLASS FILE OUTPUT [GOLD FILE OUTPUT GOLD ...]

GOLD has the known labels that a class wants, and is - where there are none. Runs in an environment of its own (see the
Makefile), so it imports nothing of quorate.
"""

import sys
from inspect import signature
from typing import Any

import pandas as pd
from crowdkit import aggregation


def fit_predict(model: Any, answers: pd.DataFrame, gold: "pd.Series[Any] | None") -> "pd.Series[Any]":
    """Labels of a model, with gold where its ``fit`` takes gold.

    In crowd-kit 1.4.1 ``OneCoinDawidSkene.fit_predict`` is that of `DawidSkene`, which hands ``true_labels`` to a
    ``fit`` that has no such parameter (TypeError); its ``fit`` works.
    """
    takes_gold = "true_labels" in signature(model.fit).parameters
    if takes_gold and gold is not None:
        return model.fit_predict(answers, gold)
    if not takes_gold and "true_labels" in signature(model.fit_predict).parameters:
        return model.fit(answers).labels_
    return model.fit_predict(answers)


name, *jobs = sys.argv[1:]
failed = 0
for source, target, gold in zip(jobs[::3], jobs[1::3], [*jobs[2::3], "-"], strict=False):
    answers = pd.read_csv(source, dtype=str)
    known = None if gold == "-" else pd.read_csv(gold, dtype=str).set_index("task")["label"]
    try:
        labels = fit_predict(getattr(aggregation, name)(), answers, known)
    except Exception as error:  # the next file may do
        print(f"{name} {source}: {type(error).__name__}: {error}", file=sys.stderr)
        failed = 1
        continue
    labels.rename("label").rename_axis("task").to_csv(target)
sys.exit(failed)
