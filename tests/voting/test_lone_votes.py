"""One answer by a worker of whom nothing is known is no surer than two such workers against one."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.arrays import BoolArray
from quorate.evaluation.simulate import crowd
from quorate.methods.beyond_memory import fit_blocks
from quorate.skills.evidence import IDENTIFIED
from quorate.voting.lone_votes import LoneVotes
from quorate.voting.population import identity
from tests.methods.elsewhere import Elsewhere

SETS = ("bluebird", "dogs", "rte1", "temp", "trec", "web", "wsd")


def with_strangers(answers: quorate.Answers, n: int = 30) -> quorate.Answers:
    """Add tasks that one worker each answered, whom nobody met: labels as the others gave them."""
    table = answers.to_table().to_pydict()
    said = [table["label"][k * len(table["label"]) // n] for k in range(n)]
    rows = [(f"lone {k}", f"stranger {k % 7}", label) for k, label in enumerate(said)]
    columns = [[str(each) for each in table[name]] for name in ("task", "worker")] + [list(table["label"])]
    names = ("task", "worker", "label")
    return quorate.read(
        {name: own + list(new) for name, own, new in zip(names, columns, zip(*rows, strict=True), strict=True)}
    )


def lone(result: quorate.Result) -> BoolArray:
    answers = result.answers
    first = answers.worker[answers.start[:-1]]
    found: BoolArray = (answers.per_task == 1) & (result.status[first] != IDENTIFIED)
    return found


def split(answers: quorate.Answers) -> BoolArray:
    top = answers.counts.max(axis=1)
    found: BoolArray = (top == 2) & (answers.per_task == 3)
    return found


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_no_surer_than_two_against_one_of_typical_workers(n_classes: int, seed: int) -> None:
    """Workers all alike: what is left of two against one is one vote of mean skill, and so is the most."""
    answers = crowd(300, 12, 3, skills=np.full(12, 0.55), n_classes=n_classes, seed=seed).answers
    result = quorate.aggregate(with_strangers(answers))
    sure, single = result.ballot.confidence, lone(result)
    assert single.sum() == 30
    assert sure[single].max() <= sure[split(result.answers)].mean() + 0.02  # each class has a share of its own


def test_on_public_crowds(real: Any) -> None:
    for name in SETS:
        result = quorate.aggregate(with_strangers(real.load(name).answers))
        sure, single, divided = result.ballot.confidence, lone(result), split(result.answers)
        assert single.sum() >= 30
        if divided.sum() >= 20:
            assert sure[single].mean() <= sure[divided].mean(), name


def test_labels_stay_and_beyond_memory_says_the_same() -> None:
    simulated = crowd(300, 12, 3, seed=5)
    answers = with_strangers(simulated.answers)
    truth = {f"t{k}": label for k, label in enumerate(simulated.truth[:40])}
    known = np.array([truth.get(name, -1) for name in answers.task_names.to_pylist()])
    for gold in (None, known):
        blocks: Any = Elsewhere(answers, gold)
        fitted = fit_blocks(blocks)
        beyond = np.concatenate([part.confidence for part in fitted.labels(blocks)])
        said = None if gold is None else {"task": answers.task_names.take(list(np.flatnonzero(gold >= 0)))}
        if said is not None:
            said["label"] = answers.classes.take(list(known[known >= 0]))
        result = quorate.aggregate(answers, gold=said)
        np.testing.assert_allclose(result.ballot.confidence, beyond, atol=1e-6)
        gave = answers.label[answers.start[:-1]]
        assert (result.ballot.label == gave)[lone(result)].all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_two_against_one_are_worth_one_flattened_vote(n_classes: int) -> None:
    """By hand: odds of nine to one for each other class, three answers that err together, opinions with priors."""
    factor = 1 / (1 + 0.25 * 2)
    shifts = np.log([np.arange(1.0, n_classes + 1), np.ones(n_classes)])
    weights = np.array([0.5, 0.2, 0.3])
    votes = LoneVotes(np.ones(1, dtype=bool), float(np.log(9)), shifts, weights, 0.25, identity())
    for label in range(n_classes):
        mean = np.zeros(n_classes)
        for weight, prior in zip(weights, [np.arange(1.0, n_classes + 1), *[np.ones(n_classes)] * 2], strict=True):
            odds = (prior * np.where(np.arange(n_classes) == label, 9.0, 1.0)) ** factor
            mean += weight * odds / odds.sum()
        assert votes.most(np.array([label]), n_classes) == pytest.approx(mean.max())
