"""What is known of workers from before: worth nothing it changes nothing, worth much it decides, and it adds up."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate import simulate
from quorate.errors import OptionError
from quorate.methods.fit_blocks import fit_blocks
from quorate.notes import KNOWN_SKILLS
from quorate.skills.identification import BIPARTITE, IDENTIFIED, ISOLATED
from quorate.skills.priors import priors_of
from tests.methods.elsewhere import Elsewhere
from tests.methods.test_fit_blocks import labels

PAIR = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})


def known(answers: quorate.Answers, *interval: float) -> dict[Any, tuple[float, ...]]:
    return dict.fromkeys(answers.worker_names.to_pylist(), interval)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_prior_worth_nothing_changes_nothing(n_classes: int) -> None:
    answers = simulate.crowd(80, 10, 4, n_classes=n_classes, seed=3).answers
    alone, with_it = (quorate.aggregate(answers, skills=skills) for skills in (None, known(answers, 0.3, -1.0, 1.0)))
    for name in ("labels", "workers", "posterior"):
        assert getattr(with_it, name).arrow.equals(getattr(alone, name).arrow)
    assert with_it.notes == alone.notes
    # And next to nothing changes next to nothing.
    nearly = quorate.aggregate(answers, skills=known(answers, 0.3, -0.699, 1.0 - 1e-9))
    np.testing.assert_allclose(nearly.skills, alone.skills, atol=1e-3)


def test_skills_are_given_as_a_result_or_as_its_table() -> None:
    first = quorate.aggregate(simulate.crowd(80, 10, 4, seed=3).answers)
    answers = simulate.crowd(60, 10, 3, seed=4).answers
    by_table = quorate.aggregate(answers, skills=first.workers)
    assert quorate.aggregate(answers, skills=first).workers.arrow.equals(by_table.workers.arrow)
    assert (
        quorate.diagnose(answers, skills=first).to_dict() == quorate.diagnose(answers, skills=first.workers).to_dict()
    )


def test_workers_of_whom_nothing_is_known_are_treated_as_ever() -> None:
    answers = simulate.crowd(80, 10, 4, seed=3).answers
    some = {"w0": (0.9, 0.85, 0.95)}
    with_more = quorate.aggregate(answers, skills={**some, "w1": (0.3, -1.0, 1.0)})
    assert with_more.workers.arrow.equals(quorate.aggregate(answers, skills=some).workers.arrow)


def test_a_prior_of_no_width_decides() -> None:
    answers = simulate.crowd(80, 10, 4, seed=3).answers
    skills = quorate.aggregate(answers, skills=known(answers, 0.42, 0.42, 0.42)).skills
    np.testing.assert_allclose(skills, 0.42, atol=0.01)  # its error is taken for .005


def test_the_same_evidence_twice_is_worth_twice_as_much() -> None:
    """Skills stay about where they are, and their variance halves: each is as sure as the other."""
    answers = simulate.crowd(400, 10, 5, skills=np.linspace(0.3, 0.8, 10), seed=4).answers
    once = quorate.aggregate(answers)
    twice = quorate.aggregate(answers, skills=once.workers)
    # The crowd's mean, toward which they are shrunk, counts for less the second time.
    assert (np.abs(twice.skills - once.skills) < once.intervals.standard_error / 2).all()
    ratio = (twice.intervals.standard_error / once.intervals.standard_error) ** 2
    # Their peers are known better, too, and intervals are no normal ones: about a half.
    assert 0.35 < ratio.mean() < 0.65


def test_undetermined_workers_become_determined() -> None:
    before = quorate.aggregate(PAIR)
    assert before.status.tolist() == [BIPARTITE, BIPARTITE, ISOLATED]
    after = quorate.aggregate(PAIR, skills={"a": (0.8, 0.7, 0.9)})
    assert after.status.tolist() == [IDENTIFIED, IDENTIFIED, ISOLATED]  # b met a, whose skill is known
    assert after.labels["label"].to_pylist()[0] == "x"
    alone = quorate.aggregate(PAIR, skills={"c": (0.8, 0.7, 0.9)})
    assert alone.status.tolist() == [BIPARTITE, BIPARTITE, IDENTIFIED]
    # A skill that may be zero is one, but tells nothing of the others.
    vague = quorate.aggregate(PAIR, skills={"a": (0.1, -0.2, 0.4)})
    assert vague.status.tolist() == [IDENTIFIED, BIPARTITE, ISOLATED]


def test_a_known_adversary_turns_its_group() -> None:
    """Without, a group is taken to be right more often than wrong."""
    crowd = simulate.crowd(200, 3, 3, skills=np.array([-0.8, -0.7, -0.6]), seed=0)
    assert (quorate.aggregate(crowd.answers).skills > 0).all()
    result = quorate.aggregate(crowd.answers, skills={"w0": (-0.8, -0.9, -0.7)})
    assert (result.skills < 0).all()
    assert (result.vote.label == crowd.truth).mean() > 0.8


def test_one_task_for_a_known_panel_gets_the_right_weights_at_once() -> None:
    one = {"task": ["new"] * 3, "worker": list("abc"), "label": list("xxy")}
    assert quorate.aggregate(one).labels["label"].to_pylist() == ["x"]
    panel = {"a": (0.1, 0.0, 0.2), "b": (0.1, 0.0, 0.2), "c": (0.9, 0.85, 0.95)}
    result = quorate.aggregate(one, skills=panel)
    assert result.labels["label"].to_pylist() == ["y"]
    np.testing.assert_allclose(result.skills, [0.1, 0.1, 0.9], atol=0.02)


def test_ten_tasks_are_labelled_about_as_well_as_with_all_that_was_answered_before() -> None:
    """Of 240 tasks in 24 batches; without the prior the error is larger by a fifth (.13 to .11 over 480)."""
    wrong = np.zeros(3)
    for seed in range(24):
        skills = np.random.default_rng(seed).uniform(0.0, 0.9, 20)
        crowd = simulate.crowd(310, 20, 5, skills=skills, seed=seed)
        last = np.arange(310) >= 300
        before, ten = crowd.answers.only(~last), crowd.answers.only(last)
        found = (
            quorate.aggregate(crowd.answers, intervals="none").vote.label[last],
            quorate.aggregate(ten, skills=quorate.aggregate(before).workers).vote.label,
            quorate.aggregate(ten).vote.label,
        )
        wrong += [(label != crowd.truth[last]).sum() for label in found]
    together, by_prior, alone = wrong / 240
    assert by_prior < together + 0.03  # three standard errors of the difference, where 4 % of the labels differ
    assert by_prior < alone - 0.01


def test_blocks_say_what_memory_says() -> None:
    answers = simulate.crowd(200, 12, 4, n_classes=3, seed=3).answers
    skills = {"w1": (0.9, 0.8, 0.95), "w2": (0.1, 0.0, 0.3)}
    blocks: Any = Elsewhere(answers)
    here = quorate.aggregate(answers, skills=skills)
    there = fit_blocks(blocks, skills=priors_of(skills, answers.worker_names, answers.classes))
    assert labels(there, blocks).tolist() == here.vote.label.tolist()
    np.testing.assert_allclose(there.skill_estimates.skills, here.skills, atol=1e-9)
    assert [note.text for note in there.notes] == [note.text for note in here.notes]


def test_names_that_gave_no_answer_are_counted_and_reported() -> None:
    table = {
        "worker": ["a", "zoe", "yan", "b"],
        "skill": [0.5, 0.5, 0.5, None],
        "skill_low": [0.4, 0.4, 0.4, None],
        "skill_high": [0.6, 0.6, 0.6, None],
    }
    (note,) = (note for note in quorate.aggregate(PAIR, skills=table).notes if note.kind == KNOWN_SKILLS)
    assert note.text == (
        "The skills of 1 of 3 workers were read from the file of known workers; 2 other workers of that file gave no "
        "answer here; 1 row "
        "of it has no skill"
    )
    with pytest.raises(OptionError, match=r"no worker of the table of known workers .* gave an answer"):
        quorate.aggregate(PAIR, skills={"zoe": (0.5, 0.4, 0.6)})


def test_accuracies_by_class_are_known_too() -> None:
    """Of two classes they say all of a confusion matrix: here, of who hardly ever finds y."""
    table = {
        "worker": ["a"],
        "skill": [0.5],
        "skill_low": [0.45],
        "skill_high": [0.55],
        "class_accuracy": ["x 0.99, y 0.51"],
    }
    found = priors_of(table, pa.array(["a"]), pa.array(["x", "y"]))
    assert found is not None
    assert found.right.tolist() == [[0.99, 0.51]]
    other = priors_of(table, pa.array(["a"]), pa.array(["x", "z"]))  # classes of another question
    assert other is not None
    assert other.right.tolist() == [[0.75, 0.75]]


def test_methods_that_cannot_use_it_say_so() -> None:
    with pytest.raises(OptionError, match="has no option 'skills'"):
        quorate.aggregate(PAIR, "majority", skills={"a": (0.5, 0.4, 0.6)})
