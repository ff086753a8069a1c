"""Compare `quorate rank` with choix, evalica and crowd-kit: tau, log-loss, coverage, CPU, and its growth with rows.

    make bench-rank
    python -m benchmarks.ranking --peers .venv-rank-peers/bin/python [--repetitions 4] [--only NAME] [--sizes 5]

The other libraries run in a separate Python with their documented defaults on the same simulated comparisons (new
seeds), and on LLMFAO if QUORATE_DATASETS (by default ../shared/datasets) has it. The log-loss is that of held-out rows
with a winner. Only quorate has ties, skills of judges and intervals together; a dash means: no interval.
"""

import argparse
import csv
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from experiments.ranking.figures import Figures, decided_log_loss, score_peer, score_quorate, winners
from experiments.ranking.simulated import PANELS, Panel, Simulation, simulate

from quorate.io.exports.pairwise import read_pairs
from quorate.io.pairs import PairOptions
from quorate.ranking.comparisons import Comparisons, make_cells
from quorate.ranking.connectivity import connectivity
from quorate.ranking.cross_validation import choose_skill
from quorate.ranking.fit import fit_ranking
from quorate.ranking.intervals import uncertainty
from quorate.ranking.rank import comparisons_of

HERE = Path(__file__).parent
FIRST_SEED = 9100
METHODS = ("quorate", "choix", "evalica", "crowd-kit BT", "crowd-kit NoisyBT")
HELD_OUT = 0.2


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="the Python that has choix, evalica and crowd-kit")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--sizes", type=int, default=5, help="how many sizes, each twice the one before, up to 1,000,000"
    )
    given = parser.parse_args()
    print(f"{'set':20} {'method':18} {'tau':>6} {'loss':>6} {'cover':>6} {'CPU s':>7}")
    for name, panel in PANELS.items():
        if given.only in name:
            simulations = [simulate(panel, FIRST_SEED + number) for number in range(given.repetitions)]
            compare(name, simulations, given.peers)
    public = Path(os.environ.get("QUORATE_DATASETS", "../shared/datasets"), "pairs", "llmfao.csv")
    if public.exists() and given.only in "LLMFAO":
        compare_llmfao(public, given.peers)
    if given.sizes:
        growth(given.sizes)


def compare(name: str, simulations: Sequence[Simulation], peers: str) -> None:
    """Print one line per method."""
    figures: dict[str, list[Figures]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root, str(number)) for number in range(len(simulations))]
        for folder, simulation in zip(folders, simulations, strict=True):
            write_comparisons(folder, simulation.train)
        run_peers(peers, folders)
        for folder, simulation in zip(folders, simulations, strict=True):
            figures["quorate"].append(score_quorate(simulation, judge_skill="auto"))
            for method, found in json.loads((folder / "scores.json").read_text()).items():
                figures[method].append(score_peer(simulation, found["scores"], found["cpu"], found["workers"]))
    for method, found in figures.items():
        if found:
            print_line(name, method, found)


def print_line(name: str, method: str, figures: Sequence[Figures]) -> None:
    """Print the means of the repetitions."""
    tau, loss, cover, cpu = (
        float(np.mean([getattr(each, field) for each in figures])) for field in ("tau", "log_loss", "coverage", "cpu")
    )
    covered = "–" if np.isnan(cover) else f"{cover:.3f}"
    ordered = "–" if np.isnan(tau) else f"{tau:.3f}"
    print(f"{name:20} {method:18} {ordered:>6} {loss:6.3f} {covered:>6} {cpu:7.2f}", flush=True)


def write_comparisons(folder: Path, comparisons: Comparisons) -> None:
    """Write train.csv in the format of crowd-kit."""
    folder.mkdir(parents=True)
    with (folder / "train.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("worker", "left", "right", "label"))
        writer.writerows(winners(comparisons))


def run_peers(peers: str, folders: Sequence[Path]) -> None:
    """Run the other libraries in their Python; this writes scores.json to every folder."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    subprocess.run([peers, str(HERE / "contender_rank.py"), *map(str, folders)], check=True, env=environment)


def compare_llmfao(path: Path, peers: str, splits: int = 3) -> None:
    """Hold out a fifth of the tasks, each with all its rows, and print the log-loss of their rows with a winner."""
    comparisons, _ = comparisons_of(read_pairs(str(path), PairOptions(task="id")))
    assert comparisons.task is not None
    part = connectivity(comparisons).part
    figures: dict[str, list[Figures]] = {method: [] for method in METHODS}
    nothing = np.full(comparisons.n_items, np.nan)
    for split in range(splits):
        rng = np.random.default_rng([split, 91])
        held = rng.random(int(comparisons.task.max()) + 1) < HELD_OUT
        is_test = held[comparisons.task]
        train = comparisons.select(~is_test)
        test = comparisons.select(is_test)
        start = time.process_time()
        cells = make_cells(train, part, position=True)
        skill = choose_skill(train, cells, position=True).used
        fit = fit_ranking(train, cells, skill=skill)
        uncertainty(train, cells, fit)
        cpu = time.process_time() - start
        loss = decided_log_loss(test, make_cells(test, part, position=True), fit)
        figures["quorate"].append(Figures(float("nan"), loss, cpu=cpu))
        simulation = Simulation(train, test, nothing, np.ones(comparisons.n_judges))
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root, "llmfao")
            write_comparisons(folder, train)
            run_peers(peers, [folder])
            for method, found in json.loads((folder / "scores.json").read_text()).items():
                scored = score_peer(simulation, found["scores"], found["cpu"], found["workers"])
                figures[method].append(replace(scored, tau=float("nan")))
    for method, found in figures.items():
        if found:
            print_line("LLMFAO", method, found)


def growth(n_sizes: int) -> None:
    """Print the CPU seconds of fit, cross-validation and intervals for doubled numbers of rows: 100 items, 5 judges."""
    print(f"{'rows':>10} {'CPU s':>7} {'µs per row':>10}")
    for exponent in reversed(range(n_sizes)):
        n_rows = 1_000_000 >> exponent
        panel = Panel(n_items=100, n_judges=5, n_rows=n_rows, log_tie=-0.5, side=0.3)
        train = with_tasks(simulate(panel, FIRST_SEED, test_rows=1).train)
        start = time.process_time()
        connected = connectivity(train)
        cells = make_cells(train, connected.part, position=True)
        skill = choose_skill(train, cells, position=True).used
        fit = fit_ranking(train, cells, skill=skill)
        uncertainty(train, cells, fit)
        cpu = time.process_time() - start
        print(f"{n_rows:10,} {cpu:7.2f} {cpu / n_rows * 1e6:10.2f}", flush=True)


def with_tasks(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons with a different task for each, the slowest case: no rows can be counted together."""
    repeats = np.repeat(np.arange(comparisons.n_rows), np.rint(comparisons.weight).astype(int))
    n_rows = len(repeats)
    return replace(
        comparisons,
        left=comparisons.left[repeats],
        right=comparisons.right[repeats],
        outcome=comparisons.outcome[repeats],
        judge=comparisons.judge[repeats],
        weight=np.ones(n_rows),
        covariates=np.zeros((n_rows, 0)),
        task=np.arange(n_rows),
        task_hash=np.random.default_rng(0).integers(0, 2**63, n_rows).astype(np.uint64),
    )


if __name__ == "__main__":
    main()
