"""quorate on a table in memory: only the aggregation is timed. METHOD KIND FILE OUTPUT."""

import json
import sys
import time

import pandas as pd
from pyarrow import csv

import quorate
from quorate.io.write_table import write_table

method, kind, source, target = sys.argv[1:]
table = pd.read_csv(source, dtype=str) if kind == "pandas" else csv.read_csv(source)
wall = time.perf_counter()
cpu = time.process_time()
result = quorate.aggregate(table, method)
labels = result.labels
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))
write_table(labels, target)
