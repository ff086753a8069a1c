"""Figures of the experiments on the default method, against values computed by hand on small crowds."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from experiments.default_method import (
    ablation,
    crowds,
    figures,
    fit_law,
    judge_panels,
    law,
    methods,
    public_sets,
    simulations,
)
from experiments.default_method.data import (
    OUTSIDE,
    UNKNOWN,
    DataMissingError,
    choose_gold,
    load_panels,
    load_public_set,
)
from experiments.default_method.report import Target

# A prototype that knows one thing: the shares of the votes, tempered by one constant.
STUB = """
import numpy as np

JUDGE_MEAN, JUDGE_SPREAD, JUDGE_FAILURE, JUDGE_DECAY = 0.0, 1.0, 0.1, 0.0
PEOPLE_SPREAD, PEOPLE_FAILURE = 0.5, 0.03
DEPENDENCE_SCALE, TYPICAL_DEPENDENCE, TYPICAL_WORTH = 6.0, 0.4, 1000.0


class Law:
    def apply(self, posterior):
        return 0.9 * posterior + 0.1 / posterior.shape[1]


def cut(*args): pass
def count_kernel(*args): pass
def skills(*args): pass
def one_factor_fit(*args): pass
def em_step(*args): pass
def dependence_kernel(*args): pass


def fit(task, worker, label, n_tasks, n_workers, n_classes, gold=None, group=None, judges=False):
    votes = np.bincount(task * n_classes + label, minlength=n_tasks * n_classes).reshape(n_tasks, n_classes)
    posterior = Law().apply(votes / votes.sum(1, keepdims=True))
    if group is not None:
        posterior = 0.5 * posterior + 0.5 / n_classes
    info = {"mean": JUDGE_MEAN}
    if judges:
        info["share_right"] = (0.7, 0.6, 0.9)
    return posterior, info
"""
HUMAN_LABELS = """task,worker,label
t1,a,x
t1,b,x
t1,c,x
t1,d,y
t2,a,x
t2,b,y
t3,a,y
t3,b,y
t4,a,x
"""
HUMAN_TRUTH = "task,label\nt1,x\nt2,x\nt3,x\nt9,x\n"


@pytest.fixture
def stub(tmp_path: Path) -> methods.Method:
    path = tmp_path / "stub.py"
    path.write_text(STUB)
    return methods.load_method(f"prototype:{path}")


def write_set(folder: Path, labels: str, truth: str) -> None:
    folder.mkdir(parents=True)
    (folder / "labels.csv").write_text(labels)
    (folder / "truth.csv").write_text(truth)


def panel_tables(n_right: int, n_wrong: int, judges: tuple[str, str]) -> tuple[str, str]:
    """Two judges agree on every task: on the true class of `n_right` tasks, on the other one elsewhere."""
    labels = ["task,worker,label"]
    truth = ["task,label"]
    for task in range(n_right + n_wrong):
        true = "yes" if task % 2 else "no"
        wrong = "no" if task % 2 else "yes"
        answer = true if task < n_right else wrong
        labels += [f"i{task},{judge},{answer}" for judge in judges]
        truth.append(f"i{task},{true}")
    return "\n".join(labels) + "\n", "\n".join(truth) + "\n"


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "datasets"
    write_set(root / "bluebird", HUMAN_LABELS, HUMAN_TRUTH)
    write_set(root / "more" / "age", HUMAN_LABELS, HUMAN_TRUTH)
    write_set(root / "more" / "judges_civil", *panel_tables(30, 10, ("gpt-4", "claude-3")))
    write_set(root / "panels" / "one", *panel_tables(60, 20, ("gpt-4", "claude-3")))
    write_set(root / "panels" / "two", *panel_tables(20, 20, ("gpt-4", "gpt-5")))
    index = "name\trepository@commit\none\tlab/one@abc\ntwo\tlab/two@def\n"
    (root / "panels" / "INDEX.tsv").write_text(index)
    families = ["panel\tworker\tfamily", "one\tgpt-4\topenai", "one\tclaude-3\tanthropic"]
    families += [
        f"{name}\t{judge}\t{vendor}"
        for name, judge, vendor in (
            ("two", "gpt-4", "openai"),
            ("two", "gpt-5", "openai"),
            ("judges_civil", "gpt-4", "openai"),
            ("judges_civil", "claude-3", "anthropic"),
        )
    ]
    (root / "panels" / "families.tsv").write_text("\n".join(families) + "\n")
    monkeypatch.setenv("QUORATE_DATASETS", str(root))
    return root


# ---- figures


def test_error_splits_ties_and_counts_a_truth_outside_the_classes_as_wrong() -> None:
    posterior = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    truth = np.array([0, 0, 0, OUTSIDE, UNKNOWN])
    found = figures.score(posterior, truth)
    # Right: 1, 1/2, 0, 0 of four scored tasks.
    assert found.error == pytest.approx(1 - 1.5 / 4)
    assert found.log_loss == pytest.approx(-(math.log(0.9) + math.log(0.5) + math.log(0.2) + math.log(1e-6)) / 4)
    # Bins of .9, .5, .8, .6 hold one task each: gaps -.1, 0, .8, .6.
    assert found.calibration_error == pytest.approx((0.1 + 0.0 + 0.8 + 0.6) / 4)
    assert found.stated == pytest.approx((0.9 + 0.5 + 0.8 + 0.6) / 4)
    assert found.overstated == pytest.approx(0.7 - 0.375)


def test_gaps_within_one_bin_of_confidence_cancel() -> None:
    posterior = np.array([[0.75, 0.25], [0.75, 0.25]])
    found = figures.score(posterior, np.array([0, 1]))
    assert found.calibration_error == pytest.approx(0.25)  # |(.75 - 1) + (.75 - 0)| / 2


def test_tasks_with_gold_are_not_scored() -> None:
    posterior = np.array([[0.9, 0.1], [0.9, 0.1]])
    found = figures.score(posterior, np.array([0, 1]), gold=np.array([UNKNOWN, 1]))
    assert found.error == 0


def test_the_floor_of_the_log_loss_can_be_chosen() -> None:
    found = figures.score(np.array([[1.0, 0.0]]), np.array([1]), least_probability=1e-4)
    assert found.log_loss == pytest.approx(-math.log(1e-4))


def test_majority_error_splits_ties() -> None:
    votes = np.array([[2, 1], [1, 1], [0, 3]])
    assert figures.majority_error(votes, np.array([0, 0, 0])) == pytest.approx(0.5)


def test_standard_error_of_a_mean() -> None:
    mean, error = figures.mean_and_error([1.0, 2.0, 3.0])
    assert mean == 2
    assert error == pytest.approx(1 / math.sqrt(3))
    assert math.isnan(figures.mean_and_error([1.0])[1])


@pytest.mark.parametrize(
    ("interval", "decision"),
    [
        ((0.85, 0.8, 0.9), "pass"),  # at most .2 wrong
        ((0.75, 0.7, 0.85), "undecided"),  # between .15 and .3 wrong
        ((0.75, 0.7, 0.8), "undecided"),  # at least .2 wrong: exactly the limit
        ((0.7, 0.6, 0.75), "fail"),  # at least .25 wrong
    ],
)
def test_check_decides_by_the_interval(interval: tuple[float, float, float], decision: str) -> None:
    assert figures.decide(interval, 0.2 + 1e-12) == decision


def test_wrong_decisions_are_counted() -> None:
    passing = (0.9, 0.85, 0.95)
    failing = (0.5, 0.4, 0.6)
    undecided = (0.8, 0.6, 0.95)
    outcomes = [(passing, 0.9), (passing, 0.7), (failing, 0.9), (failing, 0.5), (undecided, 0.1)]
    found = figures.count_decisions(outcomes, 0.2)
    assert found == figures.Decisions(passes=2, wrong_passes=1, fails=2, wrong_fails=1, undecided=1)


def test_repositories_weigh_alike() -> None:
    assert figures.mean_by_group([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"]) == pytest.approx(0.5)


def test_targets_hold_at_their_limit() -> None:
    assert Target("", 0.03, most=0.03, least=-0.03).is_met
    assert not Target("", 0.031, most=0.03, least=-0.03).is_met
    assert not Target("", -0.031, most=0.03, least=-0.03).is_met
    assert not Target("", float("nan"), most=0.03).is_met


# ---- data


def test_a_missing_folder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUORATE_DATASETS", str(tmp_path / "nowhere"))
    with pytest.raises(DataMissingError, match=r"nowhere.*QUORATE_DATASETS"):
        load_public_set("bluebird")


def test_a_missing_set_is_named(datasets: Path) -> None:
    with pytest.raises(DataMissingError, match="'dogs'"):
        load_public_set("dogs")


def test_truth_is_coded_by_the_classes_of_the_answers(datasets: Path) -> None:
    crowd = load_public_set("bluebird")
    classes = crowd.answers.classes.to_pylist()
    tasks = crowd.answers.task_names.to_pylist()
    code = dict(zip(tasks, crowd.truth.tolist(), strict=True))
    assert classes[code["t1"]] == "x"
    assert code["t4"] == UNKNOWN
    assert crowd.votes()[tasks.index("t1"), classes.index("x")] == 3


def test_gold_is_drawn_from_at_most_half_of_the_truth(datasets: Path) -> None:
    panel = load_panels(["two"])[0]
    gold = choose_gold(panel.crowd, 30, seed=1)
    known = gold != UNKNOWN
    assert known.sum() == 20
    assert (gold[known] == panel.crowd.truth[known]).all()


def test_panels_have_repositories_and_families(datasets: Path) -> None:
    one, two = load_panels()
    assert one.repository == "lab/one"
    assert len(set(np.asarray(one.crowd.group).tolist())) == 2
    assert set(np.asarray(two.crowd.group).tolist()) == {0}
    assert load_public_set("bluebird").group is None


# ---- methods


def test_constants_are_replaced_for_one_call(stub: methods.Method, datasets: Path) -> None:
    crowd = load_public_set("bluebird")
    changed = methods.fit(stub, crowd, constants=methods.Constants(judge_mean=-0.4))
    assert changed.info["mean"] == -0.4
    assert methods.fit(stub, crowd).info["mean"] == 0


def test_a_constant_that_a_method_lacks_is_named(stub: methods.Method, datasets: Path) -> None:
    with pytest.raises(methods.MissingHookError, match="EM_STEPS"):
        methods.fit(stub, load_public_set("bluebird"), constants=methods.Constants(em_steps=1))


def test_the_product_is_scored_in_the_order_of_the_classes(datasets: Path) -> None:
    product = methods.load_method("product")
    crowd = load_panels(["one"])[0].crowd
    gold = choose_gold(crowd, 10, seed=0)
    fitted = methods.fit(product, crowd, gold, crowd.group, judges=True)
    assert fitted.posterior.shape == (80, 2)
    known = gold != UNKNOWN
    assert (fitted.posterior[known].argmax(axis=1) == gold[known]).all()


@dataclass(frozen=True)
class HeldConstants:
    people_spread: float = 0.5


def test_fields_of_held_dataclasses_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.default_method.law.LAW", HeldConstants(), raising=False)
    with methods.replaced_constant("experiments.default_method.law:LAW.people_spread", 0.7):
        assert law.LAW.people_spread == 0.7  # type: ignore[attr-defined]
    assert law.LAW.people_spread == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["quorate.no_such_module:LAW", "quorate.answers:NO_SUCH_CONSTANT"])
def test_places_that_the_product_lacks_are_named(place: str) -> None:
    with pytest.raises(methods.MissingHookError, match=place), methods.replaced_constant(place, 1):
        pass


def test_set_options_become_constants() -> None:
    found = methods.parse_constants(["skill_scaling_power=0.5", "em_steps=3"])
    assert found.replaced() == {"skill_scaling_power": 0.5, "em_steps": 3}
    with pytest.raises(SystemExit, match="no constant 'nothing'"):
        methods.parse_constants(["nothing=1"])


# ---- laws


def test_krippendorff_alpha_of_a_small_table() -> None:
    # Two judges, four tasks, one disagreement. Observed: 2/8; expected from counts 5 and 3: 2·5·3/(8·7).
    votes = np.array([[2, 0], [2, 0], [0, 2], [1, 1]])
    assert law.krippendorff_alpha(votes) == pytest.approx(1 - (2 / 8) / (30 / 56))


def test_people_law_mixes_tempered_and_invalid_answers() -> None:
    posterior = np.array([[0.8, 0.2]])
    (narrow,) = law.people_log_loss(posterior, np.array([0]), [(1e-3, 1e-4)])
    b = math.exp(law.PEOPLE_LOG_B[np.abs(law.PEOPLE_LOG_B).argmin()])  # the temperature of the grid next to 1
    assert narrow == pytest.approx(-math.log(0.8**b / (0.8**b + 0.2**b)))


def test_fitted_judge_law_follows_the_validity_of_the_panels() -> None:
    rng = np.random.default_rng(0)
    evidence = []
    for number in range(6):
        truth = rng.integers(0, 2, 400)
        certain = np.eye(2)[np.where(rng.random(400) < 0.75, truth, 1 - truth)]
        posterior = 0.98 * certain + 0.01
        evidence.append(law.panel_evidence(f"lab {number}", posterior, truth, np.array([[3, 0], [0, 3], [2, 1]])))
    fitted = law.fit_judge_law(evidence, widening=1.0)
    weights = law.law_log_weights(
        law.JUDGE_LOG_B,
        evidence[0].validity,
        float(fitted.judge_mean or 0),
        float(fitted.judge_spread or 0),
        float(fitted.judge_failure or 0) * math.exp(-float(fitted.judge_decay or 0) * evidence[0].alpha),
    )
    tempered = 0.99 ** np.exp(law.JUDGE_LOG_B)
    tempered /= tempered + 0.01 ** np.exp(law.JUDGE_LOG_B)
    stated = (np.exp(weights) * (tempered[:, None] * evidence[0].validity + (1 - evidence[0].validity) / 2)).sum()
    assert stated == pytest.approx(0.75, abs=0.02)


# ---- commands


def test_public_sets_are_scored(stub: methods.Method, datasets: Path) -> None:
    (run,) = public_sets.run_set(stub, "bluebird", [0], [100], None, methods.Constants())
    # t1 right with 3/4 of the votes, t2 tied, t3 wrong.
    assert run.figures.error == pytest.approx(0.5)
    assert run.majority == pytest.approx(0.5)
    probability = [0.9 * 0.75 + 0.05, 0.5, 0.05]
    assert run.figures.log_loss == pytest.approx(-np.log(probability).mean())


def test_means_over_sets_have_standard_errors_over_seeds() -> None:
    def run(name: str, seed: int, error: float) -> public_sets.Run:
        return public_sets.Run(name, 30, seed, figures.Figures(error, 1.0, 0.1, 1 - error), 0.2, None)

    runs = [run("a", 0, 0.1), run("b", 0, 0.3), run("a", 1, 0.2), run("b", 1, 0.4)]
    mean, error = public_sets.overall(runs, 30)[0]
    assert mean == pytest.approx(0.25)  # .2 and .3
    assert error == pytest.approx(0.05)
    worst = public_sets.targets(runs, [30])[-1]
    assert worst.value == pytest.approx(0.15)
    assert "(b)" in worst.name


def test_panels_are_summarised_by_repository(stub: methods.Method, datasets: Path) -> None:
    runs = judge_panels.run_panels(stub, load_panels(), 0, [0], {}, methods.Constants())
    summary = judge_panels.summarise(runs)
    # Right .75 and .5; stated .95 for both; the stub's interval is .6 to .9.
    assert summary.right == pytest.approx(0.625)
    assert summary.overstated == pytest.approx(0.325)
    assert summary.rmse == pytest.approx(math.sqrt((0.2**2 + 0.45**2) / 2))
    assert summary.coverage == pytest.approx(0.5)
    assert summary.width == pytest.approx(0.3)
    decisions = figures.count_decisions(judge_panels.interval_outcomes(runs), 0.4 + 1e-12)
    assert (decisions.passes, decisions.wrong_passes) == (2, 1)


def test_panels_that_leave_too_few_tasks_are_not_scored(stub: methods.Method, datasets: Path) -> None:
    runs = judge_panels.run_panels(stub, load_panels(), 30, [0, 1], {}, methods.Constants())
    assert [run.panel for run in runs] == ["one", "one"]


def test_the_law_of_a_repository_is_fitted_without_it(stub: methods.Method, datasets: Path) -> None:
    laws = judge_panels.left_out_laws(stub, load_panels(), methods.Constants())
    runs = judge_panels.collect_evidence(stub, load_panels(["two"]), methods.Constants())
    assert laws["lab/one"] == law.fit_judge_law(runs)


def test_constants_are_chosen_without_the_group_of_a_set() -> None:
    cells = (((4.0, 0.3, 250.0), (0.3, 0.02)), ((6.0, 0.4, 1000.0), (0.5, 0.03)))
    loss = np.array([[1.0, 2.0], [1.0, 3.0], [9.0, 2.0]])
    losses = fit_law.GridLosses(("weather_amt", "weather_cf", "dogs"), cells, loss, np.zeros(3))
    left_out, _ = losses.left_out()
    # Without both weather sets the second cell is best; without dogs the first.
    assert left_out.tolist() == [2.0, 3.0, 9.0]
    assert losses.kept().tolist() == [2.0, 3.0, 2.0]


def test_commands_print_their_targets(
    datasets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stub.py").write_text(STUB)
    method = f"prototype:{tmp_path / 'stub.py'}"
    public_sets.main(["--sets", "bluebird,age,judges_civil", "--gold", "0,10", "--seeds", "2", "--method", method])
    judge_panels.main(["--gold", "0,30", "--seeds", "2", "--groups", "--method", method])
    simulations.main(["--only", "inverted", "--no-sparse", "--method", method])
    ablation.main(["--sets", "bluebird,age", "--gold", "0", "--method", method])
    monkeypatch.setattr(fit_law, "PUBLIC_SETS", ("bluebird", "age"))
    fit_law.main(["--part", "people,judges", "--method", method])
    text = capsys.readouterr().out
    assert text.count("Targets:") == 3
    assert "error of judges_civil with families" in text
    assert "no figures of the name rule, because stub has no rule" in text
    assert "left out, 1 EM step: stub has no EM_STEPS" in text


# ---- simulated crowds


def test_sparse_crowds_have_two_answers_a_task() -> None:
    found = [(name, crowd) for name, crowd in crowds.sparse_crowds(5) if crowd.name.endswith(" 3 0")]
    assert len(found) == 6
    for _, crowd in found:
        assert (np.bincount(crowd.task) == 2).all()
        assert crowd.answers.n_classes == 5


@pytest.mark.parametrize("name", [name for name in crowds.GRAPHS if name != "random"])
def test_graphs_join_different_workers_once(name: str) -> None:
    for seed in range(20):
        edges = crowds.GRAPHS[name](np.random.default_rng(seed))
        assert len({frozenset(edge) for edge in edges}) == len(edges)
        assert all(one != two for one, two in edges)
        assert {worker for edge in edges for worker in edge} == set(range(crowds.SPARSE_WORKERS))


def test_relabelled_crowds_keep_the_truth() -> None:
    answered = crowds.independent(20, 5, 3, 4, seed=1)
    swapped = crowds.relabelled(answered, [1, 0, 2, 3])
    assert (swapped.truth == answered.truth).all()
    assert ((answered.label == 0) == (swapped.label == 1)).all()


def test_a_named_family_has_one_group() -> None:
    crowd = crowds.with_family(crowds.copying_family(n_family=3, n_others=2, n_tasks=5).crowd("family"), 3)
    assert np.asarray(crowd.group).tolist() == [0, 0, 0, -1, -1]
