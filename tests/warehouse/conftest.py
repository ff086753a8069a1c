from pathlib import Path

import pytest

HERE = Path(__file__).parent

# What ibis and Spark say to each other, to DuckDB and to pandas is not ours to mend.
NOT_OURS = (
    "ignore:fetch_:DeprecationWarning",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:The 'future.infer_string' option:",
    "ignore:unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for text in NOT_OURS:
                item.add_marker(pytest.mark.filterwarnings(text))
