"""The native backend as a callable, with its options; see the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bcjit import _core
from bcjit.backends.native.build import Built, build
from bcjit.backends.native.flags import flags_matter
from bcjit.backends.native.threads import thread_count
from bcjit.fx_graph import source_of

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph, GraphFunction

__all__ = ["FAST", "NATIVE", "Native"]


class Native:
    """A backend that compiles groups of calls.

    Parameters
    ----------
    smallest
        The fewest calls of which a kernel is made.
    fast
        Compute functions like ``np.sin`` by polynomials, see `bcjit.backends.native.fast`.
    """

    optimizes = True

    def __init__(self, smallest: int = 2, *, fast: bool = False) -> None:
        self.smallest, self.fast = smallest, fast

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> GraphFunction:
        """Return the graph's function, with kernels for groups of its calls."""
        _core.set_flags_test(flags_matter)
        _core.set_thread_count(thread_count)
        made = build(graph, self.smallest, fast=self.fast, example_inputs=example_inputs)
        function = made.graph.to_callable(origin=made.origin)
        function.__dict__["source"] = _source(function, made)
        function.__dict__["only_call"] = _only_kernel(made.graph)
        function.__dict__["kernels"] = len(made.kernels)
        function.__dict__["compile_seconds"] = tuple(
            one.seconds for one in made.kernels if not one.reloaded
        )
        function.__dict__["reload_seconds"] = tuple(
            one.seconds for one in made.kernels if one.reloaded
        )
        return function


def _only_kernel(graph: Graph) -> _core.Kernel | _core.ReduceKernel | _core.ScanKernel | None:
    """Return the kernel that does the same as the graph's function but for the tuple around its one result; None if there is more to do."""
    calls, output = graph.calls, graph.output_node
    assert output is not None
    if len(calls) != 1 or calls[0].multi or output.args != tuple(calls):
        return None
    target = calls[0].target
    kinds = _core.Kernel | _core.ReduceKernel | _core.ScanKernel
    if isinstance(target, kinds) and calls[0].args == tuple(graph.inputs):
        return target
    return None


def _source(function: GraphFunction, made: Built) -> str:
    """Return the text of a graph's function and of what its kernels compute for an element."""
    texts = [source_of(function) or ""]
    for number, kernel in enumerate(made.kernels):
        lines = [f"# {line}" for line in kernel.text.splitlines()]
        texts.append("\n".join((f"# kernel {number}, vectors of {kernel.width} elements:", *lines)))
    return "\n".join(texts)


NATIVE: Final = Native()
FAST: Final = Native(fast=True)
