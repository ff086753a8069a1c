"""sureal and statsmodels on a file of scores, in a separate environment: `python others.py FILE`.

Prints a JSON object: the scores of each tool by task, or why it could not run, and CPU seconds.
"""

import csv
import json
import sys
import time
from typing import Any, ClassVar


def with_sureal(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Scores of ITU-T P.910 by sureal."""
    from sureal.dataset_reader import RawDatasetReader
    from sureal.subjective_model import SubjectMLEModelProjectionSolver2 as Model  # ITU-T P.910

    tasks = sorted({row["task"] for row in rows})

    class Dataset:
        dataset_name = "scores"
        yuv_fmt = "yuv420p"
        width = height = 1
        ref_videos: ClassVar = [{"content_id": k, "content_name": t, "path": t} for k, t in enumerate(tasks)]
        dis_videos: ClassVar = [
            {
                "content_id": k,
                "asset_id": k,
                "path": t,
                "os": {row["worker"]: float(row["score"]) for row in rows if row["task"] == t},
            }
            for k, t in enumerate(tasks)
        ]

    result = Model(RawDatasetReader(Dataset)).run_modeling()
    return dict(zip(tasks, map(float, result["quality_scores"]), strict=True))


def with_statsmodels(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Scores of crossed random effects by statsmodels."""
    import numpy as np
    import pandas as pd
    import statsmodels.api as sm

    frame = pd.DataFrame(rows).assign(score=lambda table: table["score"].astype(float), one=1)
    components = {"task": "0 + C(task)", "worker": "0 + C(worker)"}
    model = sm.MixedLM.from_formula("score ~ 1", groups="one", vc_formula=components, re_formula="0", data=frame)
    found = model.fit()
    effects = next(iter(found.random_effects.values()))
    level = float(found.fe_params.iloc[0])
    scores = {}
    for name, value in effects.items():
        text = str(name)
        if "task" in text:
            scores[text.split("[")[-1].rstrip("]").removeprefix("T.")] = level + float(np.asarray(value))
    return scores


def main() -> None:
    """Print the scores of both."""
    with open(sys.argv[1]) as file:
        rows = list(csv.DictReader(file))
    out: dict[str, Any] = {}
    for name, run in (("sureal", with_sureal), ("statsmodels", with_statsmodels)):
        begun = time.process_time()
        try:
            out[name] = {"scores": run(rows), "seconds": time.process_time() - begun}
        except Exception as error:
            out[name] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
