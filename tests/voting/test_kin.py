"""Groups that a caller names: who is in none is alone, whatever the groups are numbered."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quorate.voting.kin import own_groups


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=12))
def test_two_are_together_exactly_where_one_group_has_both(group: list[int]) -> None:
    together = [[i == j or (a == b and a >= 0) for j, b in enumerate(group)] for i, a in enumerate(group)]
    found = own_groups(np.array(group))
    if found is None:
        found = np.arange(len(group))  # nobody shares one
    assert (found[:, None] == found).tolist() == together
    assert sorted(set(found.tolist())) == list(range(len(set(found.tolist()))))
