"""Print how often the estimated sign of a loosely tied group is wrong, and which rules name such groups.

    python benchmarks/tied_groups.py         # with 200 crowds per setting, about five minutes on one core
    python benchmarks/tied_groups.py 20      # with twenty

`quorate.graph.weak_ties` and docs/accuracy.md quote these figures. Three rules are compared: the rule in use; the
former rule of findings, answer pairs (two answers of different sides to one task; fewer than 50 pairs, and at most a
tenth of those of the group); and the former rule of advice, articulation points (one worker connects the group by fewer
than 100 tasks).
"""

import sys

import numpy as np

from quorate.answers import Answers
from quorate.graph.pairs import pair_stats
from quorate.graph.weak_ties import articulation_points, has_few_links, loose_groups, weakest_cut
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import Crowd, answer, crowd, draw_workers

# Numbers of workers.
REST = 10
GROUP = 5
REST_TASKS = 200
GROUP_TASKS = 100
TIES = (2, 5, 10, 20, 35, 50, 75, 100)


def tied_groups(ties: int, bridges: int, per_task: int, rng: np.random.Generator, *, contrary: bool) -> Crowd:
    """Simulate two groups, of which ``bridges`` workers of the smaller answer ``ties`` tasks of the larger."""
    signs = np.where(np.arange(REST + GROUP) < REST, 1, -1 if contrary else 1)
    skills = signs * rng.uniform(0.4, 0.9, REST + GROUP)
    rest = draw_workers(REST_TASKS, REST, per_task, rng=rng)
    group = draw_workers(GROUP_TASKS, GROUP, 3, rng=rng)
    tied = rng.choice(REST_TASKS, ties, replace=False)
    who = REST + rng.permutation(GROUP)[:bridges][np.arange(ties) % bridges]
    own = REST_TASKS + np.repeat(np.arange(GROUP_TASKS), 3)
    task = np.concatenate([np.repeat(np.arange(REST_TASKS), per_task), own, tied])
    worker = np.concatenate([rest.ravel(), REST + group.ravel(), who])
    order = np.lexsort([worker, task])
    return answer(task[order], worker[order], skills, REST_TASKS + GROUP_TASKS, 2, None, rng)


def named_by_each(answers: Answers) -> list[set[tuple[int, ...]]]:
    """Return the groups that each rule names: the rule in use, answer pairs, articulation points."""
    pairs = pair_stats(answers)
    now = {tuple(group.workers.tolist()) for group in loose_groups(np.arange(answers.n_workers), pairs, answers)}
    cut = weakest_cut(pairs, answers.n_workers, two_sided=False)
    loose = cut is not None and has_few_links(cut)
    by_answer_pairs = {tuple(np.flatnonzero(cut.workers).tolist())} if cut is not None and loose else set()
    return [now, by_answer_pairs, {tuple(joint.members.tolist()) for joint in articulation_points(answers, 100)}]


def sign_is_wrong(simulated: Crowd) -> bool:
    """Whether rank-one gives the wrong sign to one of the two groups, or to both."""
    skills = aggregate_in_memory("rank-one", simulated.answers).skills
    return bool(skills[:REST].sum() < 0 or skills[REST:].sum() * simulated.skills[REST:].sum() < 0)


def main(n_crowds: int) -> None:
    """Print a row for each number of answers per task, of bridging workers and of tying tasks."""
    print("| answers a task | bridges | tying tasks | wrong sign | named | by meetings | by joints |")
    print("|---|---|---|---|---|---|---|")
    truth = tuple(range(REST, REST + GROUP))
    for per_task, bridges in ((3, 1), (3, 2), (3, 5), (8, 1), (8, 5)):
        for ties in TIES:
            if ties < bridges:
                continue
            wrong = 0
            hits = np.zeros(3)
            for seed in range(n_crowds):
                rng = np.random.default_rng([seed, ties, bridges])
                simulated = tied_groups(ties, bridges, per_task, rng, contrary=seed % 2 == 1)
                wrong += sign_is_wrong(simulated)
                hits += [truth in groups for groups in named_by_each(simulated.answers)]
            shares = " | ".join(f"{share:.3f}" for share in (wrong / n_crowds, *(hits / n_crowds)))
            print(f"| {per_task} | {bridges} | {ties} | {shares} |", flush=True)
    alarms = np.zeros(3)
    for seed in range(n_crowds):
        rng = np.random.default_rng(seed)
        w = int(rng.choice([20, 60]))
        r = int(rng.choice([3, 5]))
        alarms += [len(groups) > 0 for groups in named_by_each(crowd(40 * w, w, r, seed=rng).answers)]
    rates = ", ".join(f"{rate:.3f}" for rate in alarms / n_crowds)
    print(f"\nnamed where everyone met everyone, by the three rules: {rates} ({n_crowds} crowds)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
