import os

import pytest
from hypothesis import HealthCheck, settings

from quorate.errors import QuorateError
from quorate.evaluation.datasets import Dataset, load

# Shared machines stall now and then: a slow example is no failure, and every run tries the same examples.
settings.register_profile("quorate", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


@pytest.fixture(scope="session")
def real() -> "type[RealData]":
    return RealData


class RealData:
    """The public sets: they must be there in CI, and may be missing on a laptop without network."""

    @staticmethod
    def load(name: str) -> Dataset:
        try:
            return load(name)
        except QuorateError:
            if os.environ.get("CI"):
                raise
            pytest.skip("the public data are not here: set QUORATE_DATA, or see CONTRIBUTING.md")
