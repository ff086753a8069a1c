import networkx as nx
import numpy as np

from quorate.answers import Answers
from quorate.graph.components import identify
from quorate.graph.pairs import pair_stats
from quorate.graph.weak_ties import _has_no_articulation_point, articulation_points
from tests.crowds import coded


def naive_joints(answers: Answers, most: int) -> dict[tuple[int, ...], int]:
    """Take out each worker in turn, and look at what the rest falls into."""
    everyone = set(answers.worker.tolist())
    graph = nx.Graph((("w", w), ("t", t)) for t, w in zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
    found = {}
    for v in everyone:
        left = graph.copy()
        left.remove_node(("w", v))
        own = {t for t in answers.task[answers.worker == v].tolist() if answers.per_task[t] > 1}
        for piece in nx.connected_components(left):
            group = {node for kind, node in piece if kind == "w"}
            rest = everyone - group - {v}
            inside = sum(("t", t) in piece for t in own)
            outside = len(own) - inside
            if min(len(group), len(rest)) < 2 or min(inside, outside) >= most:
                continue
            smaller = (group, inside, outside) if len(group) <= len(rest) else (rest, outside, inside)
            members, near, far = smaller
            found[tuple(sorted(members | {v} if near >= far else members))] = min(near, far)
    return found


def connected_crowd(rng: np.random.Generator) -> Answers:
    n_workers, n_tasks = int(rng.integers(4, 14)), int(rng.integers(3, 20))
    cells = {(int(rng.integers(n_tasks)), w) for w in range(n_workers)}
    cells |= {(int(rng.integers(n_tasks)), int(rng.integers(n_workers))) for _ in range(int(rng.integers(0, 30)))}
    while True:
        answers = coded(cells, n_tasks, n_workers)
        component = identify(answers).component
        if component.max() == 0:
            return answers
        home = answers.task[component[answers.worker] == 0]
        cells.add((int(home[0]), int(np.flatnonzero(component == 1)[0])))


def test_joints_are_the_workers_whose_leaving_would_part_the_crowd() -> None:
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(150):
        answers = connected_crowd(rng)
        most = int(rng.integers(1, 20))
        found = {tuple(each.members.tolist()): each.shared for each in articulation_points(answers, most)}
        assert found == naive_joints(answers, most)
        n_found += len(found)
    assert n_found > 50


def test_enough_peers_show_that_there_is_no_articulation_point() -> None:
    """All groups that one worker links are asked for, however many tasks link them."""
    rng = np.random.default_rng(1)
    n_shown = 0
    for _ in range(300):
        answers = connected_crowd(rng)
        if _has_no_articulation_point(pair_stats(answers), answers.n_workers):
            assert articulation_points(answers, answers.n_tasks + 1) == []
            n_shown += 1
    assert 50 < n_shown < 250
