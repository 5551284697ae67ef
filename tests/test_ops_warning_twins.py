"""NumPy's own Python code that warns inside a graph: given once, at its line, in front of what came before it."""

import numpy as np
import pytest
from differential import STANDARD_SETTINGS, World, args, assert_same
from under_test import captured_nodes, compile_eager


def deviation(x, y):
    spread = np.nanstd(x, axis=1)
    return spread, np.log(y)  # fails behind the warning: everything is done again


def middle(x, y):
    return np.nanmedian(x, axis=1), np.log(y)


def quantiles(x, y):
    return np.nanquantile(x, 0.5, axis=1), np.nanpercentile(x[0], [20.0, 80.0]), np.log(y)


def grid(columns):
    x = np.ones((2, columns))
    x[0] = np.nan
    return x


@pytest.mark.parametrize("fn", [deviation, middle, quantiles])
@pytest.mark.parametrize("columns", [3, 600])
def test_warning_from_inside_numpy_is_given_once(fn, columns):
    def make_world():
        return World(
            fn,
            [
                lambda: args(np.ones((2, columns)), np.ones(2)),
                lambda: args(grid(columns), np.ones(2)),
                lambda: args(grid(columns), np.zeros(2)),
            ],
        )

    assert_same(make_world, compile_eager, STANDARD_SETTINGS)
    compiled = compile_eager(fn)
    compiled(np.ones((2, columns)), np.ones(2))
    assert captured_nodes(compiled) >= 2
