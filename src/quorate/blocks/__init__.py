"""Blocks of complete tasks as integer codes, in memory or elsewhere, and the kernels that sum over them."""

import os
from importlib import import_module
from types import ModuleType


def native_kernels() -> ModuleType | None:
    """Return the kernels in C; None if the package was built without a compiler, or numpy is chosen.

    >>> native_kernels() is None or "em" in dir(native_kernels())
    True
    """
    if os.environ.get("QUORATE_KERNELS") == "numpy":
        return None
    try:
        return import_module("quorate.blocks._native")
    except ImportError:
        return None


def in_use() -> str:
    """Return which kernels are in use: "C" or "numpy".

    >>> in_use() in ("C", "numpy")
    True
    """
    return "numpy" if native_kernels() is None else "C"


def n_threads() -> int:
    """Return how many threads may pass over blocks: QUORATE_THREADS, or the processors that this process may use.

    >>> n_threads() >= 1
    True
    """
    setting = os.environ.get("QUORATE_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1
