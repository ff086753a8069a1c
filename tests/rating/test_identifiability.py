"""What the design determines: components, odd cycles, two raters; no standard error where a scale is not identified."""

import numpy as np

import quorate
from tests.rating.crowds import crowd


def _bipartite(with_cycle: float = 0.0, seed: int = 0) -> dict[str, list[object]]:
    """Each task one rater of A and one of B, whose scales differ by 3; in some tasks two of A."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[object]] = {"task": [], "worker": [], "score": []}
    for task in range(400):
        q = rng.normal()
        a, other = rng.choice(5, 2, replace=False)
        raters = [(f"a{a}", 1.5), (f"b{rng.integers(5)}", 0.5)]
        if rng.random() < with_cycle:
            raters.append((f"a{other}", 1.5))
        for name, scale in raters:
            rows["task"].append(task)
            rows["worker"].append(name)
            rows["score"].append(scale * q + 0.3 * rng.normal())
    return rows


def test_bipartite_design_has_no_scales() -> None:
    found = quorate.rate(_bipartite())
    rows = found.workers.to_pylist()
    assert {row["status"] for row in rows} == {"not identified"}
    assert all(row["scale"] == 1.0 and row["scale_se"] is None for row in rows)
    note = next(note for note in found.notes if note.kind == "scales-not-identified")
    assert "third rater" in note.text


def test_odd_cycles_identify_the_scales() -> None:
    found = quorate.rate(_bipartite(with_cycle=0.5))
    rows = found.workers.to_pylist()
    assert {row["status"] for row in rows} <= {"identified"}
    mean = {side: np.mean([row["scale"] for row in rows if row["worker"][0] == side]) for side in "ab"}
    assert 2.5 < mean["a"] / mean["b"] < 3.6


def test_few_odd_cycles_identify_weakly() -> None:
    # One task in 400 closes a cycle: its evidence of the ratio of scales is as good as none.
    rows = _bipartite()
    rows["task"].append(0)
    rows["worker"].append(next(f"a{k}" for k in range(5) if f"a{k}" != rows["worker"][0]))
    rows["score"].append(0.1)
    found = quorate.rate(rows).workers.to_pylist()
    assert {row["status"] for row in found} <= {"weakly identified", "not identified"}
    strong = {row["worker"]: row["scale_se"] for row in quorate.rate(_bipartite(with_cycle=0.5)).workers.to_pylist()}
    assert all(row["scale_se"] is None or row["scale_se"] > 2 * strong[row["worker"]] for row in found)


def test_scales_of_two_blocks_with_a_narrow_link_are_weakly_identified() -> None:
    # Three tasks in 400 close odd cycles, and the fit converges: the ratio of the sides is known to a factor of e.
    statuses = []
    for seed in range(6):
        found = quorate.rate(_bipartite(with_cycle=0.005, seed=seed))
        statuses += found.workers["status"].to_pylist()
    assert "weakly identified" in statuses
    assert statuses.count("identified") < len(statuses) / 2


def test_components_are_named_and_the_repair_is_proposed() -> None:
    task, rater, score, _ = crowd(20, n_tasks=60, n_raters=8, per_task=4)
    both = {
        "task": [*task.tolist(), *(task + 1000).tolist()],
        "worker": [*rater.tolist(), *(rater + 1000).tolist()],
        "score": [*score.tolist(), *(score + 2).tolist()],
    }
    found = quorate.rate(both)
    components = dict(zip(found.scores["task"].to_pylist(), found.scores["component"].to_pylist(), strict=True))
    assert {components[t] for t in range(60)} != {components[1000 + t] for t in range(60)}
    note = next(note for note in found.notes if note.kind == "components")
    assert "2 groups" in note.text
    assert "1 more answer" in note.text
    joined = {key: [*values, extra] for (key, values), extra in zip(both.items(), (1000, 0, 3.0), strict=True)}
    assert not [note for note in quorate.rate(joined).notes if note.kind == "components"]


def test_two_raters_share_one_noise() -> None:
    rng = np.random.default_rng(0)
    q = rng.normal(size=80)
    score = np.concatenate([q + 0.2 * rng.normal(size=80), q + 1 + rng.normal(size=80)])
    found = quorate.rate({"task": [*range(80)] * 2, "worker": ["a"] * 80 + ["b"] * 80, "score": score})
    rows = found.workers.to_pylist()
    assert rows[0]["noise"] == rows[1]["noise"]
    assert [row["scale"] for row in rows] == [1.0, 1.0]
    mean = (score[:80] + score[80:]) / 2
    assert np.corrcoef(found.tasks.score, mean)[0, 1] > 1 - 1e-9
    assert any(note.kind == "two-raters" for note in found.notes)


def test_repeats_of_one_rater_close_no_cycle() -> None:
    rows = _bipartite()
    repeated = {key: [*values, values[0]] for key, values in rows.items()}
    repeated["score"][-1] = 0.5
    found = quorate.rate(repeated, on_conflict="mean")
    assert {row["status"] for row in found.workers.to_pylist()} == {"not identified"}


def test_raters_of_few_answers_are_marked() -> None:
    task, rater, score, _ = crowd(21, n_tasks=60, n_raters=8, per_task=4)
    rows = {
        "task": np.append(task, [0, 1]),
        "worker": np.append(rater, [99, 99]),
        "score": np.append(score, [0.0, 0.1]),
    }
    found = quorate.rate(rows).workers.to_pylist()
    assert next(row for row in found if row["worker"] == 99)["status"] == "few answers"
