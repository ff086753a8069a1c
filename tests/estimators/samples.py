from typing import Any


def expected() -> dict[str, Any]:
    """What crowd-kit 1.4.1 says to the script above."""
    by_name, by_appearance = ["t1", "t2", "t3", "t4"], ["t2", "t1", "t3", "t4"]
    workers, workers_by_appearance = ["ann", "bob", "cy", "di", "ed"], ["cy", "ann", "bob", "di", "ed"]
    frame = {"type": "DataFrame", "index": "task", "columns": "label", "labels": ["no", "yes"]}
    values = {"t1": "no", "t2": "yes", "t3": "yes", "t4": "no"}
    seen: dict[str, Any] = {}
    for name in ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "KOS", "Wawa", "MMSR"):
        order = by_appearance if name.endswith("DawidSkene") else by_name
        labels = {"type": "Series", "index": "task", "order": order, "name": "agg_label", "types": True}
        labels["values"] = {} if name == "KOS" else values
        seen[name] = {"chained": True, "labels": labels, "attribute": True}
        if name not in ("KOS", "MMSR"):
            seen[name]["probas"] = {**frame, "order": order}
        if name not in ("KOS", "DawidSkene"):
            order = workers_by_appearance if name in ("OneCoinDawidSkene", "MMSR") else workers
            seen[name]["skills"] = {"type": "Series", "index": "worker", "order": order, "name": "skill"}
    seen["proba"] = {**frame, "order": by_name}
    seen["known"] = {**values, "t2": "no"}
    seen["priors"] = {"type": "Series", "index": "label", "order": ["no", "yes"], "name": "prior"}
    seen["weighted"] = seen["default"] = dict.fromkeys(by_name, "no")
    seen["predict"] = values
    return seen
