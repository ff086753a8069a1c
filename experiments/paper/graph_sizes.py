"""A star with an odd cycle, 21 to 91 workers, and correlations with constant noise [Ma20, Table 2, graphsize]."""

from dataclasses import dataclass

import numpy as np

from experiments.paper.noisy import noisy_skills
from experiments.paper.rivals import vote_error
from experiments.runner.experiment import Claim, Experiment, Figure, Spread, Tabulation, difference, spread, verdict
from experiments.runner.figures import axis, lines
from quorate.arrays import FloatArray
from quorate.progress import tracked
from quorate.simulate import crowd, grid_skills, star

TASKS = 2000  # chosen so that the Bayes error varies between runs as in the paper
PER_TASK = 11  # chosen so that the Bayes error is about that of the paper


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    runs: int
    sizes: tuple[int, ...] = (21, 51, 71, 91)
    per_task: tuple[int, ...] = (2, 5, 11, 21)


FULL = Settings(50)
QUICK = Settings(8)

# Workers -> Bayes error, its deviation, prediction error, its deviation.
PAPER = {
    21: (0.0425, 0.0042, 0.0425, 0.0042),
    51: (0.0622, 0.0040, 0.0641, 0.0126),
    71: (0.0634, 0.0033, 0.0662, 0.0072),
    91: (0.0574, 0.0030, 0.0618, 0.0063),
}
ANY = "any three workers"
SKILLED = "the three most skilled"
LEAST_SKILLED = "three near-guessers"
Results = dict[tuple[str, int, int], tuple[Spread, Spread]]  # (who is on the cycle, workers, answers per task)


def run(*, quick: bool, seed: int) -> Experiment:
    """Estimate the skills from noisy correlations on a star, and vote with them."""
    settings = QUICK if quick else FULL
    cells = [(who, n, PER_TASK) for who in (ANY, SKILLED, LEAST_SKILLED) for n in settings.sizes]
    cells += [(SKILLED, settings.sizes[0], each) for each in settings.per_task if each != PER_TASK]
    results: Results = {}
    for cell in tracked("graph sizes", cells):
        results[cell] = _trials(*cell, settings.runs, seed)
    return Experiment(
        _table(results),
        (_beside(results, settings), _cycle_beside(results, settings), _per_task_beside(results, settings)),
        (_figure(results, settings),),
        _claims(results, settings),
        _notes(settings),
    )


def _place(skills: FloatArray, who: str) -> FloatArray:
    """Return the skills with the chosen workers on the cycle (0, the hub, 1 and 2), the others in random order."""
    if who == ANY:
        return skills
    order = np.argsort(-skills if who == SKILLED else np.abs(skills), kind="stable")[:3]
    return np.concatenate([skills[order], np.delete(skills, order)])


def _trials(who: str, n_workers: int, per_task: int, runs: int, seed: int) -> tuple[Spread, Spread]:
    bayes: list[float | None] = []
    found: list[float | None] = []
    for trial in range(runs):
        rng = np.random.default_rng([seed, 4, n_workers, per_task, trial])
        skills = _place(grid_skills(n_workers, seed=rng), who)
        simulated = crowd(TASKS, n_workers, per_task, skills=skills, seed=rng)
        estimated = noisy_skills(skills, star(n_workers), simulated.answers.per_worker, rng)
        bayes.append(vote_error(simulated, skills))
        found.append(vote_error(simulated, estimated))
    return spread(bayes), spread(found)


def _table(results: Results) -> Tabulation:
    rows = [(*cell, b.mean, b.deviation, f.mean, f.deviation, f.n) for cell, (b, f) in results.items()]
    columns = (
        "on_the_cycle", "workers", "answers_a_task", "bayes_error", "bayes_deviation", "error", "deviation", "runs",
    )  # fmt: skip
    return Tabulation("Prediction errors", columns, tuple(rows))


def _beside(results: Results, settings: Settings) -> Tabulation:
    rows = []
    for n in settings.sizes:
        bayes, found = results[SKILLED, n, PER_TASK]
        paper = PAPER[n]
        rows.append(
            (
                n,
                f"{paper[0]:.4f} ± {paper[1]:.4f}",
                str(bayes),
                f"{paper[2]:.4f} ± {paper[3]:.4f}",
                str(found),
                difference(found.mean, paper[2]),
            )
        )
    columns = ("workers", "Bayes, paper", "Bayes, ours", "error, paper", "error, ours", "ours - paper")
    return Tabulation("The paper's table, with the three most skilled on the cycle", columns, tuple(rows))


def _cycle_beside(results: Results, settings: Settings) -> Tabulation:
    whos = (SKILLED, ANY, LEAST_SKILLED)
    rows = [(n, *(str(results[who, n, PER_TASK][1]) for who in whos)) for n in settings.sizes]
    return Tabulation("Who is on the odd cycle decides", ("workers", *whos), tuple(rows))


def _per_task_beside(results: Results, settings: Settings) -> Tabulation:
    n = settings.sizes[0]
    rows = [
        (each, *(str(part) for part in results[SKILLED, n, each])) for each in sorted({*settings.per_task, PER_TASK})
    ]
    return Tabulation(f"Answers a task, with {n} workers", ("answers a task", "Bayes error", "error"), tuple(rows))


def _figure(results: Results, settings: Settings) -> Figure:
    rows = []
    for n in settings.sizes:
        rows.append({"workers": n, "what": "Bayes error", "error": results[SKILLED, n, PER_TASK][0].mean})
        rows.append({"workers": n, "what": "Bayes error, paper", "error": PAPER[n][0]})
        rows.append({"workers": n, "what": "paper", "error": PAPER[n][2]})
        for who in (SKILLED, ANY, LEAST_SKILLED):
            rows.append({"workers": n, "what": f"cycle: {who}", "error": results[who, n, PER_TASK][1].mean})
    order = ["paper", "Bayes error, paper", *(f"cycle: {who}" for who in (SKILLED, ANY, LEAST_SKILLED)), "Bayes error"]
    spec = lines(
        rows,
        axis("x", "workers", "workers"),
        axis("y", "error", "mean error", domain=(0, 0.5)),
        "what",
        order=order,
        dashed=["Bayes error", "Bayes error, paper"],
    )
    return Figure(
        "graph-sizes", "Error against the number of workers; the noise of the correlations is constant.", spec
    )


def _claims(results: Results, settings: Settings) -> tuple[Claim, ...]:
    def excess(who: str) -> list[float]:
        pairs = [results[who, n, PER_TASK] for n in settings.sizes]
        return [(found.mean or 0.0) - (bayes.mean or 0.0) for bayes, found in pairs]

    skilled = excess(SKILLED)
    anyone = excess(ANY)
    flat = max(anyone) - anyone[0] < 0.1
    return (
        Claim(
            "The prediction error is about the Bayes error.",
            verdict(max(skilled) < 0.03, max(anyone) < 0.03),
            f"above the Bayes error by {min(skilled):.3f} to {max(skilled):.3f} where the three most skilled are on "
            f"the odd cycle, by {min(anyone):.3f} to {max(anyone):.3f} where any three are (paper: 0 to 0.0044)",
        ),
        Claim(
            "The prediction error is not sensitive to the size of the graph.",
            verdict(max(skilled) - skilled[0] < 0.03, flat),
            f"{settings.sizes[0]} to {settings.sizes[-1]} workers: excess {skilled[0]:.3f} to {skilled[-1]:.3f} with a "
            f"skilled cycle, {anyone[0]:.3f} to {anyone[-1]:.3f} with any",
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        "The scale of all skills hangs on the odd cycle: |s_hub|² = C_01 C_02 / C_12. With noise of ±0.2 that is a "
        "good figure only if all three are skilled, and who they are the paper does not say. Its table is near what "
        "the three most skilled give; three at random are far worse.",
        "How many answer a task is left open too, and decides the Bayes error: about 0.25 with two answers, 0.02 with "
        f"all of 21 workers. With {PER_TASK} it is about what the paper's table has.",
        f"Skills on an even grid from -0.3 to 0.8 in random order, {TASKS:,} tasks, {settings.runs} runs; skills are "
        "kept 1/sqrt(N_i) away from ±1.",
    )
