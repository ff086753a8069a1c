"""Print the false discovery rate and the power of each finding of `quorate diagnose`, for docs/accuracy.md.

    python -m benchmarks.findings             # all parts, about ten minutes on one core
    python -m benchmarks.findings pairs 20    # one part, with twenty crowds per setting
    python -m benchmarks.findings tasks 50 1000    # fifty other crowds, with seeds from 1000
    python -m benchmarks.power_picture        # draws docs/diagnosis.svg

Parts: pairs, skilled, workers, misfit, tasks, drift, real. Loosely tied groups are in `tied_groups.py`.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from experiments.simulation.planted_faults import copying
from tests.diagnostics.samples import class_dependent, falling, named_pairs

from quorate.datasets import load
from quorate.datasets.sources import SEVEN
from quorate.diagnostics.class_dependence import SIGNIFICANCE_LEVEL, held_out
from quorate.diagnostics.diagnose import Diagnosis, diagnose
from quorate.diagnostics.drift import drift_test
from quorate.diagnostics.finding import KINDS, Finding
from quorate.diagnostics.hard_tasks import task_test
from quorate.diagnostics.workers import MAX_SPAMMER_SKILL, worker_findings
from quorate.io.gold import Matched, match_truth
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import crowd


def seeds(n_crowds: int) -> range:
    """Return the seeds of ``n_crowds`` crowds, from the first seed on the command line, or from 0."""
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    return range(first, first + n_crowds)


def pairs_part(n_crowds: int) -> None:
    """Print the false discovery rate without and with copying, and the share of copying pairs found by shared tasks."""
    print("\n## Pairs that agree beyond their skills\n")
    print("| crowds | classes | named without copying | false discovery with copying |")
    print("|---|---|---|---|")
    found: Counter[tuple[int, float, str]] = Counter()
    copied: Counter[tuple[int, float, str]] = Counter()
    for low, high, sizes in ((0.0, 1.0, (20, 40)), (0.05, 0.6, (20, 40)), (0.0, 1.0, (6, 10))):
        for m in (2, 4):
            alarms = []
            false = []
            for seed in seeds(n_crowds):
                rng = np.random.default_rng([seed, m, sizes[0], int(100 * high)])
                w = int(rng.choice(sizes))
                t = int(rng.choice([200, 400, 800, 1600]))
                r = min(int(rng.choice([4, 8, 12])), w)
                simulated = crowd(t, w, r, n_classes=m, skills=rng.uniform(low, high, w), seed=rng)
                alarms.append(bool(named_pairs(simulated.answers)[0]))
                chosen = np.sort(rng.permutation(w)[: 6 if w >= 20 else 2].reshape(-1, 2), axis=1)
                for share in (0.6, 0.9):
                    named, shared = named_pairs(copying(simulated.answers, chosen, share, rng))
                    true = {(int(i), int(j)) for i, j in chosen}
                    false.append(len(named - true) / max(len(named), 1))
                    for pair in true & set(shared):
                        if sizes[0] >= 20 and high == 1.0:
                            cell = (m, share, bin_of(shared[pair]))
                            copied[cell] += 1
                            found[cell] += pair in named
            about = f"{sizes[0]}–{sizes[1]} workers, skills {low:g}–{high:g}"
            print(f"| {about} | {m} | {np.mean(alarms):.3f} | {np.mean(false):.3f} |", flush=True)
    print("\n| classes | copied | 20–40 shared | 41–80 | 81–160 | over 160 |")
    print("|---|---|---|---|---|---|")
    for m in (2, 4):
        for share in (0.6, 0.9):
            cells = [(m, share, name) for name in BINS]
            shares = [f"{found[c] / max(copied[c], 1):.2f} of {copied[c]}" for c in cells]
            print(f"| {m} | {share:.0%} | {' | '.join(shares)} |")


BINS = {"20-40": 40, "41-80": 80, "81-160": 160, "161-": 10**9}


def bin_of(shared: int) -> str:
    """Return the name of the bin of a number of shared tasks."""
    return next(name for name, most in BINS.items() if shared <= most)


def skilled_part(n_crowds: int) -> None:
    """Print the number of crowds in which a pair is named although only two workers are skilled and none copies."""
    print("\n## Two skilled workers among guessers\n")
    print("| classes | workers | tasks | answers a task | crowds | any pair named | the two skilled named |")
    print("|---|---|---|---|---|---|---|")
    shapes = ((5, 100, 5), (6, 60, 6), (8, 100, 8), (10, 200, 10), (10, 300, 5), (20, 400, 8), (20, 1000, 20))
    alarms = 0
    accused = 0
    crowds = 0
    for m in (2, 4):
        for w, t, r in shapes:
            skills = np.zeros(w)
            skills[:2] = (m * 0.95 - 1) / (m - 1)
            named = [
                named_pairs(crowd(t, w, r, n_classes=m, skills=skills, seed=seed).answers)[0]
                for seed in seeds(n_crowds)
            ]
            any_named = sum(bool(pairs) for pairs in named)
            two_named = sum((0, 1) in pairs for pairs in named)
            print(f"| {m} | {w} | {t} | {r} | {n_crowds} | {any_named} | {two_named} |", flush=True)
            alarms += any_named
            accused += two_named
            crowds += n_crowds
    print(f"\nof {crowds} crowds: some pair named in {alarms}, the two skilled in {accused}")


def workers_part(n_crowds: int) -> None:
    """Print false discovery rate and power for adversaries and spammers, by the default method."""
    print("\n## Adversaries and spammers\n")
    print("| tasks, workers, answers a task, classes | answers a worker | false adversaries | adversaries found | "
          "false spammers | spammers found |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for t, w, r, m in ((1000, 40, 5, 2), (2000, 40, 5, 2), (1000, 20, 10, 2), (600, 40, 5, 4)):
        rows = []
        for seed in seeds(n_crowds):
            rng = np.random.default_rng([seed, t, w, m])
            skills = rng.uniform(0.3, 0.9, w)
            # A fifth are adversaries, a fifth spammers, and a tenth have the largest skill of a spammer.
            skills[: w // 5], skills[w // 5 : 2 * w // 5] = -min(0.5, 1 / (m - 1)), 0.0
            skills[2 * w // 5 : w // 2] = MAX_SPAMMER_SKILL
            named: dict[str, set[int]] = {"adversary": set(), "spammer": set()}
            for finding in worker_findings(
                aggregate_in_memory("quorate", crowd(t, w, r, n_classes=m, skills=skills, seed=rng).answers)
            ):
                if finding.kind in named:
                    named[finding.kind].add(finding.workers[0])
            bad = set(np.flatnonzero(skills < 0).tolist())
            spam = set(np.flatnonzero(skills == 0).tolist())
            adversaries = named["adversary"]
            spammers = named["spammer"]
            rows.append(
                (
                    len(adversaries - bad) / max(len(adversaries), 1),
                    len(adversaries & bad) / len(bad),
                    len([x for x in spammers if abs(skills[x]) >= MAX_SPAMMER_SKILL]) / max(len(spammers), 1),
                    len(spammers & spam) / len(spam),
                )
            )
        means = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        print(f"| {t:,}, {w}, {r}, {m} | {t * r // w} | {means} |", flush=True)


def misfit_part(n_crowds: int) -> None:
    """Print how often class dependence is found in one-coin crowds, and in crowds with a harder first class."""
    print("\n## Accuracy that depends on the class\n")
    print("| classes | crowds | one coin: taken for another | largest z | right 20 % less often on one class: found | "
          "40 % less often |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for m in (2, 4, 10):
        alarms = []
        z = []
        hits: dict[float, list[bool]] = {0.2: [], 0.4: []}
        for seed in seeds(n_crowds):
            rng = np.random.default_rng([seed, m])
            w = int(rng.choice([10, 50, 200]))
            t = int(rng.choice([200, 1000, 3000]))
            r = int(rng.choice([3, 5, 8]))
            prior = None if seed % 2 else rng.dirichlet(np.full(m, 2.0))
            coin = held_out(crowd(t, w, r, n_classes=m, skills=rng.uniform(0, 1, w), prior=prior, seed=rng).answers)
            assert coin is not None
            alarms.append(coin.p <= SIGNIFICANCE_LEVEL)
            z.append(max(coin.gain[name] / coin.standard_error[name] for name in coin.gain))
            for gap, found in hits.items():
                biased = held_out(class_dependent(t, w, r, m, gap, rng))
                found.append(biased is not None and biased.p <= SIGNIFICANCE_LEVEL)
        shares = " | ".join(f"{np.mean(found):.2f}" for found in hits.values())
        print(f"| {m} | {n_crowds} | {np.mean(alarms):.3f} | {max(z):.1f} | {shares} |", flush=True)


def tasks_part(n_crowds: int) -> None:
    """Print false discovery rate and power for tasks on which all workers guess."""
    print("\n## Tasks that look hard\n")
    print("| answers a task | classes | skills | any named, none hard | false discovery, 5 % hard | found |")
    print("|---|---|---|---|---|---|")
    for m in (2, 4):
        for r in (5, 10, 20):
            for low, high in ((0.3, 0.95), (0.7, 0.95)):
                alarms = []
                false = []
                hits = []
                for seed in seeds(n_crowds):
                    for share in (0.0, 0.05):
                        rng = np.random.default_rng([seed, m, r, int(100 * low)])
                        a = crowd(500, 40, r, n_classes=m, skills=rng.uniform(low, high, 40), seed=rng).answers
                        hard = rng.random(500) < share
                        guesses = rng.integers(0, m, a.n_answers)
                        a = replace(a, label=np.where(hard[a.task], guesses, a.label).astype(a.label.dtype))
                        named = np.zeros(500, dtype=bool)
                        named[task_test(a, aggregate_in_memory("rank-one", a).skills).flagged] = True
                        if share:
                            false.append((named & ~hard).sum() / max(named.sum(), 1))
                            hits.append((named & hard).sum() / max(hard.sum(), 1))
                        else:
                            alarms.append(named.any())
                figures = f"{np.mean(alarms):.3f} | {np.mean(false):.3f} | {np.mean(hits):.2f}"
                print(f"| {r} | {m} | {low:g}–{high:g} | {figures} |", flush=True)


def drift_part(n_crowds: int) -> None:
    """Print false discovery rate and power for workers whose skill decreases."""
    print("\n## Drift\n")
    print("| tasks, workers, answers a task, classes | answers a worker | any named, none drifts | "
          "false discovery, two drift | found |")  # fmt: skip
    print("|---|---|---|---|---|")
    for t, w, r, m in ((400, 20, 5, 2), (1000, 30, 5, 2), (1000, 20, 10, 2), (400, 20, 5, 4), (1000, 30, 5, 4)):
        alarms = []
        false = []
        hits = []
        for seed in seeds(n_crowds):
            rng = np.random.default_rng([seed, t, w, m])
            for n_drift in (0, 2):
                a, times = falling(t, w, r, m, n_drift, rng, step=bool(seed % 2))
                named = set(drift_test(a, aggregate_in_memory("rank-one", a).skills, times).flagged.tolist())
                if n_drift:
                    false.append(len(named - {0, 1}) / max(len(named), 1))
                    hits.append(len(named & {0, 1}) / 2)
                else:
                    alarms.append(bool(named))
        figures = f"{np.mean(alarms):.3f} | {np.mean(false):.3f} | {np.mean(hits):.2f}"
        print(f"| {t:,}, {w}, {r}, {m} | {t * r // w} | {figures} |", flush=True)


def real_part(_: int) -> None:
    """Print the number of findings of each kind on the public sets, and the true record of the workers named."""
    print("\n## Public sets\n")
    print(f"| kind | {' | '.join(SEVEN)} |")
    print(f"|---|{'---|' * len(SEVEN)}")
    found = {name: diagnose(load(name).answers) for name in SEVEN}
    counts = {name: Counter(finding.kind for finding in found[name].findings) for name in SEVEN}
    for kind in KINDS:
        if any(counts[name][kind] for name in SEVEN):
            print(f"| {kind} | {' | '.join(str(counts[name][kind] or '–') for name in SEVEN)} |")
    print("\nWhat the truth says of the workers named: share right of their answers to tasks with truth, by class")
    for name in SEVEN:
        tasks, labels = match_truth(load(name).truth, found[name].answers)
        for finding in found[name].findings:
            if finding.kind in ("adversary", "spammer"):
                print(f"{name}: {finding.kind} {finding.workers[0]}: {record(found[name], finding, tasks, labels)}")


def record(found: Diagnosis, finding: Finding, tasks: Matched, labels: Matched) -> str:
    """Return a worker's share right on tasks with a true label, overall and by class, as text."""
    a = found.answers
    truth = np.full(a.n_tasks, -1)
    known = (tasks.codes >= 0) & (labels.codes >= 0)
    truth[tasks.codes[known]] = labels.codes[known]
    mine = (a.worker == finding.workers[0]) & (truth[a.task] >= 0)
    right = a.label[mine] == truth[a.task[mine]]
    by_class = [
        f"{a.classes[k].as_py()}: {right[own].mean():.0%} of {own.sum()}"
        for k in range(a.n_classes)
        if (own := truth[a.task[mine]] == k).any()
    ]
    return f"{right.mean():.0%} of {len(right)} ({', '.join(by_class)})"


PARTS: dict[str, tuple[Callable[[int], None], int]] = {
    "pairs": (pairs_part, 100),
    "skilled": (skilled_part, 30),
    "workers": (workers_part, 40),
    "misfit": (misfit_part, 60),
    "tasks": (tasks_part, 120),
    "drift": (drift_part, 300),
    "real": (real_part, 0),
}


def main(arguments: list[str]) -> None:
    """Run all parts, or the part that is named."""
    for name in arguments[:1] or PARTS:
        part, usual = PARTS[name]
        part(int(arguments[1]) if len(arguments) > 1 else usual)


if __name__ == "__main__":
    main(sys.argv[1:])
