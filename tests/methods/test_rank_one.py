"""The promises of the design, each with a test."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.evaluation.metrics import expected_error
from quorate.notes import UNDETERMINED
from quorate.skills.solvers import SOLVERS
from tests.crowds import answers_of, rows

rank_one = partial(quorate.aggregate, method="rank-one")


def shuffled(answers: Answers, rng: np.random.Generator) -> tuple[Answers, Any, Any, Any]:
    """The same answers with tasks, workers and classes renumbered."""
    t, w, c = (rng.permutation(n) for n in (answers.n_tasks, answers.n_workers, answers.n_classes))
    task, worker, label = t[answers.task], w[answers.worker], c[answers.label]
    order = np.lexsort([worker, task])
    names = [
        names.take(pa.array(np.argsort(p)))
        for names, p in ((answers.task_names, t), (answers.worker_names, w), (answers.classes, c))
    ]
    return Answers(task[order], worker[order], label[order], *names), t, w, c


@pytest.mark.parametrize("n_classes", [2, 4])
def test_renumbering_permutes_the_result_and_changes_nothing_else(n_classes: int) -> None:
    answers = simulate.crowd(200, 15, 3, n_classes=n_classes, seed=n_classes).answers
    other, t, w, c = shuffled(answers, np.random.default_rng(0))
    one, two = (rank_one(each, tolerance=1e-10) for each in (answers, other))
    assert two.skills[w] == pytest.approx(one.skills, abs=1e-6)
    assert two.vote.posterior[t][:, c] == pytest.approx(one.vote.posterior, abs=1e-5)
    untied = ~one.vote.tied
    assert (two.vote.label[t][untied] == c[one.vote.label][untied]).all()


def test_the_same_input_gives_the_same_bytes() -> None:
    answers = simulate.crowd(300, 20, 3, seed=1).answers
    one, two = (rank_one(answers) for _ in range(2))
    assert one.labels == two.labels
    assert one.workers == two.workers
    assert one.posterior == two.posterior


@given(rows(), st.sampled_from(["quorate", "rank-one", "majority"]))
def test_every_task_and_worker_comes_out(table: list[tuple[int, str, str]], method: str) -> None:
    answers = answers_of(table)
    result = quorate.aggregate(answers, method)
    assert result.labels["task"].to_pylist() == answers.task_names.to_pylist()
    assert result.labels["label"].null_count == 0
    assert result.workers["worker"].to_pylist() == answers.worker_names.to_pylist()
    assert result.vote.posterior.sum(axis=1) == pytest.approx(1)
    undetermined = np.array([status.startswith("undetermined") for status in result.workers["status"].to_pylist()])
    if method != "majority":
        assert (np.isnan(result.skills) == undetermined).all()
        assert ("be rated" in result.summary().splitlines()[0]) == undetermined.any()


TRIANGLE = [(t, w, "x" if (t + k) % 3 else "y") for t in range(6) for k, w in enumerate("abc")]


@pytest.mark.parametrize(
    ("table", "reason", "in_words"),
    [
        (
            [(t, w, "x") for t in range(3) for w in "abc"],
            "all answers are the same",
            "gave the same answer every time",
        ),
        ([(t, "a", "xy"[t % 2]) for t in range(4)], "shares no task with others", "no other workers to compare"),
        ([(t, f"w{t}", "xy"[t % 2]) for t in range(4)], "shares no task with others", "share no task"),
        (
            [(t, w, "xy"[t % 2]) for t in range(4) for w in (f"w{t}", f"v{t}")],
            "the workers form two sides that share tasks only with each other",
            "two sides",
        ),
    ],
    ids=["one class", "one worker", "one worker a task", "all bipartite"],
)
def test_undetermined_input_is_no_error(table: list[tuple[int, str, str]], reason: str, in_words: str) -> None:
    result = rank_one(answers_of(table))
    majority = quorate.aggregate(answers_of(table), "majority")
    assert result.labels["label"].to_pylist() == majority.labels["label"].to_pylist()
    assert set(result.workers["status"].to_pylist()) == {f"undetermined: {reason}"}
    assert result.workers["skill"].null_count == len(result.workers)
    first = result.summary().splitlines()[0]
    assert in_words in first
    # Where further answers make ratings possible, the warning names them and how to plan them.
    assert ("make ratings possible: quorate.next_steps(answers)" in first) == in_words.startswith(
        ("two sides", "share")
    )


def test_an_undetermined_worker_takes_part_with_the_mean_skill_and_is_marked() -> None:
    crowd = simulate.crowd(300, 10, 3, seed=0).answers
    table = [(f"t{t}", f"w{w}", f"c{c}") for t, w, c in zip(crowd.task, crowd.worker, crowd.label, strict=True)]
    result = rank_one(answers_of([*table, ("new", "p", "c0"), ("new", "q", "c1"), ("alone", "r", "c1")]))
    status = dict(zip(result.workers["worker"].to_pylist(), result.workers["status"].to_pylist(), strict=True))
    assert (
        status["p"] == status["q"] == "undetermined: the workers form two sides that share tasks only with each other"
    )
    assert status["r"] == "undetermined: shares no task with others"
    known = ~np.isnan(result.skills)
    mean = np.average(result.skills[known], weights=result.answers.per_worker[known])
    assert result.weights[~known] == pytest.approx(np.log((1 + mean) / (1 - mean)))
    labels = {row["task"]: row for row in result.labels.to_pylist()}
    assert labels["new"]["tied"]
    assert labels["alone"]["label"] == "c1"
    assert labels["alone"]["confidence"] == pytest.approx((1 + mean) / 2)


def test_components_are_solved_each_on_its_own() -> None:
    one, two = (simulate.crowd(300, 8, 3, seed=seed).answers for seed in (0, 1))
    table = [
        (f"{part}{t}", f"{part}{w}", f"c{c}")
        for part, a in (("a", one), ("b", two))
        for t, w, c in zip(a.task, a.worker, a.label, strict=True)
    ]
    both = rank_one(answers_of(table), tolerance=1e-10)
    apart = {
        f"{part}{code}": skill
        for part, a in (("a", one), ("b", two))
        for code, skill in enumerate(rank_one(a, tolerance=1e-10).skills)
    }
    assert both.identifiability.n_components == 2
    for worker, skill in zip(both.workers["worker"].to_pylist(), both.skills, strict=True):
        assert skill == pytest.approx(apart[worker], abs=1e-6)


def test_a_component_of_mostly_adversaries_is_turned_round_by_the_sum_rule_and_by_gold_set_right() -> None:
    skills = np.array([-0.8, -0.7, -0.6, 0.5])
    crowd = simulate.crowd(400, 4, 4, skills=skills, seed=0)
    assert rank_one(crowd.answers).skills == pytest.approx(-skills, abs=0.15)
    names = crowd.truth_table.to_pylist()
    gold = {row["task"]: row["label"] for row in names[:60]}
    for solver in SOLVERS:
        anchored = rank_one(crowd.answers, gold=gold, solver=solver)
        assert anchored.skills == pytest.approx(skills, abs=0.2), solver
        assert anchored.labels["label"].to_pylist()[:60] == list(gold.values())
        assert anchored.labels["confidence"].to_pylist()[:60] == [1.0] * 60


def test_gold_makes_a_bipartite_component_identifiable() -> None:
    crowd = simulate.crowd_on_graph(simulate.star(4, odd_cycle=False), np.array([0.8, 0.6, 0.7, 0.5]), 1500, seed=0)
    assert not rank_one(crowd.answers).identifiability.identifiable.any()
    gold = {row["task"]: row["label"] for row in crowd.truth_table.to_pylist()[:400]}
    result = rank_one(crowd.answers, gold=gold)
    assert result.skills == pytest.approx(crowd.skills, abs=0.15)


@pytest.mark.parametrize(
    "options", [{"weighting": "binary"}, {"weighting": "squared"}, {"threshold": 0.02}, {"tau": 0}]
)
def test_every_option_estimates_a_good_crowd_well(options: dict[str, Any]) -> None:
    # A pair shares some 700 tasks, so a correlation is off by 0.04 and a skill, from 11 pairs, by about half of that.
    crowd = simulate.crowd(8000, 12, 4, skills=np.linspace(0.4, 0.9, 12), seed=3)
    result = rank_one(crowd.answers, **options)
    assert result.skills == pytest.approx(crowd.skills, abs=0.12)


def test_the_threshold_sets_spammers_aside() -> None:
    skills = np.array([0.9, 0.8, 0.7, 0.6, 0.0, 0.0])
    crowd = simulate.crowd(3000, 6, 6, skills=skills, seed=0)
    result = rank_one(crowd.answers, threshold=0.05)
    assert result.workers["status"].to_pylist()[4:] == ["ignored: no correlation above the threshold"] * 2
    assert result.weights[4:].tolist() == [0.0, 0.0]


def test_rank_one_beats_majority_vote_where_skills_differ() -> None:
    crowd = simulate.crowd(3000, 40, 5, skills=simulate.grid_skills(40, -0.3, 0.8, seed=0), seed=0)
    ours, theirs = (
        expected_error(quorate.aggregate(crowd.answers, m), crowd.truth_table).error for m in ("rank-one", "majority")
    )
    assert ours < theirs - 0.05


def test_the_result_speaks_arrow_pandas_and_polars() -> None:
    result = rank_one(answers_of(TRIANGLE))
    assert pa.table(result.labels).column_names == ["task", "label", "confidence", "margin", "n_answers", "tied"]
    assert list(result.workers.to_pandas().columns) == [
        "worker", "skill", "skill_low", "skill_high", "standard_error", "accuracy", "weight", "n_answers", "n_peers",
        "component", "status",
    ]  # fmt: skip
    assert result.posterior.to_polars().columns == ["task", "label", "probability"]
    assert len(result.posterior) == 6 * 2
    assert result.workers["n_peers"].to_pylist() == [2, 2, 2]


def test_a_worker_whose_mates_all_gave_one_answer_is_not_determined() -> None:
    """With tau = 1 a worker of one answer has skill zero; whoever met only such workers has nothing to go by."""
    table = [(1, "a", "x"), (1, "b", "x"), (1, "c", "y"), (2, "a", "y"), (2, "d", "y"), (2, "e", "x")]
    result = rank_one(answers_of(table))
    status = dict(zip(result.workers["worker"].to_pylist(), result.workers["status"].to_pylist(), strict=True))
    assert status["a"] == "undetermined: shares tasks only with workers who guess"


def test_several_groups_of_two_sides_are_not_described_as_one() -> None:
    rows = [(f"t{pair}", f"{pair}{side}", side) for pair in range(3) for side in "xy"]
    result = quorate.aggregate(answers_of(rows), "rank-one")
    (note,) = [note for note in result.notes if note.kind == UNDETERMINED]
    assert "None of the 6 workers can be rated: they form 3 groups, each with two sides" in note.text
