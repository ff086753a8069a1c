"""Figures of `quorate rate` on simulated and public scores, beside other methods and beside their targets.

    QUORATE_DATASETS=DIR python -m experiments.rating          # a few minutes
    QUORATE_DATASETS=DIR python -m experiments.rating --quick  # a minute

DIR has a folder `scores` of CSV files (task, worker, score). `sureal` and `statsmodels` are run where
QUORATE_OTHERS names a Python that has them, in that environment of their own.
"""
