"""crowd-kit's interface: its names, its order, Quorate's numbers."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from tests.conftest import need
from tests.estimators.samples import expected

# A script that a crowd-kit user might have; only the import line differs between the libraries.
SCRIPT = """
import json
import sys

import pandas as pd

from LIBRARY import GLAD, KOS, MACE, MMSR, BinaryRelevance, DawidSkene, GoldMajorityVote, MajorityVote
from LIBRARY import OneCoinDawidSkene, Wawa, ZeroBasedSkill

answers = {
    "t2": {"cy": "no", "ann": "yes", "bob": "yes", "di": "yes", "ed": "yes"},
    "t1": {"ann": "no", "cy": "no", "bob": "no", "di": "no", "ed": "yes"},
    "t3": {"ed": "yes", "ann": "yes", "bob": "yes", "di": "yes", "cy": "no"},
    "t4": {"ann": "no", "bob": "no", "di": "no", "cy": "no", "ed": "no"},
}
rows = [(task, worker, label) for task, given in answers.items() for worker, label in given.items()]
data = pd.DataFrame(rows, columns=["task", "worker", "label"])


def described(series):
    shape = {"type": type(series).__name__, "index": series.index.name, "order": series.index.tolist()}
    if isinstance(series, pd.DataFrame):
        return {**shape, "columns": series.columns.name, "labels": series.columns.tolist()}
    return {**shape, "name": series.name}


def same_types(labels):
    return labels.dtype == data["label"].dtype and labels.index.dtype == data["task"].dtype


seen = {}
for aggregation in (
    MajorityVote(),
    DawidSkene(n_iter=50, tol=1e-5),
    OneCoinDawidSkene(n_iter=50),
    KOS(n_iter=20, random_state=0),
    Wawa(),
    ZeroBasedSkill(n_iter=50),
    GLAD(n_iter=50),
    MACE(n_restarts=2, n_iter=20),
    MMSR(n_iter=1000, tol=1e-8, random_state=0),
):
    name = type(aggregation).__name__
    chained = aggregation.fit(data) is aggregation
    labels = aggregation.labels_ if name == "OneCoinDawidSkene" else aggregation.fit_predict(data)
    values = {} if name == "KOS" else labels.to_dict()  # so few answers leave KOS to its random start
    seen[name] = {
        "chained": chained,
        "labels": {**described(labels), "values": values, "types": bool(same_types(labels))},
        "attribute": bool(labels.equals(aggregation.labels_)),
    }
    if name not in ("KOS", "MMSR"):
        named = name not in ("GLAD", "MACE")  # whose columns crowd-kit calls "variable" and nothing
        probas = aggregation.probas_ if named else aggregation.probas_.rename_axis("label", axis=1)
        seen[name]["probas"] = described(probas)
    if name not in ("KOS", "DawidSkene", "GLAD", "MACE"):
        seen[name]["skills"] = described(aggregation.skills_)
    if name in ("MajorityVote", "Wawa", "ZeroBasedSkill"):
        seen[name]["skill values"] = aggregation.skills_.round(9).to_dict()
    if name in ("DawidSkene", "OneCoinDawidSkene", "GLAD"):
        seen[name]["losses"] = [type(each).__name__ for each in aggregation.loss_history_[:1]]
    if name == "GLAD":
        seen[name]["found"] = [described(aggregation.alphas_), described(aggregation.betas_)]
        seen[name]["priors"] = aggregation.priors_.to_dict()
    if name == "MACE":
        seen[name]["found"] = [list(aggregation.spamming_.shape), list(aggregation.thetas_.shape)]
seen["proba"] = described(Wawa().fit_predict_proba(data))
known = pd.Series(["no"], index=pd.Index(["t2"], name="task"))
seen["known"] = DawidSkene(n_iter=10).fit_predict(data, true_labels=known).to_dict()
seen["priors"] = described(DawidSkene(n_iter=10).fit(data).priors_)
skills = pd.Series({"ann": 0.1, "bob": 0.1, "di": 0.1, "ed": 0.1, "cy": 0.9})
seen["weighted"] = MajorityVote().fit_predict(data, skills).to_dict()
seen["default"] = MajorityVote(default_skill=0.9, on_missing_skill="value").fit_predict(data, skills[:4]).to_dict()
gold = GoldMajorityVote().fit(data, pd.Series({"t2": "yes", "t1": "no", "t3": "no"}))
seen["gold"] = {"skills": gold.skills_.round(9).to_dict(), "labels": gold.predict(data).to_dict()}
several = data.assign(label=[["yes"] if label == "yes" else ["no", "maybe"] for label in data["label"]])
lists = BinaryRelevance(Wawa()).fit_predict(several)
seen["several"] = {"type": type(lists).__name__, "index": lists.index.name, "values": lists.to_dict()}
errors = DawidSkene(n_iter=10).fit(data).errors_
seen["errors"] = [list(errors.index.names), errors.columns.tolist()]
before = pd.DataFrame(
    [[0.1, 0.9], [0.9, 0.1]] * 4 + [[0.9, 0.1], [0.1, 0.9]],
    index=pd.MultiIndex.from_product([["ann", "bob", "di", "ed", "cy"], ["no", "yes"]], names=["worker", "label"]),
    columns=["no", "yes"],
)
for strategy, size in (("assign", 1), ("addition", 100)):
    made = DawidSkene(n_iter=3, initial_error_strategy=strategy)
    seen[strategy] = made.fit_predict(data, initial_error=size * before).to_dict()
made = MMSR(n_iter=5).fit(data)
seen["predict"] = made.predict(data).to_dict()
made.n_iter = 10000
scores = made.fit_predict_score(data)
seen["scores"] = [described(scores), scores.idxmax(axis=1).to_dict(), made.predict_score(data).equals(made.scores_)]
seen["options"] = [made.n_iter, DawidSkene().tol, KOS(random_state=3).random_state, MACE().n_restarts, GLAD().silent]
print(json.dumps(seen))
"""


def run_script(python: str, library: str) -> dict[str, Any]:
    script = SCRIPT.replace("LIBRARY", library)
    run = subprocess.run([python, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    seen: dict[str, Any] = json.loads(run.stdout)
    return seen


def test_a_crowd_kit_script_runs_with_only_its_import_line_changed() -> None:
    assert run_script(sys.executable, "quorate.estimators") == expected()


def test_what_is_expected_of_the_script_is_what_crowd_kit_does() -> None:
    python = os.environ.get("QUORATE_CROWDKIT") or (sys.executable if find_spec("crowdkit") else None)
    need("crowdkit", python, "name a Python that has it with QUORATE_CROWDKIT")
    assert python is not None
    assert run_script(python, "crowdkit.aggregation") == expected()
