"""Write docs/reproduction.md from what `make reproduce` left: one table for each experiment of the paper.

``python -m experiments.runner.page [FOLDER] [--partly]``; the folder is ``reproduction`` by default. It refuses an
incomplete folder and one that was run with few trials; ``--partly`` writes the items that are there and names the
missing ones. Figures are from the folder; the sentences are written by hand below. Check them after every run.
"""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.paper.published import PAPER, SETS
from experiments.paper.rivals import PGD, POST_PROCESSED, POST_PROCESSING
from experiments.runner.reproduce import ITEMS, read_stamp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reproduction.md"
Rows = list[dict[str, str]]

INTRODUCTION = """# The paper, reproduced

After this page you know which results of the paper [Ma20] Quorate reproduces, which it does not, and how to run the
experiments again.

In a checkout, `make reproduce` runs every table and figure of Section 6, "Experimental Results", and our further
experiments (half an hour on one core), and rewrites this page. The folder `reproduction/` then has a CSV, a Markdown
table with the paper's figures beside ours, and a figure for each experiment; `reproduction/index.html` shows all of
it. `make reproduce QUICK=1` takes four minutes: few trials, no verdicts, and this page stays as it is.
`python -m experiments.runner graph-types` runs one experiment.

Three names have one meaning throughout:

- **PGD** is the paper's algorithm: projected gradient descent on the *signed* correlations with a fixed step, from a
  positive start (0.5), in the box with tau = 1, until the projected-gradient norm is below 1e-5; then the plug-in vote.
- **The theorem's post-processing** (Section 5.2) is the same descent on the absolute values |C|, then signs that are
  assigned breadth first from the first worker.
- **rank-one** is our solver of PGD's objective.

Theorems, equations, tables and figures have their published numbers, derived from the order in the paper's source, with
the labels of the source in brackets ([list](references.md)). Claims that the paper does not make are on the page
[Accuracy and calibration](accuracy.md).
"""


def read_csv(folder: Path, name: str) -> Rows:
    """Read the long table of an item."""
    with (folder / name / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def markdown_table(folder: Path, name: str, title: str) -> str:
    """Return one table of an item's Markdown, by the beginning of its title."""
    text = (folder / name / f"{name}.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        heading, body = section.split("\n", 1)
        if heading.startswith(title):
            return body.strip() + "\n"
    raise SystemExit(f"{name}.md has no table {title!r}")


def graph_types(folder: Path) -> str:
    """Return a table of PGD's deviations in the caption and of those of each reading and placement."""
    lines = markdown_table(folder, "graph-types", "PGD over").strip().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines[2:]]
    rows = [[row[0], row[1], *map(_rounded, row[3:])] for row in rows if row[2] == "PGD"]
    columns = ["graph", "tasks", "paper's deviation", "two answers per task, best worker first", "same, shuffled"]
    return table([*columns, "all workers answer all tasks, best worker first", "same, shuffled"], rows)


def _rounded(cell: str) -> str:
    """Round the numbers of a cell to three decimals.

    >>> _rounded("0.1136 ± 0.1237"), _rounded("0.0140")
    ('.114±.124', '.014')
    """
    return "±".join(f"{float(number):.3f}".removeprefix("0") for number in cell.split(" ± "))


def benchmark_sets(folder: Path) -> str:
    """Return a table of the errors of the paper and of ours, with a column per set."""
    found = {(row["set"], row["method"]): row["mean_error"] for row in read_csv(folder, "benchmark-sets")}
    methods = {
        "PGD": PGD,
        "MV": "majority",
        "Opt-D&S": "opt-ds:zeros=skip",
        "KOS": "kos-svd:classes=ordered",
        "ER": "er:classes=ordered",
        "IWMV": "iwmv",
        "M3V": "m3v",
    }
    rows = []
    for column, (name, method) in enumerate(methods.items()):
        cells = []
        for data in SETS:
            paper = PAPER[data][column]
            printed = "n/a" if paper is None else f"{paper:.4f}"
            cells.append(f"{printed} / {float(found[data, method]):.4f}")
        rows.append([name, *cells])
    for name, method in ((POST_PROCESSED, POST_PROCESSING), ("rank-one", "rank-one"), ("quorate", "quorate")):
        rows.append([name, *(f"– / {float(found[data, method]):.4f}" for data in SETS)])
    return table(["method", *SETS.values()], rows)


def sparsification(folder: Path) -> str:
    """Return a table of the mean errors if all answers vote."""
    found = {
        (row["set"], int(row["maximum_degree"]), row["method"]): float(row["mean_error"])
        for row in read_csv(folder, "sparsification")
        if row["deleting_an_edge"].startswith("only pairs are deleted")
    }
    methods = ("PGD", POST_PROCESSED, "rank-one", "MV", "IWMV")
    cases = dict.fromkeys((data, degree) for data, degree, _ in found if degree not in (60, 40, 20, 5))
    rows = [[data, str(degree), *(f"{found[data, degree, name]:.3f}" for name in methods)] for data, degree in cases]
    return table(["set", "maximum degree", *methods], rows)


def copied(name: str, title: str, columns: list[int], leaving_out: str | None = None) -> Callable[[Path], str]:
    """Return a function that copies some columns of one table of an item, without rows that contain a text."""

    def copy(folder: Path) -> str:
        lines = markdown_table(folder, name, title).strip().splitlines()
        cells = [line.replace("\\|", "\0").strip("| ").split(" | ") for line in lines if not line.startswith("| ---")]
        cells = [row for row in cells if leaving_out is None or not any(leaving_out in cell for cell in row)]
        chosen = [[row[column].replace("\0", "\\|") for column in columns] for row in cells]
        return table(chosen[0], chosen[1:])

    return copy


# Item, published number, table, and what matches, what does not, and why.
SECTIONS: dict[str, tuple[str, Callable[[Path], str], str]] = {
    "graph-types": (
        "Figures 1 and 2 (comparison, GraphType)",
        graph_types,
        "The table has the mean error of PGD ± its standard deviation over 120 trials; the paper has 15. **Matches:** "
        "errors fall as the number of tasks grows. At 330 tasks the deviations on clique, star and ring (.010, .011, "
        ".040) are near the paper's (.014, .012, .043) if all workers answer every task, the graph selects the pairs "
        "that are used, and the best workers are placed first. **Does not match:** with two answers per task, .012 is "
        "impossible on the star: the vote with the true skills has .016. But the paper's deviations of majority vote "
        "on star and ring (.016, .017) fit only two answers per task, so no single reading gives all printed "
        "deviations. The theorem's post-processing spreads signs from the first worker: on the clique its deviation "
        "is .010 if this is the best worker, and .077 if it is any worker.",
    ),
    "skill-distributions": (
        "Table 1 (beta)",
        copied("skill-distributions", "The paper's table", [1, 2, 3, 4, 5]),
        "**Matches:** the errors for Beta(5, 1), Beta(2, 5) and Beta(1, 3) are within .006 of the paper's. For the "
        "other two distributions nearly all labels of a run are right, or nearly all are wrong, because the sum of "
        "the skills decides the sign. A mean of ten such runs has a standard error of .15, and our means differ from "
        "the paper's by at most 1.4 standard errors. The paper does not state the number of workers; nine fit its "
        "Bayes errors best.",
    ),
    "graph-sizes": (
        "Table 2 (graphsize)",
        copied("graph-sizes", "The paper's table", [0, 1, 2, 3, 4]),
        "**Matches:** the error above the Bayes error does not grow with the size of the star. **Does not match:** "
        "the error above the Bayes error is .017; in the paper it is 0 to .004. The scale of all skills depends on "
        "one odd cycle with noise of ±0.2, so the error depends on which workers are on this cycle. The paper does "
        "not name them. Here they are the three most skilled workers; with any three workers the error above the "
        "Bayes error is .12.",
    ),
    "weightings": (
        "Table 3 (weighting)",
        copied("weightings", "The paper's table", [0, 1, 2, 4]),
        "**Matches:** the order of the weightings. Squared weights are worst if spammers get most tasks, binary "
        "weights if skilled workers get most tasks. **Does not match:** the size of the errors. It depends on the "
        "assignment of tasks, which the paper does not state.",
    ),
    "benchmark-sets": (
        "Tables 4 and 5 (realdata, errorrate)",
        benchmark_sets,
        "Each cell has the paper's error / ours. **Matches:** to the fourth digit KOS on five sets, majority vote on "
        "four and Opt-D&S on two. PGD is within .003 on RTE1, Dogs and WSD, and better than majority vote on RTE1, "
        "Temp, Dogs and Web. **Does not match:** on Temp and Web PGD is .012 and .023 above the paper's figure. "
        "Unweighted pairs give .0519 on Temp and a threshold gives .150 on Web; no single setting gives all figures. "
        "Of the paper's methods PGD does not have the least error: Opt-D&S has it on RTE1 and Dogs, and M3V on Temp "
        "and Web (on Web .10 less than printed). The paper cannot have used the theorem's post-processing here: its "
        "error depends on which worker is first, and is at least .19 on RTE1 and .07 on Temp over twelve orders "
        "(`python -m experiments.paper.sign_roots`).",
    ),
    "sparsification": (
        "Figure 3 (Sparsity)",
        sparsification,
        "The table has mean errors over 50 trials. Deleting an edge removes the pair from the estimation of skills; "
        "the vote uses all answers. **Matches:** PGD is robust: down to a maximum degree of 3 its error grows from "
        ".072 to .076 on RTE1 and from .063 to .064 on Temp, while the error of IWMV grows to .094 on RTE1. **Does "
        "not match:** on Temp IWMV is no worse than PGD. If answers are deleted as well, the errors of all methods "
        "grow more. The theorem's post-processing fails on RTE1, and has larger errors with more edges: signs follow "
        "the shortest path from the first worker, and noise in |C| is never negative.",
    ),
    "gradients": (
        "Figures 4 and 5 (expvsnormal, expvsnormalpert)",
        copied("gradients", "10 realisations", [0, 1, 4, 6], leaving_out="p = 0.5"),
        "**Matches:** the errors of plain and exponentiated gradient are nearly the same at every iteration (at most "
        ".007 apart), and with noise of 1e-2 both end at errors of about 1e-2. The ring needs more iterations than "
        "any other graph, since the smallest eigenvalue of its signless Laplacian is .016.",
    ),
    "time-complexity": (
        "Table 6 (timecomplexity)",
        copied("time-complexity", "Iterations until", [0, 1, 2, 3, 4]),
        "The table has the number of iterations after which no label changes any more; M3V is a sampler with a fixed "
        "number of sweeps. **Matches:** given a table of pairs, an iteration of PGD costs O(pairs). **Does not "
        "match:** PGD needs more iterations than IWMV, not fewer, because the worker with the most shared tasks bounds "
        "its fixed step; rank-one follows the same flow in 12 to 17 steps.",
    ),
}

CLOSING = """## Readings that the paper leaves open

The paper does not state: the pairs that are used for training if a graph is given, the positions of the workers on
it, the number of workers of Table 1, the assignment of Table 3, delta, and the constant of the threshold.

Errors in the paper's text, tables and proofs, with a counterexample to Lemma 9 (asylearn), are listed in
[references](references.md).
"""


def stamps(folder: Path, *, partly: bool) -> dict[str, dict[str, Any]]:
    """Read what every item of the page left in full, or name what is missing."""
    read = {name: read_stamp(folder / name) for name in SECTIONS}
    found = {name: stamp for name, stamp in read.items() if stamp is not None and not stamp["inputs"]["quick"]}
    missing = [name for name in SECTIONS if name not in found]
    if not found or (missing and not partly):
        raise SystemExit(f"{folder} does not have {', '.join(missing)} in full: run `make reproduce` first")
    return found


def verdicts(found: dict[str, dict[str, Any]]) -> str:
    """List the paper's claims with their verdicts, one row for all readings; the evidence is in the output."""
    by_claim: dict[str, dict[str, str]] = {}
    for name in SECTIONS:
        for claim in found[name]["claims"] if name in found else ():
            text, reading = split_reading(claim["text"])
            by_claim.setdefault(text, {})[reading] = claim["verdict"]
    rows = []
    for text, verdict_of in by_claim.items():
        kinds = dict.fromkeys(verdict_of.values())
        parts = [f"{kind} ({'; '.join(r for r, v in verdict_of.items() if v == kind)})" for kind in kinds]
        rows.append([text.replace("|", "\\|"), next(iter(kinds)) if len(kinds) == 1 else "; ".join(parts)])
    return table(["claim", "result"], rows)


def split_reading(claim: str) -> tuple[str, str]:
    """Divide a claim into its text and the reading in brackets at its end, if there is one.

    >>> split_reading("Errors fall (all vote)."), split_reading("Errors fall.")
    (('Errors fall.', 'all vote'), ('Errors fall.', ''))
    """
    text = claim.replace(
        "The theorem's post-processing (|C|, then breadth-first signs)", "The theorem's post-processing"
    )
    if not text.endswith(")."):
        return text, ""
    text, reading = text.removesuffix(").").rsplit(" (", 1)
    return f"{text}.", reading


def page(folder: Path, *, partly: bool = False) -> str:
    """Return the complete page."""
    found = stamps(folder, partly=partly)
    seconds = [json.loads((folder / f"{name}-measured.json").read_text())["seconds"] for name in found]
    missing = [f"`{name}`" for name in SECTIONS if name not in found]
    inputs = next(iter(found.values()))["inputs"]
    text = [
        INTRODUCTION,
        f"The numbers are those of one full run with seed {inputs['seed']}; the tables below took "
        f"{sum(seconds) / 60:.0f} minutes on one core, and `python -m experiments.runner.page` writes this page from "
        "it." + (f" Not run again for this page: {', '.join(missing)}." if missing else "") + "\n",
    ]
    for name, (published, make, sentence) in SECTIONS.items():
        if name in found:
            text += [f"## {ITEMS[name].title}: {published}\n", f"{sentence}\n", make(folder)]
    text += [
        "## Which claims hold\n",
        'We chose the criteria for "holds" and "holds in part"; the output of `make reproduce` has the evidence.\n',
        verdicts(found),
    ]
    text.append(CLOSING)
    return "\n".join(text)


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--partly"]
    PAGE.write_text(page(Path([*given, "reproduction"][0]), partly="--partly" in sys.argv), encoding="utf-8")
