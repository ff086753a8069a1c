from typing import Any

import pytest

import quorate


@pytest.fixture(scope="module")
def data() -> Any:
    crowd = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, n_classes=3, seed=3)
    frame = crowd.answers.to_table().to_pandas()
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)
