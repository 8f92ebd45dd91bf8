"""Tables of levels against comparing codes one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.kernel import add_unequal
from densdiff.core.level_tables import LevelTables


@given(st.lists(st.sampled_from([1, 2, 3, 50, 700, 2000]), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_tables_add_what_comparing_codes_adds(levels, seed):
    """Columns share tables or have one each, however long; unknown levels are -1."""
    random = np.random.default_rng(seed)
    rows, others = (np.column_stack([random.integers(-1, k, n) for k in levels]).astype(float) for n in (40, 7))
    apart = random.uniform(0.1, 3.0, len(levels))
    expected = np.ones((40, 7))
    add_unequal(expected, rows.astype(int), others.astype(int), apart)
    for n_rows in (40, 10**6):
        found = np.ones((40, 7))
        LevelTables.of(others, np.array(levels), apart, n_rows).add(found, rows)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
