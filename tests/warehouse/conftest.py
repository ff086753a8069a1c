from pathlib import Path

import pytest

HERE = Path(__file__).parent

# What ibis says to DuckDB is not ours to mend.
NOT_OURS = ("ignore:fetch_:DeprecationWarning",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for text in NOT_OURS:
                item.add_marker(pytest.mark.filterwarnings(text))
