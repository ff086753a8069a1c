"""crowd-kit as in its documentation: pandas reads the CSV, the class fits, pandas writes the labels.

    python contender_crowdkit.py CLASS FILE OUTPUT [GOLD FILE OUTPUT GOLD ...]

GOLD is a file of known labels, or - if there are none. The script runs in a separate environment (see the Makefile), so
it does not import quorate.
"""

import sys
from inspect import signature
from typing import Any

import pandas as pd
from crowdkit import aggregation


def fit_predict(model: Any, answers: pd.DataFrame, gold: "pd.Series[Any] | None") -> "pd.Series[Any]":
    """Return the labels of a model, fitted with gold if its ``fit`` takes gold.

    In crowd-kit 1.4.1 ``OneCoinDawidSkene.fit_predict`` is that of `DawidSkene`, which passes ``true_labels`` to a
    ``fit`` without such a parameter (TypeError); its ``fit`` works.
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
    except Exception as error:  # continue with the next file
        print(f"{name} {source}: {type(error).__name__}: {error}", file=sys.stderr)
        failed = 1
        continue
    labels.rename("label").rename_axis("task").to_csv(target)
sys.exit(failed)
