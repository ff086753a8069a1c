from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from quorate.answers import Answers
from quorate.diagnostics.diagnose import diagnose
from quorate.graph.components import identify
from quorate.graph.repair import repair
from tests.crowds import answers_of


def mended(answers: Answers, tasks: Any, workers: Any) -> bool:
    """Whether further answers make one component with an odd cycle."""
    added = [(int(t), int(w), 0) for t, w in zip(tasks, workers, strict=True)]
    old = [(int(t), int(w), 0) for t, w in zip(answers.task, answers.worker, strict=True)]
    identifiability = identify(answers_of([*old, *added], on_conflict="first"))
    return identifiability.n_components == 1 and bool(identifiability.identifiable[0])


def random_broken(seed: int) -> Answers:
    rng = np.random.default_rng(seed)
    n_workers, n_tasks = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    table = {(int(rng.integers(n_tasks)), worker) for worker in range(n_workers)}
    table |= {(t, int(rng.integers(n_workers))) for t in range(n_tasks)}
    return answers_of([(t, w, "xy"[(t + w) % 2]) for t, w in sorted(table)])


@pytest.mark.parametrize("block", range(10))
def test_the_repair_works_and_no_smaller_one_does(block: int) -> None:
    """200 random tiny crowds, those broken checked against every smaller set of assignments."""
    for seed in range(20 * block, 20 * block + 20):
        answers = random_broken(seed)
        plan = repair(answers, identify(answers))
        assert plan.possible
        assert mended(answers, plan.task, plan.worker)
        cells = set(product(range(answers.n_tasks), range(answers.n_workers)))
        cells -= set(zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
        for smaller in combinations(sorted(cells), max(plan.n_answers - 1, 0)):
            if plan.n_answers:
                assert not mended(answers, [t for t, _ in smaller], [w for _, w in smaller])


def test_two_workers_cannot_be_repaired_without_gold() -> None:
    answers = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "x")])
    assert not repair(answers, identify(answers)).possible
    assert "gold" in diagnose(answers).summary()
    assert diagnose(answers, gold={1: "x"}).result.identifiability.identifiable.all()


def test_the_diagnosis_names_components_witnesses_and_bounds() -> None:
    triangle = [(f"t{t}", w, "xy"[(t * k) % 2]) for t in range(12) for k, w in enumerate("abc")]
    pair = [(f"u{t}", w, "xy"[t % 2]) for t in range(3) for w in "pq"]
    found = diagnose(answers_of([*triangle, *pair, ("alone", "z", "x")])).to_dict()
    assert [part["workers"] for part in found["components"]] == [3, 2, 1]
    assert [part["identifiable"] for part in found["components"]] == [True, False, False]
    assert [part["bipartite"] for part in found["components"]] == [False, True, True]
    assert sorted(found["components"][0]["witness"]["odd_cycle"]) == ["a", "b", "c"]
    assert found["components"][1]["witness"]["sides"] == [["p"], ["q"]]
    assert [part["lambda_min"] for part in found["components"]] == [1.0, 0.0, 0.0]
    assert found["components"][0]["lambda_min_weighted"] == 12.0
    assert found["components"][0]["n_min"] == 12
    assert found["unidentifiable_workers"] == ["p", "q", "z"]
    assert found["repair"]["answers"] == 2
    assert found["components"][0]["bound"]["delta"] == 0.05


def test_everyone_meets_at_the_task_of_who_cannot_be_asked() -> None:
    """Three who met nobody, the last of whom is away: two answers to its task join them all and close a triangle."""
    answers = answers_of([(1, "a", "x"), (2, "b", "x"), (3, "z", "y")])
    found = repair(answers, identify(answers), available=np.array([0, 1]))
    assert sorted(zip(found.task.tolist(), found.worker.tolist(), strict=True)) == [(2, 0), (2, 1)]


def test_the_most_active_are_asked_first() -> None:
    """b and c make one group; c has answered more, and is asked to join a's task."""
    answers = answers_of([(1, "a", "x"), (1, "d", "x"), (2, "b", "x"), (2, "c", "x"), (3, "c", "x")])
    found = repair(answers, identify(answers))
    assert (found.task.tolist(), found.worker.tolist()) == ([0], [answers.worker_names.to_pylist().index("c")])


def test_newcomers_alone_join_what_nobody_there_can() -> None:
    """Both groups are away: one newcomer answers a task of each, and the triangle closes with it."""
    answers = answers_of([(t, w, "x") for t, two in enumerate(["ab", "cd"]) for w in two])
    found = repair(answers, identify(answers), available=np.array([4]))
    assert found.possible
    assert sorted(zip(found.task.tolist(), found.worker.tolist(), strict=True)) == [(0, 4), (1, 4)]


def test_who_is_there_joins_who_is_away_without_a_detour() -> None:
    """a and b met, c is there, z is away: c comes to their task, and one of those there answers z's."""
    answers = answers_of([(1, "a", "x"), (1, "b", "x"), (2, "c", "y"), (3, "z", "y")])
    found = repair(answers, identify(answers), available=np.array([0, 2]))
    assert sorted(zip(found.task.tolist(), found.worker.tolist(), strict=True)) == [(0, 2), (2, 0)]
