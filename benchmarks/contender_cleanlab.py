"""cleanlab's CROWDLAB on files: ANSWERS.csv (task, worker, label), P.csv (task, a column per class), LABELS.csv.

Runs in an environment with cleanlab (pip install cleanlab pandas); see benchmarks/crowdlab.py.
"""

import sys

import pandas as pd
from cleanlab.multiannotator import get_label_quality_multiannotator

answers = pd.read_csv(sys.argv[1])
p = pd.read_csv(sys.argv[2]).set_index("task")
wide = answers.pivot(index="task", columns="worker", values="label").reindex(p.index)
found = get_label_quality_multiannotator(wide, p.to_numpy(), verbose=False)["label_quality"]
columns = {"task": p.index, "label": found["consensus_label"], "quality": found["consensus_quality_score"]}
pd.DataFrame(columns).to_csv(sys.argv[3], index=False)
