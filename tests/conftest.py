import os

import pytest
from hypothesis import HealthCheck, settings

from quorate.datasets import Dataset, load
from quorate.errors import QuorateError

# Shared machines stall now and then: a slow example is no failure, and every run tries the same examples.
settings.register_profile("quorate", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")
if "QUORATE_EXAMPLES" in os.environ:  # a long look, as `make sanitize` takes it, at other examples every time
    settings.register_profile(
        "long", settings.get_profile("quorate"), max_examples=int(os.environ["QUORATE_EXAMPLES"]), derandomize=False
    )
    settings.load_profile("long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of Spark first, so that one process of a parallel run gets all of them.

    One Spark session runs at a time; spread over two processes, each would wait for the session of the other.
    pytest-xdist gives every process a contiguous eighth of the tests to begin with.
    """
    items.sort(key=lambda item: not _is_in_group(item, "spark"))


def _is_in_group(item: pytest.Item, group: str) -> bool:
    mark = item.get_closest_marker("xdist_group")
    return mark is not None and group in mark.args


def need(what: str, here: object, remedy: str) -> None:
    """Skip a test whose needs are not here. In CI that is a failure, unless ``QUORATE_SKIP`` names them."""
    if what in os.environ.get("QUORATE_SKIP", "").split(","):
        pytest.skip(f"QUORATE_SKIP names {what}")
    if not here:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not here: {remedy}")


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
