"""Above a stated size tests use a sample of complete tasks: what it finds is counted over all answers, or named."""

from typing import Any

import numpy as np
import pytest

from quorate.advice.advise import advise
from quorate.answers import Answers
from quorate.blocks import sampling
from quorate.diagnostics import class_dependence
from quorate.diagnostics.diagnose import Diagnosis, diagnose
from quorate.evaluation.compare import compare
from quorate.graph import pairs
from quorate.graph.components import components_with_triangles, identify
from quorate.io.read import read
from quorate.simulate import crowd

INDIVIDUAL = ("adversary", "spammer", "likely-guesser", "below-typical", "one-button", "cannot-be-judged")


def two_groups(n_links: int, n_tasks: int = 600) -> Answers:
    """Groups of six and five workers; so many tasks are answered by one worker of each besides two of the first."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2 * n_tasks + n_links)
    rows: dict[str, list[Any]] = {"task": [], "worker": [], "label": []}
    for task in range(2 * n_tasks + n_links):
        start = 6 * (task // n_tasks) if task < 2 * n_tasks else 0
        workers = rng.choice(5 if start else 6, 3, replace=False) + start
        if task >= 2 * n_tasks:
            workers = np.append(workers, 6 + rng.integers(5))
        for worker in workers.tolist():
            rows["task"].append(f"t{task:05d}")
            rows["worker"].append(f"w{worker:02d}")
            rows["label"].append(int(truth[task] ^ (rng.random() < 0.15)))
    return read(rows)


def sampled(answers: Answers, n_answers: int, monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    monkeypatch.setattr(sampling, "MAX_PAIR_TEST_ANSWERS", n_answers)
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", n_answers)
    found = diagnose(answers)
    assert found.sample is not None
    assert found.sample.answers.n_answers <= n_answers
    return found


def test_links_of_a_group_are_counted_over_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = two_groups(12)
    (complete,) = diagnose(answers).of_kind("loosely-tied")
    (found,) = sampled(answers, 1_800, monkeypatch).of_kind("loosely-tied")
    assert (found.workers, found.evidence) == (complete.workers, complete.evidence)
    assert found.evidence["ties"] == 12


def test_a_group_with_many_links_is_not_named_because_the_sample_has_few(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = two_groups(150)
    assert diagnose(answers).of_kind("loosely-tied") == ()
    found = sampled(answers, 900, monkeypatch)
    assert found.sample is not None
    first = found.sample.answers.per_task > 3
    assert 0 < first.sum() < 50  # links in the sample: few enough to be proposed
    assert found.of_kind("loosely-tied") == ()


def test_advice_ties_the_group_that_a_sample_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = two_groups(12)
    complete = advise(answers, 30)
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 1_800)
    assert advise(answers, 30).reasons == complete.reasons
    assert complete.reasons


def test_a_side_that_shares_tasks_almost_only_with_the_other_is_counted_over_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every task has one worker of each side; eight tasks have two of one side."""
    rng = np.random.default_rng(1)
    rows: dict[str, list[Any]] = {"task": [], "worker": [], "label": []}
    for task in range(3_000):
        pair = (int(rng.integers(4)), 4 + int(rng.integers(4))) if task >= 8 else (task % 4, (task + 1) % 4)
        for worker in pair:
            rows["task"].append(task)
            rows["worker"].append(f"w{worker}")
            rows["label"].append(int(rng.random() < 0.8))
    answers = read(rows)
    (complete,) = diagnose(answers).of_kind("near-bipartite")
    (found,) = sampled(answers, 3_000, monkeypatch).of_kind("near-bipartite")
    assert {name: found.evidence[name] for name in ("sides", "ties", "meetings")} == {
        name: complete.evidence[name] for name in ("sides", "ties", "meetings")
    }


def test_single_workers_are_rated_by_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    skills = np.append(np.linspace(0.3, 0.9, 27), [-0.6, 0.0, 0.0])
    answers = crowd(2_000, 30, 5, skills=skills, seed=2).answers
    complete = diagnose(answers)
    found = sampled(answers, 1_000, monkeypatch)
    assert [each for each in found.findings if each.kind in INDIVIDUAL] == [
        each for each in complete.findings if each.kind in INDIVIDUAL
    ]
    assert found.agreement is not None
    assert complete.agreement is not None
    assert found.agreement.overall == complete.agreement.overall
    assert [part["workers"] for part in found.to_dict()["components"]] == [30]


def test_every_sample_is_named_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = crowd(1_000, 20, 5, seed=3).answers
    monkeypatch.setattr(sampling, "MAX_PAIR_TEST_ANSWERS", 3_000)
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 2_000)
    monkeypatch.setattr(class_dependence, "MAX_CLASS_TEST_ANSWERS", 1_000)
    found = diagnose(answers)
    assert found.sample_lines() == [
        "Tests of pairs use 600 tasks (3,000 answers), of groups and tasks use 400 tasks (2,000 answers), of classes "
        "use 200 tasks (1,000 answers), chosen by a hash of the task ids; single workers are rated by all answers."
    ]
    fields = found.to_dict()
    names = ("pair_test_sample", "test_sample", "class_test_sample")
    assert [fields[name]["n_answers"] for name in names] == [3_000, 2_000, 1_000]
    for finding in found.of_kind("class-dependent-accuracy"):
        assert finding.evidence["held_out_answers"] <= 1_000


@pytest.mark.parametrize(
    ("n_pair_answers", "pairs_are_sampled", "untested"),
    [(10_000, False, "which pairs agree"), (3_000, True, "which pairs agree"), (500, True, "")],
)
def test_no_sample_is_named_for_tests_that_are_not_made(
    n_pair_answers: int, pairs_are_sampled: bool, untested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples of 10,000 and 3,000 answers have too many pairs, those of 500 and 1,000 answers have not."""
    answers = crowd(1_000, 20, 5, seed=3).answers
    monkeypatch.setattr(pairs, "MAX_ANSWER_PAIRS", 4_000)
    monkeypatch.setattr(sampling, "MAX_PAIR_TEST_ANSWERS", n_pair_answers)
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 1_000)
    found = diagnose(answers)
    is_tested = not untested
    assert ("pairs" in found.samples) is (pairs_are_sampled and is_tested)
    assert [reason.split(":")[0] for reason in found.not_asked] == (
        [] if is_tested else ["which pairs agree more than their skills explain"]
    )
    assert "groups and tasks" in found.samples
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 3_000)
    found = diagnose(answers)
    assert "tasks" in found.samples
    assert any("which groups share few tasks" in reason for reason in found.not_asked)
    monkeypatch.setattr(class_dependence, "MAX_CLASS_TEST_ANSWERS", 50)
    found = diagnose(answers)
    assert "classes" not in found.samples
    assert "class_test_sample" not in found.to_dict()


@pytest.mark.parametrize("has_triangles", [True, False])
def test_witnesses_of_large_crowds_hold(has_triangles: bool) -> None:
    """Without the third answer of each task no task has three workers, so the graph is searched."""
    answers = two_groups(0)
    if not has_triangles:
        dropped = answers.start[:-1] + np.random.default_rng(0).integers(0, 3, answers.n_tasks)
        answers = answers.where(~np.isin(np.arange(answers.n_answers), dropped))
    parts = list(components_with_triangles(answers, identify(answers)))
    assert [part.workers.tolist() for part in parts] == [list(range(6)), list(range(6, 11))]
    shared = {
        (one, two)
        for task in range(answers.n_tasks)
        for one in _workers(answers, task)
        for two in _workers(answers, task)
    }
    for part in parts:
        assert len(part.odd_cycle) % 2 == 1
        assert all(pair in shared for pair in zip(part.odd_cycle, part.odd_cycle[1:] + part.odd_cycle[:1], strict=True))


def _workers(answers: Answers, task: int) -> list[int]:
    workers: list[int] = answers.worker[answers.start[task] : answers.start[task + 1]].tolist()
    return workers


def test_methods_are_compared_on_a_sample_that_is_named() -> None:
    answers = crowd(1_000, 20, 5, seed=3).answers
    found = compare(answers, methods=["quorate", "majority"], most_answers=2_000)
    assert found.sample is not None
    assert found.n_tasks == 400
    alone = compare(found.sample.answers, methods=["quorate", "majority"])
    assert found.agreement() == alone.agreement()
    assert found.sample_line() == [
        "The methods were compared on a sample of 400 tasks (2,000 answers), chosen by a hash of the task ids."
    ]
    assert found.summary().endswith(found.sample_line()[0])
    assert found.label_table(answers)["task"].to_pylist() == found.sample.answers.task_names.to_pylist()
    assert found.to_dict()["test_sample"]["of_tasks"] == 1_000
    complete = compare(answers, methods=["quorate", "majority"], most_answers=5_000)
    assert complete.sample is None
    assert "test_sample" not in complete.to_dict()


def test_advice_names_the_sample_of_what_was_examined_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 1_800)
    connected = advise(crowd(1_000, 20, 5, seed=3).answers, 30).summary()
    assert "Whether more answers help, and which groups share few tasks, was examined on a sample" in connected
    linked_by_few = advise(two_groups(12), 30)  # groups are joined by a plan for all tasks
    assert "\nWhich groups share few tasks was examined on a sample" in linked_by_few.summary()
    components = advise(two_groups(0), 30)
    assert "was examined on a sample" not in components.summary()
    assert "test_sample" not in components.to_dict()


def test_a_plan_of_many_classes_uses_fewer_tasks_and_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = crowd(1_000, 20, 5, seed=3).answers
    of_all = advise(answers, 30)
    monkeypatch.setattr(sampling, "MAX_PLANNED_CELLS", 800)  # 400 tasks of two classes
    found = advise(read(answers.to_table()), 30)
    assert "Whether more answers help was examined on a sample of 400 tasks (2,000 answers)" in found.summary()
    assert found.to_dict()["test_sample"]["n_tasks"] == 400
    assert of_all.prospect is not None
    assert found.prospect is not None
    assert found.prospect.after == pytest.approx(of_all.prospect.after, abs=0.02)


def test_advice_names_each_of_two_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 1_800)
    monkeypatch.setattr(sampling, "MAX_PLANNED_CELLS", 400)  # 200 tasks of two classes
    lines = advise(crowd(1_000, 20, 5, seed=3).answers, 30).summary()
    assert "Whether more answers help was examined on a sample of 200 tasks (1,000 answers)" in lines
    assert "Which groups share few tasks was examined on a sample of 360 tasks (1,800 answers)" in lines
