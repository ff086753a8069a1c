"""Blocks in a Spark cluster of two executors, one of which is killed; `tests/faults/spark.py` kills more of them."""

import time
from pathlib import Path

import pytest

import quorate
from tests.backends.alike import aggregate, assert_alike
from tests.backends.test_spark import all_sets, session
from tests.conftest import RealData
from tests.faults.spark import executors, lose_executors

# Spark warns of the newer pandas at every turn, which is not ours to repair.
pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]


def test_public_sets_come_out_alike_though_an_executor_is_lost(real: type[RealData], tmp_path: Path) -> None:
    path = str(all_sets(real, tmp_path))
    memory = quorate.aggregate(path, "rank-one", intervals="fast")
    with session("local-cluster[2,1,1024]"):
        before = _both()
        found, killed = lose_executors(
            lambda: aggregate(path, "rank-one", engine="spark"), {"agreement_products": "sweep"}
        )
        assert killed["sweep"] in before
        assert killed["sweep"] not in executors()
        assert_alike(found, memory)


def _both() -> list[int]:
    """Wait until both executors are there; they start one after the other."""
    for _ in range(600):
        if len(executors()) == 2:
            break
        time.sleep(0.1)
    return executors()
