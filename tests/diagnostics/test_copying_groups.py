"""Copying groups: found by `diagnose` in crowds of any size, none among independent workers."""

import numpy as np
import pytest

import quorate
from quorate import simulate


def crowd_with_copies(n_workers: int, n_copying: int, seed: int) -> simulate.Crowd:
    """Ten random workers answer each task; the first workers repeat one hidden answer on 85 % of theirs."""
    rng = np.random.default_rng(seed)
    n_tasks = 1500
    truth = rng.integers(0, 2, n_tasks)
    hidden = np.where(rng.random(n_tasks) < 0.5, truth, rng.integers(0, 2, n_tasks))
    task = np.repeat(np.arange(n_tasks), 10)
    worker = np.concatenate([rng.choice(n_workers, 10, replace=False) for _ in range(n_tasks)])
    own = np.where(rng.random(len(task)) < 0.6, truth[task], rng.integers(0, 2, len(task)))
    copies = (worker < n_copying) & (rng.random(len(task)) < 0.85)
    label = np.where(copies, hidden[task], own)
    return simulate.collect(task, worker, label, truth, np.full(n_workers, 0.6), 2)


@pytest.mark.parametrize(("n_workers", "n_copying"), [(40, 12), (100, 25)])
def test_a_copying_group_is_named_in_small_and_large_crowds(n_workers: int, n_copying: int) -> None:
    crowd = crowd_with_copies(n_workers, n_copying, seed=1)
    found = [finding for finding in quorate.diagnose(crowd.answers).findings if finding.kind == "copying-group"]
    assert len(found) == 1
    assert set(found[0].workers) == set(range(n_copying))


def test_the_sentence_states_whether_the_labels_use_the_group() -> None:
    large = quorate.diagnose(crowd_with_copies(100, 25, seed=1).answers)
    sentences = [finding.sentence for finding in large.findings if finding.kind == "copying-group"]
    assert "as independent" in sentences[0]
    assert "--group" in sentences[0]


@pytest.mark.parametrize("seed", range(3))
def test_independent_workers_form_no_group(seed: int) -> None:
    answers = simulate.crowd(1500, 100, 10, seed=seed).answers
    assert not [f for f in quorate.diagnose(answers).findings if f.kind == "copying-group"]
