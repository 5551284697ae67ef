"""NumPy's error states around compiled functions: warnings, handlers, prints and exceptions are those of the plain function.

Of the functions here NumPy's warnings raise by themselves in the graph (`fx_graph.refuses_warnings`), so that the error state is replaced
only where NumPy would call or print.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcjit


def elementwise(x):
    return np.log(x * 1.0) + x / 0.0


def reduced(x):
    if x.sum() > 1e308:
        return x + 1
    return x - 1


def in_a_scratch_array(x):
    y = x + 0.0
    y /= x - 1.0
    return y


FUNCTIONS = [elementwise, reduced, in_a_scratch_array]
INPUTS = [np.array(pair) for pair in [(1.0, 2.0), (0.0, -1.0), (1e308, 1e308), (np.inf, -np.inf)]]
MODES = ["ignore", "warn", "raise", "call", "print", "log"]


class Log:
    """What `np.seterrcall` takes for the mode log."""

    def __init__(self):
        self.lines = []

    def write(self, line):
        self.lines.append(line)

    def __call__(self, kind, flag):
        self.lines.append((kind, flag))


def outcome(function, x, mode, invalid, capfd):
    """Everything that can be seen of a call under an error state."""
    log = Log()
    before = np.seterrcall(log)
    try:
        with (
            warnings.catch_warnings(record=True) as seen,
            np.errstate(divide=mode, over=mode, invalid=invalid),
        ):
            warnings.simplefilter("always")
            try:
                result = function(x.copy()).tobytes()
            except FloatingPointError as error:
                result = str(error)
            state = np.geterr()
    finally:
        np.seterrcall(before)
    shown = [(str(w.message), w.category, w.filename, w.lineno) for w in seen]
    return result, shown, log.lines, capfd.readouterr(), state


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("mode", MODES)
def test_error_state_has_the_same_effects(function, mode, capfd):
    compiled = bcjit.compile(function, backend="eager")
    reported = False
    for invalid in ("ignore", "warn", "raise"):
        for x in INPUTS:
            for _ in range(2):
                expected = outcome(function, x, mode, invalid, capfd)
                assert outcome(compiled, x, mode, invalid, capfd) == expected
                reported = reported or any(map(bool, expected[1:3])) or any(expected[3])
    assert compiled.graphs
    assert reported, "no floating-point flag was ever reported"


def kernel(x):
    return np.cos(x)


def test_a_backend_may_call_kernels_of_any_module():
    def backend(graph, examples):
        for node in graph.all_calls:
            if node.target is np.cos:
                node.target = kernel
        return graph.to_callable()

    compiled = bcjit.compile(lambda x: np.cos(x) + 1, backend=backend)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in cos"):
            assert np.isnan(compiled(np.full(2, np.inf))).all()
        assert compiled(np.zeros(2)).tolist() == [2.0, 2.0]
