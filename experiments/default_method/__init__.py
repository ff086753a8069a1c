"""Score a default method on the public data, and fit its constants.

Each command prints one group of figures with its targets and whether they are met. `--method product` (the default)
scores `quorate.aggregate`; `--method prototype:PATH` scores a reference implementation in one file:

    python -m experiments.default_method.public_sets     25 crowds of people and judges_civil, 0 to 100 gold labels
    python -m experiments.default_method.judge_panels    47 panels of LLM judges, each repository left out in turn
    python -m experiments.default_method.fit_law         constants of the dependence and of both calibration laws
    python -m experiments.default_method.simulations     simulated crowds
    python -m experiments.default_method.ablation        parts of the method switched off

The data are read from the folder that QUORATE_DATASETS names (by default `../shared/datasets`, seen from the
repository). `methods.py` documents what the commands expect of a method.
"""
