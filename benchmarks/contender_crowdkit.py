"""crowd-kit, as its users call it: pandas reads the CSV, the class fits, pandas writes the labels.

    python contender_crowdkit.py CLASS FILE OUTPUT [GOLD FILE OUTPUT GOLD ...]

GOLD has the known labels that a class wants, and is - where there are none. Runs in an environment of its own (see the
Makefile), so it imports nothing of quorate.
"""

import sys

import pandas as pd
from crowdkit import aggregation

name, *jobs = sys.argv[1:]
failed = 0
for source, target, gold in zip(jobs[::3], jobs[1::3], [*jobs[2::3], "-"], strict=False):
    answers = pd.read_csv(source, dtype=str)
    known = [] if gold == "-" else [pd.read_csv(gold, dtype=str).set_index("task")["label"]]
    try:
        labels = getattr(aggregation, name)().fit_predict(answers, *known)
    except Exception as error:  # the next file may do
        print(f"{name} {source}: {type(error).__name__}: {error}", file=sys.stderr)
        failed = 1
        continue
    labels.rename("label").rename_axis("task").to_csv(target)
sys.exit(failed)
