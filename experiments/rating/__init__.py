"""Figures of `quorate rate` on simulated and public scores, with those of other methods and with targets.

    QUORATE_DATASETS=DIR python -m experiments.rating          # a few minutes
    QUORATE_DATASETS=DIR python -m experiments.rating --quick  # a minute

DIR has a folder `scores` of CSV files (task, worker, score). `sureal` and `statsmodels` are run where
QUORATE_OTHERS names a Python that has them, in that separate environment.
"""
