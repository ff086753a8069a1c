from typing import Any


def expected() -> dict[str, Any]:
    """What crowd-kit 1.4 says to the script above."""
    by_name, by_appearance = ["t1", "t2", "t3", "t4"], ["t2", "t1", "t3", "t4"]
    workers, workers_by_appearance = ["ann", "bob", "cy", "di", "ed"], ["cy", "ann", "bob", "di", "ed"]
    frame = {"type": "DataFrame", "index": "task", "columns": "label", "labels": ["no", "yes"]}
    values = {"t1": "no", "t2": "yes", "t3": "yes", "t4": "no"}
    seen: dict[str, Any] = {}
    agreed = {"ann": 1.0, "bob": 1.0, "cy": 0.5, "di": 1.0, "ed": 0.75}
    names = ["MajorityVote", "DawidSkene", "OneCoinDawidSkene", "KOS", "Wawa", "ZeroBasedSkill", "GLAD", "MACE", "MMSR"]
    for name in names:
        order = by_appearance if name.endswith("DawidSkene") or name == "MACE" else by_name
        labels = {"type": "Series", "index": "task", "order": order, "name": "agg_label", "types": True}
        labels["values"] = {} if name == "KOS" else values
        seen[name] = {"chained": True, "labels": labels, "attribute": True}
        if name not in ("KOS", "MMSR"):
            seen[name]["probas"] = {**frame, "order": order}
        if name in ("MajorityVote", "Wawa", "ZeroBasedSkill"):
            seen[name]["skill values"] = agreed
        if name in ("DawidSkene", "OneCoinDawidSkene", "GLAD"):
            seen[name]["losses"] = ["float"]
        if name not in ("KOS", "DawidSkene", "GLAD", "MACE"):
            order = workers_by_appearance if name in ("OneCoinDawidSkene", "MMSR") else workers
            seen[name]["skills"] = {"type": "Series", "index": "worker", "order": order, "name": "skill"}
    ability = {"type": "Series", "index": "worker", "order": workers_by_appearance, "name": "alpha"}
    ease = {"type": "Series", "index": "task", "order": by_appearance, "name": "beta"}
    seen["GLAD"]["found"] = [ability, ease]
    seen["GLAD"]["priors"] = {"no": 0.5, "yes": 0.5}
    seen["MACE"]["found"] = [[5, 2], [5, 2]]
    seen["proba"] = {**frame, "order": by_name}
    seen["known"] = {**values, "t2": "no"}
    seen["priors"] = {"type": "Series", "index": "label", "order": ["no", "yes"], "name": "prior"}
    seen["weighted"] = seen["default"] = dict.fromkeys(by_name, "no")
    seen["predict"] = values
    seen["scores"] = [{**frame, "order": by_name}, values, True]
    seen["options"] = [10000, 1e-05, 3, 10, True]
    right = {**dict.fromkeys(workers, round(2 / 3, 9)), "ed": round(1 / 3, 9)}
    seen["gold"] = {"skills": right, "labels": values}
    lists = {task: ["yes"] if label == "yes" else ["maybe", "no"] for task, label in values.items()}
    seen["several"] = {"type": "Series", "index": "task", "values": lists}
    seen["errors"] = [["worker", "label"], ["no", "yes"]]
    seen["assign"] = seen["addition"] = {"t1": "yes", "t2": "no", "t3": "no", "t4": "yes"}
    return seen
