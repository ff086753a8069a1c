"""Run both experiments: `python -m experiments.rank_one [--seeds 20]`."""

import argparse

from experiments.rank_one import accuracy, identifiability

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seeds", type=int, default=20, help="crowds of each cell of the accuracy; a tenth for coverage")
options = parser.parse_args()
accuracy.main([f"--seeds={options.seeds}"])
identifiability.main([f"--seeds={max(options.seeds // 5, 1)}"])
