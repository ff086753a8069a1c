"""Groups of workers who repeat each other: found by the default method, or searched for where the crowd is large."""

import numpy as np

from quorate.arrays import IntArray
from quorate.blocks.memory import blocks_of
from quorate.diagnosis.finding import Finding, named
from quorate.methods.quorate import MAX_COPYING_WORKERS, copying_members, search_copying
from quorate.result import Result


def copying_findings(result: Result) -> list[Finding]:
    """Report every group of workers whose answers are explained by copying one hidden answer.

    The default method searches for such groups in crowds of at most MAX_COPYING_WORKERS workers; in larger ones the
    search runs here and the labels do not use it.

    >>> import quorate
    >>> copying_findings(quorate.aggregate(quorate.simulate.crowd(300, 10, 5, seed=0).answers))
    []
    """
    basis = result.confidence_basis
    if basis is None:
        return []
    names = result.answers.worker_names
    if result.answers.n_workers > MAX_COPYING_WORKERS:
        if basis.families:  # groups were given: they are known, and the search would ignore them
            return []
        groups = search_copying(blocks_of(result.answers))
        members = [] if groups is None else copying_members(groups)
    else:
        code_of = {str(name): code for code, name in enumerate(names.to_pylist())}
        members = [_codes(family, code_of) for family in basis.families] if basis.found else []
    return [_finding(group, result) for group in members]


def _codes(family: tuple[str, ...], code_of: dict[str, int]) -> IntArray:
    return np.array([code_of[name] for name in family], dtype=np.int64)


def _finding(members: IntArray, result: Result) -> Finding:
    is_used = result.answers.n_workers <= MAX_COPYING_WORKERS
    consequence = (
        "the labels count them for less"
        if is_used
        else "the labels count each of them as independent; name the group (--group) to change that"
    )
    codes = tuple(int(code) for code in members)
    return Finding(
        "copying-group",
        f"{len(codes)} workers repeat each other beyond what they know, and may copy or share an account: "
        f"{named(result.answers.worker_names, codes)}; {consequence}",
        float(len(codes)),
        "workers",
        workers=codes,
        evidence={"workers": len(codes)},
        figures=f"{len(codes)} workers: the model of copying exceeds independent answers by more than its cost (BIC)",
    )
