"""crowd-kit, as its users call it: pandas reads the CSV, the class fits, pandas writes the labels.

    python contender_crowdkit.py CLASS FILE OUTPUT [GOLD]

GOLD has the known labels that a class wants. Runs in an environment of its own (see the Makefile), so it imports
nothing of quorate.
"""

import sys

import pandas as pd
from crowdkit import aggregation

name, source, target, *gold = sys.argv[1:]
answers = pd.read_csv(source, dtype=str)
known = [pd.read_csv(path, dtype=str).set_index("task")["label"] for path in gold]
labels = getattr(aggregation, name)().fit_predict(answers, *known)
labels.rename("label").rename_axis("task").to_csv(target)
