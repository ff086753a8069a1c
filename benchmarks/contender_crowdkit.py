"""crowd-kit, as its users call it: pandas reads the CSV, the class fits, pandas writes the labels. CLASS FILE OUTPUT.

Runs in an environment of its own (see the Makefile), so it imports nothing of quorate.
"""

import sys

import pandas as pd
from crowdkit import aggregation

name, source, target = sys.argv[1:]
answers = pd.read_csv(source, dtype=str)
model = getattr(aggregation, name)().fit(answers)
model.labels_.rename("label").rename_axis("task").to_csv(target)
