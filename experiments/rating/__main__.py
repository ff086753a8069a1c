"""Print every figure with its target."""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

import quorate
from experiments.default_method.report import Target, print_row, print_targets
from experiments.rating.data import JUDGES, KINDS, PANELS, SETS, Answers, concentrated, folder, load, simulate
from experiments.rating.methods import METHODS
from quorate.arrays import FloatArray
from quorate.io.scores import read_scores
from quorate.rating.methods import ScoreEstimate, additive
from quorate.rating.metrics import NORMAL_95

OTHERS = Path(__file__).with_name("others.py")
FIRST_SEED = 74_000  # seeds from here were not used in the development of the method
SKEWED_BOUNDS = (0, 100)


def ends(estimate: ScoreEstimate) -> tuple[FloatArray, FloatArray] | None:
    """Return the ends of the 95 % intervals; None if the method has no intervals."""
    if estimate.low is not None and estimate.high is not None:
        return estimate.low, estimate.high
    if estimate.se is None:
        return None
    return estimate.score - NORMAL_95 * estimate.se, estimate.score + NORMAL_95 * estimate.se


def correlation(one: FloatArray, two: FloatArray) -> float:
    """Return Pearson's correlation over tasks with both scores."""
    both = np.isfinite(one) & np.isfinite(two)
    if np.std(one[both]) == 0 or np.std(two[both]) == 0:
        return 0.0
    return float(np.corrcoef(one[both], two[both])[0, 1])


def simulations(n_crowds: int) -> list[Target]:
    """Correlation, RMSE and coverage on eight simulated kinds.

    Without known scores the level is the panel's, so coverage is that of the true scores plus the mean difference. Some
    true scores of the bounded kinds are outside the scale, where no answer is possible. They are replaced by the end of
    the scale; the coverage with the original true scores is also printed.
    """
    print(f"\nSimulated, {n_crowds} crowds of each kind: correlation / RMSE / coverage of 95 %")
    targets = []
    chosen = [name for name in METHODS if name not in ("median", "BT.500", "CATD")]
    print_row("", chosen, 18)
    for kind, options in KINDS.items():
        figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in chosen}
        covered = []
        for seed in range(n_crowds):
            answers, truth = simulate(FIRST_SEED + seed, **options)
            on_scale = truth
            if "points" in options or "skewed" in options:
                on_scale = np.clip(truth, *(SKEWED_BOUNDS if "skewed" in options else (1, options["points"])))
            for name in chosen:
                estimate = METHODS[name](answers)
                interval = ends(estimate)
                inside = np.nan
                if interval is not None:
                    inside = float(np.mean((interval[0] <= truth) & (truth <= interval[1])))
                error = float(np.sqrt(np.mean((estimate.score - truth) ** 2)))
                figures[name].append((correlation(estimate.score, truth), error, inside))
                if name == "rate" and interval is not None:
                    targets_of_interval = [
                        true + np.mean(estimate.score - true)  # without the difference of levels
                        for true in (on_scale, truth)
                    ]
                    covered.append(
                        [np.mean((interval[0] <= true) & (true <= interval[1])) for true in targets_of_interval]
                    )
        means = {name: np.mean(rows, axis=0) for name, rows in figures.items()}
        print_row(kind, [f"{c:.3f}/{e:.3g}/{k:.2f}" for c, e, k in means.values()], 18)
        others = max(means[name][0] for name in chosen if name not in ("rate", "same scale"))
        targets.append(Target(f"{kind}: correlation above the best other", float(means["rate"][0] - others), least=0))
        inside, as_drawn = np.mean(covered, axis=0)
        print(
            f"    level removed: {inside:.3f} of the true scores; {as_drawn:.3f} where they may lie outside the scale"
        )
        # Coverage is compared to two digits, as it is printed.
        targets.append(Target(f"{kind}: coverage, level removed", round(float(inside), 2), least=0.94, most=0.98))
    return targets


def split_panels(n_splits: int) -> list[Target]:
    """Half of the raters, some answers per task, against the bias-removed mean of the other half."""
    print(f"\nPanels split in two, {n_splits} splits: correlation / RMSE in sd / coverage of the difference")
    chosen = list(METHODS)
    targets = []
    all_figures: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    by_set: dict[tuple[str, str], list[float]] = {}
    for name in PANELS:
        answers, _ = load(name)
        for split in range(n_splits):
            rng = np.random.default_rng(split)
            half = np.zeros(answers.n_raters, bool)
            half[rng.permutation(answers.n_raters)[: answers.n_raters // 2]] = True
            reference_answers = answers.only(~half[answers.rater])
            reference = METHODS["bias-removed"](reference_answers)
            ours = answers.only(half[answers.rater])
            for per_task in ("3", "6", "all"):
                part = ours
                if per_task != "all":
                    order = rng.permutation(len(ours.task))
                    rank = np.empty(len(order), np.int64)
                    shuffled = ours.task[order]
                    seen = np.argsort(shuffled, kind="stable")
                    start = np.searchsorted(shuffled[seen], shuffled[seen], side="left")
                    rank[order[seen]] = np.arange(len(order)) - start
                    part = ours.only(rank < int(per_task))
                for method in chosen:
                    figures = _against(METHODS[method](part), reference, answers.score.std())
                    all_figures.setdefault((method, per_task), []).append(figures)
                    by_set.setdefault((method, name), []).append(figures[0])
    print_row("", chosen, 18)
    for per_task in ("3", "6", "all"):
        means = []
        for method in chosen:
            rows = np.array(all_figures[method, per_task])
            has_interval = np.isfinite(rows[:, 2])
            inside = rows[has_interval, 2].mean() if has_interval.any() else np.nan
            means.append((rows[:, 0].mean(), rows[:, 1].mean(), inside))
        print_row(f"{per_task} answers", [f"{c:.3f}/{e:.3f}/{k:.2f}" for c, e, k in means], 18)
        covered = float(np.nanmean([row[2] for row in all_figures["rate", per_task]]))
        targets.append(Target(f"split panels, {per_task}: coverage of rate", covered, least=0.94, most=0.98))
    for name in PANELS:
        gain = float(np.mean(by_set["rate", name]) - np.mean(by_set["mean", name]))
        targets.append(Target(f"{name}: correlation above the mean's", gain, least=0))
    return targets


def _against(estimate: ScoreEstimate, reference: ScoreEstimate, unit: float) -> tuple[float, float, float]:
    n = min(len(estimate.score), len(reference.score))
    score = estimate.score[:n]
    known = reference.score[:n]
    both = np.isfinite(score) & np.isfinite(known)
    shift = np.mean(score[both] - known[both])  # the two halves have different levels
    error = float(np.sqrt(np.mean((score[both] - known[both] - shift) ** 2)) / unit)
    inside = np.nan
    if estimate.se is not None and reference.se is not None:
        own = estimate.se[:n]
        if estimate.low is not None and estimate.high is not None:
            own = (estimate.high[:n] - estimate.low[:n]) / 2 / NORMAL_95
        half = NORMAL_95 * np.sqrt(own**2 + reference.se[:n] ** 2)
        stated = both & np.isfinite(half)
        inside = float(np.mean(np.abs(score - known - shift)[stated] <= half[stated]))
    return correlation(score[both], known[both]), error, inside


def held_out() -> list[Target]:
    """Mean log density of hidden answers, 10 %, by rate and by the additive model."""
    print("\nHeld-out log density, 10 % of the answers hidden: additive, rate; hidden answers inside 95 %")
    wins = 0
    inside = []
    lost = []
    for name in SETS:
        answers, _ = load(name)
        rng = np.random.default_rng(0)
        hidden = rng.random(len(answers.score)) < 0.1
        hidden &= np.isin(answers.task, answers.task[~hidden]) & np.isin(answers.rater, answers.rater[~hidden])
        seen = answers.only(~hidden)
        rest = answers.only(hidden)
        found = quorate.rate(seen.scores())
        tasks = np.unique(seen.task)
        raters = np.unique(seen.rater)
        at_task = np.searchsorted(tasks, rest.task)
        at_rater = np.searchsorted(raters, rest.rater)
        mean, variance, df = found.predictive(at_task, at_rater)
        unit = np.sqrt(variance * (df - 2) / df)
        ours = float(stats.t.logpdf(rest.score, df, mean, unit).mean())
        half = stats.t.ppf(0.975, df) * unit
        inside.append(np.mean(np.abs(rest.score - mean) <= half))
        theirs = _additive_density(seen, rest)
        wins += ours > theirs
        if ours <= theirs:
            lost.append(name)
        print_row(name, [theirs, ours, float(inside[-1])])
    print(f"rate is above the additive model on {wins} of {len(SETS)}; not on {', '.join(lost) or 'none'}")
    return [
        Target("held-out density: sets on which rate is not above additive", float(len(SETS) - wins), most=2),
        Target("hidden answers inside the 95 % predictive interval", float(np.mean(inside)), least=0.93, most=0.97),
    ]


def _additive_density(seen: Answers, rest: Answers) -> float:
    """Log density of answers under task + rater + normal noise, by least squares, shrunk by its own variances."""
    scores = seen.scores()
    bias, level = additive(scores)
    tasks = np.unique(seen.task)
    raters = np.unique(seen.rater)
    residual = scores.score - bias[scores.worker] - level[scores.task]
    freedom = max(len(residual) - len(tasks) - len(raters) + 1, 1)
    noise = residual @ residual / freedom
    n_task = np.bincount(scores.task)
    n_rater = np.bincount(scores.worker)
    task_variance = max(level.var() - noise * np.mean(1 / n_task), 1e-9 * noise)
    rater_variance = max(bias.var() - noise * np.mean(1 / n_rater), 1e-9 * noise)
    shrunk_task = level.mean() + (level - level.mean()) * task_variance / (task_variance + noise / n_task)
    shrunk_bias = bias * rater_variance / (rater_variance + noise / n_rater)
    at_task = np.searchsorted(tasks, rest.task)
    at_rater = np.searchsorted(raters, rest.rater)
    mean = shrunk_task[at_task] + shrunk_bias[at_rater]
    variance = noise + 1 / (1 / task_variance + n_task / noise)[at_task]
    variance = variance + 1 / (1 / rater_variance + n_rater / noise)[at_rater]
    return float(stats.norm.logpdf(rest.score, mean, np.sqrt(variance)).mean())


def judges() -> list[Target]:
    """LLM judges of ASSET against the mean of 15 people; intervals without and with 20 known scores."""
    print("\nLLM judges against people: correlation of each method")
    targets = []
    chosen = ("mean", "z-score", "CRH", "GTM", "P.910", "same scale", "rate")
    expected = {"asset_judges_0": 0.873, "asset_judges_1": 0.741, "asset_judges_2": 0.611}
    print_row("", chosen, 12)
    for name in JUDGES:
        answers, known = load(name)
        truth = np.array([known.get(t, np.nan) for t in range(answers.n_tasks)])
        figures = {method: correlation(METHODS[method](answers).score, truth) for method in chosen}
        print_row(name, list(figures.values()), 12)
        targets.append(Target(f"{name}: correlation of rate", figures["rate"], least=expected[name] - 0.002))
        covered = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            tasks = rng.choice(answers.n_tasks, 20, replace=False)
            found = quorate.rate(answers.scores(), gold={int(t): known[int(t)] for t in tasks}).tasks
            rest = np.setdiff1d(np.arange(answers.n_tasks), tasks)
            covered.append(np.mean((found.low[rest] <= truth[rest]) & (truth[rest] <= found.high[rest])))
        targets.append(Target(f"{name}: coverage with 20 known", float(np.mean(covered)), least=0.9, most=0.99))
    return targets


def single_sets() -> list[Target]:
    """Netflix's planted outliers, InstEval's passes, word similarity."""
    targets = []
    place = folder()
    assert place is not None
    found = quorate.rate(place / "netflix_four_outliers.csv")
    names = np.array(found.worker_ids.to_pylist())
    order = np.argsort(found.raters.weight)
    print(
        f"\nnetflix_four_outliers: raters of least weight {names[order[:4]].tolist()}, weights "
        f"{found.raters.weight[order[:5]].round(4).tolist()}"
    )
    fourth = round(float(found.raters.weight[order[3]]), 3)
    targets.append(Target("planted outliers: largest weight of four", fourth, most=0.015))
    targets.append(Target("planted outliers: weight of the fifth", float(found.raters.weight[order[4]]), least=0.03))
    begun = time.process_time()
    found = quorate.rate(load("insteval")[0].scores())
    seconds = time.process_time() - begun
    model = found.reliability
    print(
        f"insteval: {found.passes} passes, {seconds:.1f} CPU s; variances task {model.task:.3f}, rater "
        f"{model.bias:.3f}, rest {model.noise + model.scale:.3f}; one mark {model.consistency(1):.3f}, "
        f"{model.raters_needed(0.9)} marks for .9"
    )
    targets.append(Target("InstEval: passes, a third of 171", float(found.passes), most=57))
    answers, known = load("wordsim")
    truth = np.array([known.get(t, np.nan) for t in range(answers.n_tasks)])
    gain = correlation(METHODS["rate"](answers).score, truth) - correlation(METHODS["mean"](answers).score, truth)
    targets.append(Target("wordsim: correlation above the mean's", gain, least=0))
    return targets


def convergence(n_crowds: int) -> list[Target]:
    """Small crowds with most scores at one end of the scale."""
    print("\nConcentrated crowds (100 tasks, 38 raters): passes, simpler model used, correlation of rate and mean")
    failed = 0
    gains = []
    for per_task in (3, 5, 10):
        for at_zero in (0.6, 0.75, 0.85):
            rows = []
            for seed in range(n_crowds):
                answers, truth = concentrated(seed, per_task, at_zero)
                found = quorate.rate(answers.scores())
                failed += found.status != "converged"
                simpler = any(note.kind == "simpler-model" for note in found.notes)
                own = correlation(found.tasks.score, truth)
                rows.append((found.passes, simpler, own, correlation(found.tasks.mean, truth)))
            means = np.mean(rows, axis=0)
            gains.append(means[2] - means[3])
            print_row(f"{per_task} answers, {at_zero:.0%} at 0", means.tolist())
    print(
        f"mean gain in correlation over the mean {np.mean(gains):+.3f}: noise is far from normal here, and the mean is "
        "listed beside the score"
    )
    return [Target("concentrated crowds: not converged", float(failed), most=0)]


def gold_coverage(n_crowds: int) -> list[Target]:
    """Coverage of unknown tasks with a shared error of .5 and another scale."""
    print("\nGold on another scale, shared error .5: coverage of unknown tasks")
    targets = []
    for n_known in (5, 10, 20, 50):
        covered = []
        for seed in range(n_crowds):
            answers, truth = simulate(2000 + seed)
            rng = np.random.default_rng(seed)
            shared = 0.5 * rng.normal(size=len(truth))
            moved = {"task": answers.task, "worker": answers.rater}
            tasks = rng.choice(len(truth), n_known, replace=False)
            rows = {**moved, "score": 10 + 3 * (answers.score + shared[answers.task])}
            found = quorate.rate(rows, gold={int(t): float(truth[t]) for t in tasks}).tasks
            rest = np.setdiff1d(np.arange(len(truth)), tasks)
            covered.append(np.mean((found.low[rest] <= truth[rest]) & (truth[rest] <= found.high[rest])))
        print_row(f"{n_known} known", [float(np.mean(covered))])
        targets.append(Target(f"gold, {n_known} known: coverage", float(np.mean(covered)), least=0.93))
    return targets


def errors_together(n_panels: int) -> list[Target]:
    """Judges in groups that share an error: correlation and coverage without and with the groups."""
    print("\nGroups that share an error: correlation mean / rate / with groups; coverage rate / with groups; z")
    targets = []
    for sizes in ((5, 2, 1, 1, 1), (3, 3, 3), (8, 1, 1), (2, 2, 2, 2), (1,) * 10):
        rows = []
        for seed in range(n_panels):
            rng = np.random.default_rng(seed)
            truth = rng.normal(size=300)
            group = np.repeat(np.arange(len(sizes)), sizes)
            n = len(group)
            shared = 0.7 * rng.normal(size=(len(sizes), 300)) * (np.array(sizes) > 1)[:, None]
            bias = 0.4 * rng.normal(size=(n, 1))
            scale = 1 + 0.2 * rng.normal(size=(n, 1))
            y = bias + scale * truth + shared[group] + 0.5 * rng.normal(size=(n, 300))
            scores = {"task": np.tile(np.arange(300), n), "worker": np.repeat(np.arange(n), 300), "score": y.ravel()}
            plain = quorate.rate(scores)
            grouped = quorate.rate(scores, group={w: int(group[w]) for w in range(n)})
            row = [correlation(y.mean(0), truth)]
            row += [correlation(found.tasks.score, truth) for found in (plain, grouped)]
            for found in (plain, grouped):
                slope, level = np.polyfit(truth, found.tasks.score, 1)
                here = level + slope * truth
                row.append(np.mean((found.tasks.low <= here) & (here <= found.tasks.high)))
            rows.append([*row, plain.shared.z or 0.0])
        means = np.mean(rows, axis=0)
        name = "+".join(map(str, sizes))
        print_row(name, means.tolist())
        if max(sizes) > 1:
            targets.append(Target(f"{name}: z of the test", float(means[5]), least=3))
            targets.append(Target(f"{name}: coverage with groups", float(means[4]), least=0.9, most=0.99))
        else:
            targets.append(Target("all alone: largest z", float(np.max([row[5] for row in rows])), most=3))
    return targets


def speed() -> list[Target]:
    """Rate a million answers on a 5-point scale."""
    rng = np.random.default_rng(0)
    n_tasks = 200_000
    n_raters = 2_000
    truth = rng.normal(size=n_tasks)
    task = np.repeat(np.arange(n_tasks), 5)
    first = rng.integers(0, n_raters, (n_tasks, 1))
    rater = ((first + np.array([0, 1, 5, 17, 91]) * rng.integers(1, 4, (n_tasks, 1))) % n_raters).ravel()
    y = 0.4 * rng.normal(size=n_raters)[rater] + (1 + 0.3 * rng.normal(size=n_raters))[rater] * truth[task]
    score = np.clip(np.round(3 + y + 0.7 * rng.normal(size=len(task))), 1, 5)
    targets = []
    for form, most in (("C", 1.5), ("numpy", 5.0)):
        code = os.environ | {"QUORATE_KERNELS": "numpy" if form == "numpy" else ""}
        with tempfile.TemporaryDirectory() as place:
            np.savez(Path(place) / "scores.npz", task=task, worker=rater, score=score)
            script = (
                "import sys, time, numpy as np, quorate; from quorate.io.scores import read_scores\n"
                "rows = np.load(sys.argv[1]); rows = {k: rows[k] for k in rows.files}\n"
                "quorate.rate(read_scores({k: v[:5000] for k, v in rows.items()}, on_conflict='mean'))\n"
                "scores = read_scores(rows, on_conflict='mean'); t = time.process_time(); r = quorate.rate(scores)\n"
                "print(time.process_time() - t, r.passes)"
            )
            done = subprocess.run(
                [sys.executable, "-c", script, str(Path(place) / "scores.npz")],
                env=code,
                capture_output=True,
                text=True,
                check=True,
            )
        seconds, passes = done.stdout.split()
        print(f"1,000,000 answers, kernels in {form}: {float(seconds):.2f} CPU s, {passes} passes")
        targets.append(Target(f"1,000,000 answers in {form}: CPU seconds", float(seconds), most=most))
    return targets


def beside_others() -> list[Target]:
    """Run sureal and statsmodels on three small sets, if a Python with these packages is given."""
    python = os.environ.get("QUORATE_OTHERS")
    if python is None:
        print("\nsureal and statsmodels: skipped (QUORATE_OTHERS names no Python that has them)")
        return []
    print("\nBeside sureal (P.910) and statsmodels (MixedLM): correlation with the truth / CPU seconds")
    for kind in ("base", "30 % spammers", "5-point"):
        answers, truth = simulate(1000, **KINDS[kind])
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "scores.csv"
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["task", "worker", "score"])
                writer.writerows(
                    (f"t{t}", f"w{r}", s) for t, r, s in zip(answers.task, answers.rater, answers.score, strict=True)
                )
            done = subprocess.run([python, str(OTHERS), str(path)], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        found = json.loads(lines[-1]) if lines else {}
        if not found:
            print(f"{kind}: the other tools failed: {done.stderr[-300:]}")
            continue
        begun = time.process_time()
        own = quorate.rate(read_scores({"task": answers.task, "worker": answers.rater, "score": answers.score}))
        cells = [f"rate {correlation(own.tasks.score, truth):.3f}/{time.process_time() - begun:.2f}s"]
        for name, result in found.items():
            if "failed" in result:
                cells.append(f"{name}: {result['failed'][:60]}")
                continue
            scores = np.array([result["scores"].get(f"t{t}", np.nan) for t in range(len(truth))])
            cells.append(f"{name} {correlation(scores, truth):.3f}/{result['seconds']:.2f}s")
        print(f"{kind:26s}" + "   ".join(cells))
    return []


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer crowds and splits")
    options = parser.parse_args()
    n = 3 if options.quick else 8
    targets = simulations(n)
    public: tuple[Callable[[], list[Target]], ...] = (
        lambda: split_panels(2 if options.quick else 3),
        held_out,
        judges,
        single_sets,
    )
    if folder() is None:
        print("\npublic sets: skipped (QUORATE_DATASETS names no folder with scores)")
    else:
        for section in public:
            targets += section()
    targets += convergence(n)
    targets += gold_coverage(n)
    targets += errors_together(n)
    targets += speed()
    targets += beside_others()
    print_targets(targets)


if __name__ == "__main__":
    main()
