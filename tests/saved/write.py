"""Write results to this folder, to test that later versions load them.

Run it with the version whose files are wanted: ``PYTHONPATH=src python tests/saved/write.py``. The files here were
written at commit 12ba662d, before fields and functions in results got other names.
"""

import json
from pathlib import Path
from typing import Any

import quorate

FOLDER = Path(__file__).parent
CROWD = quorate.simulate.crowd(60, 8, 4, n_classes=3, seed=3)


def rows() -> dict[str, list[Any]]:
    """Return the answers as columns."""
    return {name: CROWD.answer_table[name].to_pylist() for name in ("task", "worker", "label")}


def gold() -> dict[str, str]:
    """Return known labels of some tasks."""
    truth = zip(CROWD.truth_table["task"].to_pylist(), CROWD.truth_table["label"].to_pylist(), strict=True)
    return dict(list(truth)[::6])


def with_derived_values(result: quorate.Result) -> quorate.Result:
    """Compute what results store when it is first used."""
    result.summary()
    assert result.diagnosis is not None
    quorate.advise(result, 5)
    return result


def results() -> dict[str, quorate.Result]:
    """Return results that contain each class whose fields got other names."""
    workers = sorted(set(rows()["worker"]))
    n = len(workers)
    known_workers = {"worker": workers, "skill": [0.5] * n, "skill_low": [0.4] * n, "skill_high": [0.6] * n}
    unsure = {**rows(), "label": ["?" if k % 7 == 0 else label for k, label in enumerate(rows()["label"])]}
    groups = {worker: f"g{k % 4}" for k, worker in enumerate(workers)}
    few = quorate.aggregate(quorate.simulate.crowd(6, 4, 3, seed=1).answers)
    assert few.diagnosis.agreement is not None
    assert few.diagnosis.agreement.by_worker is not None
    return {
        "agreement": few,
        "gold": with_derived_values(quorate.aggregate(rows(), gold=gold())),
        "known_workers": quorate.aggregate(rows(), skills=known_workers),
        "judges": quorate.aggregate(rows(), judges=True),
        "abstentions": quorate.aggregate(unsure, abstain=["?"]),
        "groups": quorate.aggregate(rows(), group=groups),
        "mace": quorate.aggregate(rows(), "mace"),
        "majority": quorate.aggregate(rows(), "majority"),
        "thresholded": quorate.aggregate(rows(), "rank-one", threshold=0.01),
        "engine": quorate.backends.aggregate(rows(), most=0),
    }


if __name__ == "__main__":
    labels = {}
    for name, result in results().items():
        labels[name] = result.labels["label"].to_pylist()
        result.workers  # noqa: B018 (stored, because files do not contain the blocks of an engine)
        result.save(FOLDER / f"{name}.quorate")
    (FOLDER / "labels.json").write_text(json.dumps(labels) + "\n")
