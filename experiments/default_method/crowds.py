"""Simulated crowds: independent, skewed, spammers, shared errors, copying families, sparse interaction graphs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.default_method.data import Crowd, FloatArray, IntArray, simulated_crowd

SkillLaw = Callable[[np.random.Generator, int], FloatArray]  # skills of n workers

SPARSE_WORKERS = 30
SPARSE_TASKS_PER_PAIR = (3, 10, 30, 100)


@dataclass(frozen=True)
class Answered:
    """Codes of simulated answers; `truth` is indexed by task."""

    task: IntArray
    worker: IntArray
    label: IntArray
    truth: IntArray
    n_classes: int

    def crowd(self, name: str) -> Crowd:
        """Return the crowd of these answers."""
        return simulated_crowd(name, self.task, self.worker, self.label, self.truth, self.n_classes)


def uniform_skills(low: float, high: float) -> SkillLaw:
    """Return the law of skills that are uniform between two values."""
    return lambda rng, n_workers: rng.uniform(low, high, n_workers)


def spammer_skills(share: float, skill: float) -> SkillLaw:
    """Return the law of a share of spammers (skill 0) among workers of one skill."""
    return lambda rng, n_workers: np.where(rng.random(n_workers) < share, 0.0, skill)


def independent(
    n_tasks: int,
    n_workers: int,
    answers_per_task: int,
    n_classes: int = 2,
    *,
    class_prior: Sequence[float] | None = None,
    response_bias: Sequence[float] | None = None,
    skills: SkillLaw | None = None,
    fixed_load: bool = False,
    seed: int = 0,
) -> Answered:
    """Simulate workers who know the class with probability `skill` and otherwise answer by response bias.

    Args:
        n_tasks: tasks.
        n_workers: workers.
        answers_per_task: before repeated answers of one worker to one task are dropped (only with `fixed_load`).
        n_classes: classes.
        class_prior: of the truth; by default uniform.
        response_bias: of all workers; by default uniform.
        skills: law of the skills; by default uniform between 0.2 and 0.9.
        fixed_load: every worker gives the same number of answers, instead of random workers for each task.
        seed: of all randomness.
    """
    rng = np.random.default_rng(seed)
    truth = rng.choice(n_classes, n_tasks, p=class_prior)
    skill_law = skills or uniform_skills(0.2, 0.9)
    skill = skill_law(rng, n_workers)
    task = np.repeat(np.arange(n_tasks), answers_per_task)
    if fixed_load:
        load = n_tasks * answers_per_task // n_workers
        worker = rng.permutation(np.repeat(np.arange(n_workers), load))
    else:
        worker = np.concatenate([rng.choice(n_workers, answers_per_task, replace=False) for _ in range(n_tasks)])
    _, first = np.unique(task * n_workers + worker, return_index=True)
    task = task[first]
    worker = worker[first]
    knows = rng.random(len(task)) < skill[worker]
    guess = rng.choice(n_classes, len(task), p=response_bias)
    return Answered(task, worker, np.where(knows, truth[task], guess), truth, n_classes)


def complete_design(n_tasks: int, n_workers: int) -> tuple[IntArray, IntArray]:
    """Return tasks and workers of a crowd in which every worker answers every task."""
    return np.repeat(np.arange(n_tasks), n_workers), np.tile(np.arange(n_workers), n_tasks)


def copying_family(
    n_family: int = 10,
    n_others: int = 8,
    skill: float = 0.5,
    leader_skill: float = 0.5,
    copies: float = 0.85,
    n_tasks: int = 600,
    seed: int = 0,
) -> Answered:
    """Simulate a family whose members, workers 0 to n_family - 1, often repeat one leader's answer."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    task, worker = complete_design(n_tasks, n_family + n_others)
    leader = np.where(rng.random(n_tasks) < leader_skill, truth, rng.integers(0, 2, n_tasks))
    knows = rng.random(len(task)) < skill
    answer = np.where(knows, truth[task], rng.integers(0, 2, len(task)))
    is_copied = (worker < n_family) & (rng.random(len(task)) < copies)
    return Answered(task, worker, np.where(is_copied, leader[task], answer), truth, 2)


def with_family(crowd: Crowd, n_family: int) -> Crowd:
    """Name the family of a crowd by `copying_family`."""
    workers = [int(str(name)) for name in crowd.answers.worker_names.to_pylist()]
    return replace(crowd, families=tuple("family" if worker < n_family else "" for worker in workers))


def shared_errors(n_tasks: int = 1000, n_workers: int = 12, share: float = 0.25, seed: int = 0) -> Answered:
    """Simulate three classes, where on a share of the tasks all workers take one wrong class for the true one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_tasks)
    task, worker = complete_design(n_tasks, n_workers)
    apparent = np.where(rng.random(n_tasks) < share, (truth + 1) % 3, truth)
    skill = rng.uniform(0.5, 0.9, n_workers)
    knows = rng.random(len(task)) < skill[worker]
    return Answered(task, worker, np.where(knows, apparent[task], rng.integers(0, 3, len(task))), truth, 3)


def relabelled(answered: Answered, new_class: Sequence[int]) -> Answered:
    """Replace every answer by another class; the truth stays."""
    return replace(answered, label=np.array(new_class)[answered.label])


# ---- sparse crowds: two answers to each task, the pairs of workers along the edges of a graph

Edges = list[tuple[int, int]]


def regular_graph(rng: np.random.Generator) -> Edges:
    """Return a random graph in which every worker has three peers: ends are matched until none is repeated."""
    while True:
        ends = rng.permutation(np.repeat(np.arange(SPARSE_WORKERS), 3)).reshape(-1, 2)
        edges = {(int(min(pair)), int(max(pair))) for pair in ends}
        if len(edges) == len(ends) and all(one != two for one, two in edges):
            return sorted(edges)


def tree_graph(rng: np.random.Generator) -> Edges:
    """Return a random tree, each worker joined to an earlier one, with one edge more that closes a triangle."""
    edges = [(int(rng.integers(0, worker)), worker) for worker in range(1, SPARSE_WORKERS)]
    children = [worker for peer, worker in edges if peer == edges[1][0]]
    peer = edges[1][0]
    third = children[1] if len(children) > 1 else next(worker for parent, worker in edges if parent == children[0])
    closing = (children[0], third) if len(children) > 1 else (peer, third)
    return [*edges, closing]


def star_graph(rng: np.random.Generator) -> Edges:
    """Return a star with one edge between two of its leaves."""
    return [*((0, worker) for worker in range(1, SPARSE_WORKERS)), (1, 2)]


def power_law_graph(rng: np.random.Generator) -> Edges:
    """Return a graph by preferential attachment: each new worker gets two peers in proportion to their edges."""
    edges = [(0, 1), (0, 2), (1, 2)]
    for worker in range(3, SPARSE_WORKERS):
        degree = np.bincount(np.ravel(edges), minlength=worker)
        peers = rng.choice(worker, 2, replace=False, p=degree / degree.sum())
        edges += [(int(peer), worker) for peer in peers]
    return edges


def random_graph(rng: np.random.Generator) -> Edges:
    """Return a graph of random pairs, four peers a worker on average; a worker may have none."""
    pairs = complete_graph(rng)
    chosen = rng.choice(len(pairs), 2 * SPARSE_WORKERS, replace=False)
    return [pairs[index] for index in sorted(chosen.tolist())]


def complete_graph(rng: np.random.Generator) -> Edges:
    """Return all pairs."""
    return [(one, two) for two in range(SPARSE_WORKERS) for one in range(two)]


GRAPHS: dict[str, Callable[[np.random.Generator], Edges]] = {
    "regular of degree 3": regular_graph,
    "tree and triangle": tree_graph,
    "star": star_graph,
    "power law": power_law_graph,
    "random": random_graph,
    "complete": complete_graph,
}


def skills_with_guessers(rng: np.random.Generator, n_workers: int) -> FloatArray:
    """Return uniform skills, three in ten of them zero."""
    return np.where(rng.random(n_workers) < 0.3, 0.0, rng.uniform(0.2, 0.9, n_workers))


def skills_with_adversaries(rng: np.random.Generator, n_workers: int) -> FloatArray:
    """Return uniform skills, one in ten of them negative."""
    return np.where(rng.random(n_workers) < 0.1, -1.0, 1.0) * rng.uniform(0.2, 0.9, n_workers)


SKILL_LAWS: tuple[SkillLaw, ...] = (
    uniform_skills(0.0, 1.0),
    uniform_skills(0.2, 0.9),
    uniform_skills(-0.3, 0.8),
    skills_with_guessers,
    skills_with_adversaries,
)


def sparse_crowds(n_classes: int) -> Iterator[tuple[str, Crowd]]:
    """Return 6 graphs x 4 numbers of tasks per pair x 5 laws of skills: 120 crowds with the name of their graph."""
    for graph_number, (graph_name, graph) in enumerate(GRAPHS.items()):
        for tasks_per_pair in SPARSE_TASKS_PER_PAIR:
            for law_number, law in enumerate(SKILL_LAWS):
                rng = np.random.default_rng([n_classes, graph_number, tasks_per_pair, law_number])
                answered = one_coin_on_edges(graph(rng), tasks_per_pair, law(rng, SPARSE_WORKERS), n_classes, rng)
                yield graph_name, answered.crowd(f"{graph_name} {tasks_per_pair} {law_number}")


def one_coin_on_edges(
    edges: Edges, tasks_per_pair: int, skill: FloatArray, n_classes: int, rng: np.random.Generator
) -> Answered:
    """Simulate one-coin workers: right with probability (1 + (M - 1) skill)/M, else a uniform other class."""
    pairs = np.repeat(np.array(edges), tasks_per_pair, axis=0)
    worker = pairs.ravel()
    task = np.repeat(np.arange(len(pairs)), 2)
    truth = rng.integers(0, n_classes, len(pairs))
    accuracy = (1 + (n_classes - 1) * np.maximum(skill, -1 / (n_classes - 1))) / n_classes
    is_right = rng.random(len(task)) < accuracy[worker]
    wrong = (truth[task] + rng.integers(1, n_classes, len(task))) % n_classes
    return Answered(task, worker, np.where(is_right, truth[task], wrong), truth, n_classes)
