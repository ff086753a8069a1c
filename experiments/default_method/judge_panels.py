"""Confidence of a default method on the 47 public panels of LLM judges, each repository left out in turn.

    python -m experiments.default_method.judge_panels [--gold 0,30,60] [--groups] [--seeds 4 [--first-seed 100]]
                                                      [--method product|prototype:PATH] [--as-shipped]

For each repository the four numbers of the judges' calibration law are fitted without its panels (`law.fit_judge_law`),
unless `--as-shipped` keeps the method's own. "By repository" means that every repository has the same weight. With gold
labels only the other tasks are scored; panels with fewer than 30 such tasks are left out. `--groups` adds the same
figures with judges grouped by vendor, and judges_civil, whose law is fitted without care_civil.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.default_method.data import (
    JUDGES_CIVIL,
    PEOPLE,
    Crowd,
    Panel,
    choose_gold,
    load_panels,
    load_public_set,
)
from experiments.default_method.figures import (
    LEAST_PANEL_PROBABILITY,
    UNDECIDED,
    Figures,
    count_decisions,
    covers,
    decide,
    mean_by_group,
    means_of_groups,
    score,
)
from experiments.default_method.law import PanelEvidence, fit_judge_law, panel_evidence
from experiments.default_method.methods import (
    Constants,
    Method,
    MissingHookError,
    ShareInterval,
    add_method_options,
    fit,
    load_method,
    parse_constants,
)
from experiments.default_method.report import Target, parse_numbers, print_row, print_targets

MIN_SCORED_TASKS = 30
MAX_ERRORS = (0.2, 0.3, 0.4)  # of `check --max-error`
CARE = "SprocketLab/CARE"  # its panel care_civil is a part of judges_civil

# What the issue of the default method demands, by number of gold labels.
MAX_OVERSTATED = 0.03
MAX_RMSE = 0.16
MAX_LOG_LOSS = 0.81
MIN_COVERAGE = 0.85
MAX_WIDTH = 0.50
MAX_ABSOLUTE = {30: 0.056, 60: 0.045}
MAX_WRONG_OF_PASSES = 0.03
MAX_UNDECIDED = 0.45  # at --max-error 0.3 with 30 labels
MIN_RECOGNISED = 45
MAX_JUDGES_CIVIL_ERROR = 0.276

# Names for the name rule that were not used to write it: models, and people who are called like models.
MODEL_NAMES = (
    ("nemotron-4-340b-instruct", "jamba-1.5-large", "olmo-2-13b"),
    ("glm-4-9b-chat", "internlm2-20b", "baichuan2-13b-chat"),
    ("o3-mini", "o4-mini-2025-04-16", "nova-pro-v1"),
    ("ernie-4.0-turbo", "hunyuan-large", "kimi-k2-0711-preview"),
    ("exaone-3.5-32b", "solar-10.7b", "dbrx-instruct"),
    ("stablelm-2-12b", "starling-lm-7b-alpha", "zephyr-7b-beta"),
)
PERSON_NAMES = (
    ("Claude", "Gemma", "Sonnet", "Ada"),
    ("Claude", "Marie", "Philippe", "Sophie"),
    ("Gemma", "Amelia", "Oliver", "Jack"),
    ("Phil", "Aya", "Mia", "Noah"),
    ("Orca", "Falcon", "Eagle", "Raven"),
    ("worker-7", "worker-8", "worker-12", "worker-40"),
    ("anna.k", "ben-2", "carla_1990", "dmitri"),
    ("A1B2C3D4E5F6", "A2TURBO9XYZ", "A3QWE12RTY", "AJ4MINI77"),
)


@dataclass(frozen=True)
class Run:
    """One panel with the gold labels of one seed."""

    panel: str
    repository: str
    n_gold: int
    figures: Figures
    share_right: ShareInterval | None


def left_out_laws(method: Method, panels: Sequence[Panel], constants: Constants) -> dict[str, Constants]:
    """Return for each repository the judges' law fitted without it."""
    evidence = collect_evidence(method, panels, constants)
    laws = {}
    for repository in dict.fromkeys(panel.repository for panel in panels):
        others = [panel for panel in evidence if panel.repository != repository]
        laws[repository] = fit_judge_law(others)
    return laws


def collect_evidence(method: Method, panels: Sequence[Panel], constants: Constants) -> list[PanelEvidence]:
    """Return the likelihood of every panel's truth given its uncalibrated posterior."""
    evidence = []
    for panel in panels:
        (posterior,) = method.uncalibrated(panel.crowd, [constants])
        evidence.append(panel_evidence(panel.repository, posterior, panel.crowd.truth, panel.crowd.votes()))
    return evidence


def with_law(constants: Constants, law: Constants | None) -> Constants:
    """Return constants with the four numbers of a judges' law, or unchanged."""
    return constants if law is None else replace(constants, **law.replaced())


def run_panels(
    method: Method,
    panels: Sequence[Panel],
    n_gold: int,
    seeds: Sequence[int],
    laws: Mapping[str, Constants],
    constants: Constants,
    grouped: bool = False,
) -> list[Run]:
    """Score every panel that leaves enough tasks, for every seed."""
    runs = []
    for panel in panels:
        crowd = panel.crowd
        chosen = with_law(constants, laws.get(panel.repository))
        for seed in seeds if n_gold else seeds[:1]:
            gold = choose_gold(crowd, n_gold, seed) if n_gold else None
            if (crowd.truth >= 0).sum() < n_gold + MIN_SCORED_TASKS:
                continue
            group = crowd.group if grouped else None
            fitted = fit(method, crowd, gold, group, judges=True, constants=chosen)
            figures = score(fitted.posterior, crowd.truth, gold, LEAST_PANEL_PROBABILITY)
            runs.append(Run(crowd.name, panel.repository, n_gold, figures, fitted.share_right))
    return runs


@dataclass(frozen=True)
class Summary:
    """Figures of some runs, by repository."""

    right: float
    stated: float
    overstated: float
    absolute: float
    rmse: float
    log_loss: float
    coverage: float  # NaN where the method states no interval
    coverage_of_runs: float  # not by repository
    width: float


def summarise(runs: Sequence[Run]) -> Summary:
    """Return the figures of runs with the same number of gold labels; every repository has the same weight."""
    repositories = [run.repository for run in runs]

    def mean(values: Sequence[float]) -> float:
        return mean_by_group(values, repositories)

    overstated = [run.figures.overstated for run in runs]
    stated_intervals = [run for run in runs if run.share_right is not None]
    coverage = float("nan")
    coverage_of_runs = float("nan")
    width = float("nan")
    if len(stated_intervals) == len(runs):
        intervals = [run.share_right for run in runs if run.share_right is not None]
        is_covered = [float(covers(interval, run.figures.right)) for interval, run in zip(intervals, runs, strict=True)]
        coverage = mean(is_covered)
        coverage_of_runs = float(np.mean(is_covered))
        width = mean([interval[2] - interval[1] for interval in intervals])
    return Summary(
        right=mean([run.figures.right for run in runs]),
        stated=mean([run.figures.stated for run in runs]),
        overstated=mean(overstated),
        absolute=mean([abs(value) for value in overstated]),
        rmse=float(np.sqrt(mean([value**2 for value in overstated]))),
        log_loss=mean([run.figures.log_loss for run in runs]),
        coverage=coverage,
        coverage_of_runs=coverage_of_runs,
        width=width,
    )


def interval_outcomes(runs: Sequence[Run]) -> list[tuple[ShareInterval, float]]:
    """Return the interval and the true share of right labels of every run that states an interval."""
    return [(run.share_right, run.figures.right) for run in runs if run.share_right is not None]


def undecided_by_repository(runs: Sequence[Run], max_error: float) -> float:
    """Return the share of undecided runs, every repository having the same weight."""
    stated = [run for run in runs if run.share_right is not None]
    values = [float(decide(run.share_right, max_error) == UNDECIDED) for run in stated if run.share_right is not None]
    return mean_by_group(values, [run.repository for run in stated])


def targets(runs: Sequence[Run], n_gold: int) -> list[Target]:
    """Return the targets of runs with one number of gold labels."""
    summary = summarise(runs)
    outcomes = interval_outcomes(runs)
    found = []
    if n_gold == 0:
        found += [
            Target("stated - right by repository", summary.overstated, most=MAX_OVERSTATED, least=-MAX_OVERSTATED),
            Target("RMSE of stated - right", summary.rmse, most=MAX_RMSE),
            Target("log-loss by repository", summary.log_loss, most=MAX_LOG_LOSS),
        ]
    if n_gold in MAX_ABSOLUTE:
        found.append(Target(f"|stated - right|, {n_gold} gold", summary.absolute, most=MAX_ABSOLUTE[n_gold]))
    if not outcomes:
        return found
    found.append(Target(f"90 % interval covers, {n_gold} gold", summary.coverage, least=MIN_COVERAGE))
    if n_gold == 0:
        found.append(Target("mean width of the 90 % interval", summary.width, most=MAX_WIDTH))
        for max_error in MAX_ERRORS:
            decisions = count_decisions(outcomes, max_error)
            found.append(Target(f"wrong passes of --max-error {max_error}", decisions.wrong_passes, most=0))
    if n_gold == 30:
        for max_error in MAX_ERRORS:
            decisions = count_decisions(outcomes, max_error)
            wrong = decisions.wrong_passes / max(decisions.passes, 1)
            name = f"share of passes that are wrong, --max-error {max_error}, 30 gold"
            found.append(Target(name, wrong, most=MAX_WRONG_OF_PASSES))
        share = undecided_by_repository(runs, 0.3)
        found.append(Target("share undecided by repository, --max-error 0.3, 30 gold", share, most=MAX_UNDECIDED))
    return found


def print_laws(laws: Mapping[str, Constants]) -> None:
    """Print the four numbers fitted without each repository."""
    print("\nJudges' law fitted without each repository (spread as used)")
    print_row("repository left out", ["mean", "spread", "failure", "decay"], first=46)
    for repository, law in laws.items():
        numbers = [law.judge_mean, law.judge_spread, law.judge_failure, law.judge_decay]
        print_row(repository, [number for number in numbers if number is not None], digits=3, first=46)


def print_runs(runs: Sequence[Run], n_gold: int, each_panel: bool) -> None:
    """Print panels, repositories, means and decisions."""
    print(f"\n{n_gold} gold labels: {len(runs)} runs of {len({run.panel for run in runs})} panels")
    header = ["right", "stated", "st-right", "log-loss", "low", "high"]
    if each_panel:
        print_row("panel", header, digits=3)
        for run in runs:
            figures = run.figures
            interval = ["-", "-"] if run.share_right is None else list(run.share_right[1:])
            values = [figures.right, figures.stated, figures.overstated, figures.log_loss, *interval]
            print_row(run.panel, values, digits=3)
    repositories = [run.repository for run in runs]
    print_row("repository", header[:4], digits=3, first=46)
    columns = [
        means_of_groups([run.figures.right for run in runs], repositories),
        means_of_groups([run.figures.stated for run in runs], repositories),
        means_of_groups([run.figures.overstated for run in runs], repositories),
        means_of_groups([run.figures.log_loss for run in runs], repositories),
    ]
    for repository in columns[0]:
        print_row(repository, [column[repository] for column in columns], digits=3, first=46)
    summary = summarise(runs)
    print(
        f"by repository: right {summary.right:.3f}, stated {summary.stated:.3f}, "
        f"stated - right {summary.overstated:+.3f}, absolute {summary.absolute:.3f}, "
        f"RMSE {summary.rmse:.3f}, log-loss {summary.log_loss:.3f}"
    )
    outcomes = interval_outcomes(runs)
    if not outcomes:
        print("the method states no interval of the share of right labels")
        return
    print(
        f"90 % interval of the share of right labels: covers {summary.coverage:.3f} by repository "
        f"({summary.coverage_of_runs:.3f} of runs), mean width {summary.width:.3f}"
    )
    for max_error in MAX_ERRORS:
        decisions = count_decisions(outcomes, max_error)
        print(
            f"--max-error {max_error}: {decisions.passes} pass ({decisions.wrong_passes} wrongly), "
            f"{decisions.fails} fail ({decisions.wrong_fails} wrongly), {decisions.undecided} undecided "
            f"({undecided_by_repository(runs, max_error):.3f} by repository)"
        )


def compare_groups(
    method: Method, panels: Sequence[Panel], laws: Mapping[str, Constants], constants: Constants
) -> list[Target]:
    """Print what grouping judges by vendor changes without gold, and return its targets."""
    with_families = [panel for panel in panels if panel.crowd.group is not None]
    alone = run_panels(method, with_families, 0, [0], laws, constants)
    grouped = run_panels(method, with_families, 0, [0], laws, constants, grouped=True)
    before = summarise(alone)
    after = summarise(grouped)
    rises = [new.figures.stated - old.figures.stated for old, new in zip(alone, grouped, strict=True)]
    largest = int(np.argmax(rises))
    print(f"\nGroups by vendor ({len(grouped)} panels, by repository)")
    print_row("", ["right", "stated", "st-right", "log-loss", "covers"], digits=3)
    for name, summary in (("without groups", before), ("with groups", after)):
        values = [summary.right, summary.stated, summary.overstated, summary.log_loss, summary.coverage]
        print_row(name, values, digits=3)
    print(f"largest rise of the mean confidence: {rises[largest]:+.3f} ({grouped[largest].panel})")
    return [Target("rise of the mean confidence by groups", after.stated - before.stated, most=0)]


def score_judges_civil(method: Method, law: Constants | None, constants: Constants) -> list[Target]:
    """Print judges_civil with and without families, its law fitted without care_civil; return its target."""
    crowd = load_public_set(JUDGES_CIVIL)
    chosen = with_law(constants, law)
    print("\njudges_civil")
    print_row("", ["error", "log-loss", "st-right"], digits=3)
    error = float("nan")
    for name, group in (("without families", None), ("with families", crowd.group)):
        fitted = fit(method, crowd, None, group, judges=True, constants=chosen)
        figures = score(fitted.posterior, crowd.truth)
        print_row(name, [figures.error, figures.log_loss, figures.overstated], digits=3)
        error = figures.error
    return [Target("error of judges_civil with families", error, most=MAX_JUDGES_CIVIL_ERROR)]


def score_name_rule(method: Method, panels: Sequence[Panel]) -> list[Target]:
    """Print which panels, human sets and unused names the name rule takes for models; return its targets."""
    missed = [panel.crowd.name for panel in panels if not method.is_judge_panel(worker_names(panel.crowd))]
    mistaken = [name for name in PEOPLE if method.is_judge_panel(worker_names(load_public_set(name)))]
    unseen_missed = [names for names in MODEL_NAMES if not method.is_judge_panel(names)]
    unseen_mistaken = [names for names in PERSON_NAMES if method.is_judge_panel(names)]
    print("\nName rule")
    print(f"panels not recognised: {', '.join(missed) or 'none'}")
    print(f"human sets taken for panels: {', '.join(mistaken) or 'none'}")
    print(f"names of models not recognised: {unseen_missed or 'none'}")
    print(f"names of people taken for models: {unseen_mistaken or 'none'}")
    return [
        Target("panels recognised by names", len(panels) - len(missed), least=MIN_RECOGNISED),
        Target("human sets taken for panels", len(mistaken), most=0),
        Target("unused model names not recognised", len(unseen_missed), most=0),
        Target("unused names of people taken for models", len(unseen_mistaken), most=0),
    ]


def worker_names(crowd: Crowd) -> list[str]:
    """Return the names of a crowd's workers."""
    return [str(name) for name in crowd.answers.worker_names.to_pylist()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold", type=parse_numbers, default=[0, 30, 60])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--groups", action="store_true", help="compare with judges grouped by vendor")
    parser.add_argument("--as-shipped", action="store_true", help="use the method's own law for every repository")
    parser.add_argument("--panels", type=lambda text: text.split(","), default=[], help="some panels only")
    add_method_options(parser)
    options = parser.parse_args(arguments)
    method = load_method(options.method)
    constants = parse_constants(options.set)
    panels = load_panels(options.panels)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print(f"Method {method.name}, {len(panels)} panels")
    laws: dict[str, Constants] = {}
    if not options.as_shipped:
        try:
            laws = left_out_laws(method, panels, constants)
            print_laws(laws)
        except MissingHookError as error:
            print(f"the law is the method's own for every repository, because {error}")
    found = []
    for n_gold in options.gold:
        runs = run_panels(method, panels, n_gold, seeds, laws, constants)
        print_runs(runs, n_gold, each_panel=n_gold == 0)
        found += targets(runs, n_gold)
    if options.groups:
        found += compare_groups(method, panels, laws, constants)
        found += score_judges_civil(method, laws.get(CARE), constants)
    try:
        found += score_name_rule(method, panels)
    except MissingHookError as error:
        print(f"\nno figures of the name rule, because {error}")
    print_targets(found)


if __name__ == "__main__":
    main()
