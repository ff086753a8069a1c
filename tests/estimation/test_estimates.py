"""`quorate.estimate`: what it states, what it rests on, and what it refuses."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.errors import ColumnTypeError, MissingColumnError, NoRowsError, OptionError
from quorate.estimation.estimate import Estimates, estimate
from quorate.simulate import Crowd


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return quorate.simulate.crowd(400, 12, 4, n_classes=3, seed=4)


def known(crowd: Crowd, n: int, seed: int = 0) -> dict[str, Any]:
    rows = np.random.default_rng(seed).permutation(crowd.answers.n_tasks)[:n]
    truth = crowd.truth_table.arrow.take(pa.array(rows))
    return {name: truth[name].to_pylist() for name in ("task", "label")}


def model(crowd: Crowd, right: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    labels = np.array(crowd.truth_table["label"].to_pylist())
    predicted = np.where(rng.random(len(labels)) < right, labels, rng.permutation(labels))
    return {"task": crowd.truth_table["task"].to_pylist(), "label": predicted.tolist()}


@pytest.fixture(scope="module")
def found(crowd: Crowd) -> Estimates:
    return estimate(
        crowd.answers,
        gold=known(crowd, 100),
        predictions={"good": model(crowd, 0.9, 1), "poor": model(crowd, 0.5, 2)},
        value={"c0": 0, "c1": 1, "c2": 5},
        tasks={"task": crowd.truth_table["task"].to_pylist(), "part": ["a", "b"] * 200},
        by="part",
        plan=0.05,
    )


def holds(each: Any, truth: float) -> bool:
    return bool(each.low <= truth + 1e-9 and truth - 1e-9 <= each.high)


def test_every_figure_holds_the_truth_on_this_crowd(crowd: Crowd, found: Estimates) -> None:
    """One draw of many: all figures of this one hold but for those that chance allows for."""
    truth = crowd.truth
    predictions = {
        m.name: np.array([int(label[1]) for label in model(crowd, r, s)["label"]])
        for m, r, s in zip(found.models, (0.9, 0.5), (1, 2), strict=True)
    }
    checks = [holds(found.prevalence[f"c{c}"], (truth == c).mean()) for c in range(3)]
    checks.append(holds(found.mean, np.array([0, 1, 5])[truth].mean()))
    for m in found.models:
        labels = predictions[m.name]
        checks.append(holds(m.accuracy, (labels == truth).mean()))
        for c in range(3):
            checks.append(holds(m.precision[f"c{c}"], (truth[labels == c] == c).mean()))
            checks.append(holds(m.recall[f"c{c}"], (labels[truth == c] == c).mean()))
            checks += [holds(m.confusion[f"c{c}", f"c{d}"], ((truth == c) & (labels == d)).mean()) for d in range(3)]
    right = [predictions[name] == truth for name in ("good", "poor")]
    checks.append(holds(found.difference, right[0].mean() - right[1].mean()))
    assert found.wins is not None
    checks += [holds(found.wins[0], (right[0] & ~right[1]).mean()), holds(found.wins[1], (right[1] & ~right[0]).mean())]
    for k, part in enumerate(found.parts):
        here = np.arange(400) % 2 == k
        checks += [holds(part.prevalence[f"c{c}"], (truth[here] == c).mean()) for c in range(3)]
    assert len(checks) == 45
    assert sum(checks) >= 40  # at 95 % two fail on average


def test_answers_narrow_what_known_labels_say(found: Estimates) -> None:
    ratios = [each.ratio for each in found.prevalence.values()]
    assert max(each for each in ratios if each is not None) < 0.8
    assert found.plan is not None
    assert found.plan.n_needed < found.plan.n_alone


def test_the_json_has_the_keys_that_are_promised(found: Estimates) -> None:
    content = found.to_dict()
    keys = {"share", "low", "high", "known_only_low", "known_only_high"}
    assert all({"label", *keys} <= set(each) for each in content["prevalence"])
    assert keys <= set(content["accuracy"])
    assert "label" not in content["accuracy"]
    assert (content["n_known"], content["method"]) == (100, "prediction-powered")
    assert "if the known labels are a random sample of the tasks" in content["assumptions"][0]
    assert [each["model"] for each in content["models"]] == ["good", "poor"]
    assert content["by"]["parts"][0]["n_tasks"] == 200


def test_known_labels_correct_a_crowd_that_is_wrong_altogether(crowd: Crowd) -> None:
    """Every known label is c0: whatever the crowd says, the share of c0 is near one."""
    wrong = known(crowd, 60)
    found = estimate(crowd.answers, gold={**wrong, "label": ["c0"] * 60}, sampled="random")
    low = found.prevalence["c0"].low
    assert low is not None
    assert low > 0.9


def test_the_guess_has_not_seen_the_known_labels(crowd: Crowd) -> None:
    """The same task's label, changed, moves the estimate by that task's weight and no more."""
    one = known(crowd, 50)
    two = {
        **one,
        "label": [
            "c1" if label == "c0" and k == one["label"].index("c0") else label for k, label in enumerate(one["label"])
        ],
    }
    before, after = (estimate(crowd.answers, gold=each).prevalence["c2"] for each in (one, two))
    assert before == after


# --- without known labels ---


def test_without_known_labels_it_rests_on_the_model_and_says_so(crowd: Crowd) -> None:
    found = estimate(crowd.answers, predictions=model(crowd, 0.9, 1))
    assert found.method == "model"
    assert "these intervals assume" in found.assumptions[0]
    posterior = quorate.aggregate(crowd.answers).vote.posterior
    for c in range(3):
        each = found.prevalence[f"c{c}"]
        assert each.value == pytest.approx(posterior[:, c].mean())
        assert holds(each, (crowd.truth == c).mean())
        assert each.known_only_low is None
    assert found.accuracy is not None


def test_a_panel_of_models_rests_on_public_panels(crowd: Crowd) -> None:
    rows = crowd.answer_table.arrow.to_pydict()
    numbers = {worker: k for k, worker in enumerate(sorted(set(rows["worker"])))}
    rows["worker"] = [f"gpt-4o-{numbers[worker]}" for worker in rows["worker"]]
    panel = estimate(rows)
    assert "public panels of language models" in panel.assumptions[0]
    people = estimate(crowd.answers)
    assert "26 public datasets" in people.assumptions[0]
    for label, share in people.prevalence.items():
        wider = panel.prevalence[label]
        assert None not in (share.low, share.high, wider.low, wider.high)
        assert wider.high - wider.low > share.high - share.low  # type: ignore[operator]


def test_labels_of_no_random_sample_teach_the_model_but_promise_nothing(crowd: Crowd) -> None:
    found = estimate(crowd.answers, gold=known(crowd, 40), sampled="unknown")
    assert (found.method, found.n_known, found.n_drawn) == ("model", 40, 0)


# --- how known labels were sampled ---


def labels_of(crowd: Crowd, rows: Any) -> dict[str, Any]:
    truth = crowd.truth_table.arrow.take(pa.array(rows))
    return {name: truth[name].to_pylist() for name in ("task", "label")}


def test_labels_that_cannot_be_a_random_sample_are_not_used_as_one(crowd: Crowd) -> None:
    result = quorate.aggregate(crowd.answers)
    gold = labels_of(crowd, np.argsort(result.vote.confidence)[:40])
    found = estimate(crowd.answers, gold=gold)
    assert (found.method, found.n_known, found.n_drawn) == ("model", 40, 0)
    assert found.imbalance is not None
    assert "do not look like a random sample" in found.imbalance
    assert "the confidence is 0." in found.imbalance
    assert "sampled='random'" in found.imbalance
    assert found.imbalance in found.summary()
    assert found.to_dict()["imbalance"] == found.imbalance


def test_whoever_says_how_labels_were_drawn_is_believed_and_shown_what_speaks_against_it(crowd: Crowd) -> None:
    gold = labels_of(crowd, np.flatnonzero(crowd.truth == 0)[:40])
    found = estimate(crowd.answers, gold=gold, sampled="random")
    assert found.method == "prediction-powered"
    assert found.imbalance is not None
    assert "as you declared" in found.imbalance
    assert "the probability of 'c0' is" in found.imbalance
    unknown = estimate(crowd.answers, gold=gold, sampled="unknown")
    assert (unknown.method, unknown.imbalance) == ("model", None)
    with pytest.raises(
        OptionError, match=r"only the default method has intervals, not 'majority' \(The known labels do not"
    ):
        estimate(crowd.answers, gold=gold, method="majority")


@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.parametrize("skills", [np.linspace(0.4, 0.9, 12), np.full(12, 0.25), np.zeros(12)])
def test_labels_of_one_class_do_not_make_all_tasks_of_that_class(c: int, skills: Any) -> None:
    """Taken for a random sample they state a share of .93 to 1.00, where the truth is about .5."""
    made = quorate.simulate.crowd(500, 12, 4, skills=skills, seed=7)
    gold = labels_of(made, np.flatnonzero(made.truth == c)[:50])
    found = estimate(made.answers, gold=gold)
    assert holds(found.prevalence[f"c{c}"], (made.truth == c).mean())
    assert found.imbalance is not None
    low = estimate(made.answers, gold=gold, sampled="random").prevalence[f"c{c}"].low
    assert low is not None
    assert low > 0.9


def test_random_labels_that_contradict_a_crowd_that_is_mostly_wrong_are_covered() -> None:
    skills, prior = np.linspace(-0.8, -0.3, 12), np.array([0.8, 0.2])
    made = quorate.simulate.crowd(500, 12, 5, skills=skills, prior=prior, seed=3)
    gold = labels_of(made, np.random.default_rng(0).permutation(500)[:60])
    found = estimate(made.answers, gold=gold)
    assert found.imbalance is not None
    assert "contradict the answers" in found.imbalance
    assert holds(found.prevalence["c0"], (made.truth == 0).mean())
    declared = estimate(made.answers, gold=gold, sampled="random")
    assert declared.imbalance is None
    assert holds(declared.prevalence["c0"], (made.truth == 0).mean())
    wide, narrow = found.prevalence["c0"], declared.prevalence["c0"]
    assert None not in (wide.low, wide.high, narrow.low, narrow.high)
    assert (wide.high or 0) - (wide.low or 0) > 2 * ((narrow.high or 0) - (narrow.low or 0))


# --- answers that support nothing ---


@pytest.mark.parametrize(
    ("rows", "needed"),
    [
        ({"task": [1], "worker": ["a"], "label": ["x"]}, "classes="),
        ({"task": list(range(20)), "worker": ["a"] * 20, "label": ["x", "y"] * 10}, "gold="),
        ({"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x"] * 4}, "classes="),
    ],
)
def test_one_worker_or_one_class_leaves_it_undecided(rows: dict[str, Any], needed: str) -> None:
    found = estimate(rows, predictions={"task": rows["task"], "label": rows["label"]})
    assert found.method == "undecided"
    assert all(each.value is each.low is each.high is None for each in found.prevalence.values())
    assert found.accuracy is not None
    assert found.accuracy.value is None
    assert "Nothing can be estimated" in found.summary()
    assert needed in found.summary()


def test_a_random_sample_of_known_labels_decides_of_one_worker() -> None:
    made = quorate.simulate.crowd(300, 1, 1, skills=np.array([0.7]), seed=2)
    found = estimate(made.answers, gold=known(made, 60))
    assert found.method == "prediction-powered"
    assert holds(found.prevalence["c1"], (made.truth == 1).mean())
    plan = estimate(made.answers, plan=0.05).plan
    assert plan is not None
    assert 150 < plan.n_needed == plan.n_alone < 300


def test_what_advice_wrote_is_taken_as_it_was_drawn(crowd: Crowd) -> None:
    advice = quorate.suggest_gold(crowd.answers, 60, seed=1)
    rows = advice.tasks.to_pylist()
    label = dict(zip(*(crowd.truth_table[name].to_pylist() for name in ("task", "label")), strict=True))
    gold = {
        "task": [row["task"] for row in rows],
        "label": [label[row["task"]] for row in rows],
        "inclusion_probability": [row["inclusion_probability"] for row in rows],
    }
    found = estimate(crowd.answers, gold=gold)
    assert (found.n_known, found.n_drawn) == (60, 20)
    assert "inclusion" not in found.assumptions[0]
    assert "`quorate advise --expert`" in found.assumptions[0]
    with pytest.raises(OptionError, match="needs the column inclusion_probability"):
        estimate(crowd.answers, gold={name: gold[name] for name in ("task", "label")}, sampled="advised")
    with pytest.raises(ColumnTypeError, match="correct it in row 1 of the known labels"):
        estimate(crowd.answers, gold={**gold, "inclusion_probability": [2.0, *gold["inclusion_probability"][1:]]})


def test_too_few_known_labels_are_refused(crowd: Crowd) -> None:
    with pytest.raises(OptionError, match=r"4 known labels are too few for an interval; at least 5 are needed"):
        estimate(crowd.answers, gold=known(crowd, 4))
    assert estimate(crowd.answers, gold=known(crowd, 5)).prevalence["c0"].low is not None


def test_a_part_with_too_few_known_labels_has_a_figure_but_no_interval(crowd: Crowd) -> None:
    gold = known(crowd, 30)
    tasks = crowd.truth_table["task"].to_pylist()
    part = [
        "few" if task in gold["task"][:2] or (k < 20 and task not in gold["task"]) else "many"
        for k, task in enumerate(tasks)
    ]
    found = estimate(crowd.answers, gold=gold, tasks={"task": tasks, "part": part}, by="part")
    few, many = found.parts
    assert (few.value, many.value) == ("few", "many")
    assert few.n_known == 2
    assert (few.prevalence["c0"].low, few.prevalence["c0"].value is None) == (None, False)
    assert many.prevalence["c0"].low is not None
    assert "No interval is stated if there are fewer than 5" in found.summary()


# --- predictions ---


def test_predictions_for_unknown_tasks_and_classes_are_counted_and_reported(crowd: Crowd) -> None:
    predictions = model(crowd, 0.9, 1)
    predictions = {
        "task": [*predictions["task"][:-10], "elsewhere"],
        "label": ["unknown", *predictions["label"][1:-10], "c0"],
    }
    found = estimate(crowd.answers, predictions=predictions)
    assert found.notes == (
        "'model 1' has 1 prediction for tasks that nobody answered; it is ignored",
        "'model 1' has no prediction for 10 tasks",
        "'model 1' has 1 prediction of a class that nobody gave; it counts as wrong",
    )
    assert found.models[0].n_predicted == 390


def test_probabilities_count_as_the_likeliest_class(crowd: Crowd) -> None:
    predictions = model(crowd, 0.9, 1)
    wide = {f"c{c}": [0.8 if label == f"c{c}" else 0.1 for label in predictions["label"]] for c in range(3)}
    one, two = (
        estimate(crowd.answers, predictions=each) for each in (predictions, {"task": predictions["task"], **wide})
    )
    assert one.accuracy == two.accuracy


def test_bad_predictions_are_reported(crowd: Crowd) -> None:
    predictions = model(crowd, 0.9, 1)
    with pytest.raises(NoRowsError, match="have no task in common"):
        estimate(crowd.answers, predictions={"task": ["x"], "label": ["c0"]})
    with pytest.raises(MissingColumnError, match="probability of each class in a column"):
        estimate(crowd.answers, predictions={"task": predictions["task"], "guess": predictions["label"]})
    with pytest.raises(OptionError, match="two models can be compared, but 3 were given"):
        estimate(crowd.answers, predictions=[predictions, predictions, predictions])
    with pytest.raises(ColumnTypeError, match="row 1 has a probability that is missing or not between 0 and 1"):
        estimate(crowd.answers, predictions={"task": ["t0"], "c0": [1.5], "c1": [0.0], "c2": [0.0]})


def test_options_that_make_no_sense_are_reported(crowd: Crowd) -> None:
    with pytest.raises(OptionError, match="value= lacks 'c2'"):
        estimate(crowd.answers, value={"c0": 1, "c1": 2})
    with pytest.raises(OptionError, match="must give a number for each of the classes"):
        estimate(crowd.answers, value="classes")
    with pytest.raises(MissingColumnError, match='by= needs a column "part"'):
        estimate(crowd.answers, by="part")
    with pytest.raises(OptionError, match="tasks= needs by="):
        estimate(crowd.answers, tasks={"task": ["t0"], "part": ["x"]})
    with pytest.raises(OptionError, match="only the default method has intervals"):
        estimate(crowd.answers, method="majority")
    with pytest.raises(OptionError, match="between 0 and 1, got 2"):
        estimate(crowd.answers, plan=2)
    with pytest.raises(OptionError, match="sampled= takes 'random', 'advised' or 'unknown', not 'often'"):
        estimate(crowd.answers, gold=known(crowd, 20), sampled="often")  # type: ignore[arg-type]


# --- the plan ---


def test_the_plan_draws_tasks_that_are_not_known_and_keeps_its_word(crowd: Crowd) -> None:
    """With as many labels as the plan asks for, intervals are about as narrow as it says."""
    gold = known(crowd, 60)
    plan = estimate(crowd.answers, gold=gold, plan=0.04).plan
    assert plan is not None
    new = plan.tasks["task"].to_pylist()
    assert not set(new) & set(gold["task"])
    assert len(new) == plan.n_needed - 60
    label = dict(zip(*(crowd.truth_table[name].to_pylist() for name in ("task", "label")), strict=True))
    more = {"task": [*gold["task"], *new], "label": [*gold["label"], *(label[task] for task in new)]}
    widest = max((each.high or 1) - (each.low or 0) for each in estimate(crowd.answers, gold=more).prevalence.values())
    assert widest / 2 == pytest.approx(0.04, rel=0.25)
    assert plan.lines()[0].startswith("For intervals of ± 0.04 you need about")


def test_the_plan_does_not_depend_on_the_order_of_the_rows(crowd: Crowd) -> None:
    table = crowd.answers.to_table().arrow
    turned = table.take(pa.array(np.arange(table.num_rows)[::-1]))
    one, two = (estimate(each, plan=0.05).plan for each in (table, turned))
    assert one is not None
    assert two is not None
    assert sorted(one.tasks["task"].to_pylist()) == sorted(two.tasks["task"].to_pylist())
