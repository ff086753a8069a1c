"""The paper's figures on the public data sets, as printed [Ma20, Tables 4 and 5, realdata and errorrate]."""

SETS = {"rte1": "RTE1", "temp": "Temp", "dogs": "Dogs", "wsd": "WSD", "web": "Web"}
# Tasks, workers, instances, classes, sparsity level.
SUMMARY = {
    "rte1": (800, 164, 8000, 2, 0.0610),
    "temp": (462, 76, 4620, 2, 0.1316),
    "dogs": (807, 109, 8070, 4, 0.0917),
    "wsd": (177, 34, 1770, 3, 0.2947),
    "web": (2665, 177, 15567, 5, 0.0033),
}
# From the introduction: mean number of peers of a worker, and its standard deviation.
MET = {"web": (2.7, 15.0), "rte1": (2.5, 20.0)}
# Errors of PGD, MV, Opt-D&S, KOS, ER, IWMV and M3V.
PAPER: dict[str, tuple[float | None, ...]] = {
    "rte1": (0.07, 0.1031, 0.0712, 0.3975, 0.14, 0.08, 0.0813),
    "temp": (0.0512, 0.0639, 0.0584, 0.0628, 0.052, 0.06, 0.0606),
    "dogs": (0.1660, 0.1958, 0.1689, 0.3172, 0.18, 0.19, 0.1822),
    "wsd": (0.0056, 0.0056, None, 0.0056, 0.0056, 0.0056, 0.0056),
    "web": (0.1485, 0.2693, 0.1586, 0.4293, 0.22, 0.22, 0.1847),
}
