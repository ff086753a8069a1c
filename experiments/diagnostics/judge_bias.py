"""False positive rate and power of the test of `quorate diagnose --covariate`.

    python -m experiments.diagnostics.judge_bias [--repetitions 100]

Simulated panels have five judges of different accuracy. In the public panels the covariate is random or, in the second
row, one standard deviation higher if the true class is the second one, so that every judge who is better than chance
depends on it without a preference. No judge there has a bias, by construction.
"""

import argparse

import numpy as np

import quorate
from experiments.default_method.data import load_panels
from experiments.default_method.report import print_row
from quorate.diagnostics.judge_bias import Covariate, covariate_effects, covariate_findings

ACCURACY = np.array([0.6, 0.675, 0.75, 0.825, 0.9])
MOST_TASKS = 1600  # of a public panel, to keep the run short


def simulated(
    rng: np.random.Generator, n_tasks: int, *, slope: float = 0.0, bias: float = 0.0, shares_mistakes: bool = False
) -> tuple[quorate.Answers, Covariate]:
    """Return a panel whose first judge depends on the covariate by ``bias``, and the covariate.

    Args:
        rng: random numbers.
        n_tasks: tasks.
        slope: of the log-odds of the true class, per standard deviation of the covariate.
        bias: change of the share of one answer, per standard deviation.
        shares_mistakes: whether most judges give one answer in 30% of the tasks, independent of the class.
    """
    x = rng.normal(size=n_tasks)
    truth = rng.random(n_tasks) < 1 / (1 + np.exp(-slope * x))
    p = np.where(truth[:, None], ACCURACY, 1 - ACCURACY)
    p[:, 0] += bias * x
    label = rng.random((n_tasks, 5)) < p
    if shares_mistakes:
        follows = (rng.random(n_tasks) < 0.3)[:, None] & (rng.random((n_tasks, 5)) < 0.8)
        label = np.where(follows, (rng.random(n_tasks) < 0.5)[:, None], label)
    rows = {"task": np.repeat(np.arange(n_tasks), 5), "worker": list("abcde") * n_tasks, "label": label.ravel() * 1}
    answers = quorate.read(rows)
    return answers, Covariate("x", x[answers.task_names.to_numpy()[answers.task]])


def print_simulated(repetitions: int) -> None:
    """Print how often judges without and with a bias are named, and the coverage of the interval of the bias."""
    print_row("simulated panels", ["named wrongly", "found", "covered"], first=60)
    for n_tasks in (300, 1000, 3000):
        for slope, bias, shares in ((0, 0, False), (1, 0, False), (2, 0, False), (1, 0, True), (0, 0.08, False)):
            counts = np.zeros(3)
            for seed in range(repetitions):
                answers, x = simulated(
                    np.random.default_rng(seed), n_tasks, slope=slope, bias=bias, shares_mistakes=shares
                )
                result = quorate.aggregate(answers, "majority")
                named = {finding.workers[0] for finding in covariate_findings(result, x)}
                effect = next(effect for effect in covariate_effects(result, x) if effect.worker == 0)
                biased = {0} if bias else set()
                counts += [bool(named - biased), bool(named & biased), effect.low <= bias <= effect.high]
            what = f"{n_tasks} tasks, slope of the class {slope}, bias {bias:g}"
            print_row(f"{what}{', shared mistakes' if shares else ''}", list(counts / repetitions), digits=2, first=60)


def print_panels(repetitions: int) -> None:
    """Print the share of public panels in which a judge is named."""
    panels = [panel.crowd for panel in load_panels() if panel.crowd.answers.n_tasks <= MOST_TASKS]
    for shift in (0, 1):
        named = []
        for crowd in panels:
            answers = crowd.answers
            result = quorate.aggregate(answers, "majority")
            for seed in range(repetitions):
                x = np.random.default_rng(seed).normal(size=answers.n_tasks) + shift * (crowd.truth == 1)
                named.append(bool(list(covariate_findings(result, Covariate("x", x[answers.task])))))
        what = f"{len(panels)} public panels, covariate {'depends on the true class' if shift else 'is random'}"
        print_row(what, [float(np.mean(named))], digits=2, first=60)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    repetitions = parser.parse_args().repetitions
    print_simulated(repetitions)
    print_panels(max(repetitions // 20, 1))


if __name__ == "__main__":
    main()
