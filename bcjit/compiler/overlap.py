"""Which arrays share memory, as far as a graph that writes one relies on it: guards, and nothing else."""

from __future__ import annotations

import numpy as np

from bcjit.errors import SourceLine
from bcjit.fx_graph import Node, NodeKind, maker, owner
from bcjit.guards import Guard, GuardKind
from bcjit.meta import ArrayMeta
from bcjit.symbolic_vm import Capture

__all__ = ["overlap_guards"]


def overlap_guards(found: Capture, start: SourceLine) -> list[Guard]:
    """Return what a graph that writes an input relies on: which of the other inputs share memory with it.

    ``start`` is the line where the part begins, for a write that has no line of its own.
    """
    written: dict[Node, SourceLine] = {}
    for call in found.graph.calls:
        for node in call.writes:
            if owner(node) is None:  # what the graph made is no input's memory
                written.setdefault(maker(node), call.line or start)
    if not written:
        return []
    arrays = [node for node in found.graph.inputs if _is_array(node)]
    # Memory that a loop or an index chose may be that of any input.
    anywhere = next(
        (line for node, line in written.items() if node.kind is not NodeKind.INPUT), None
    )
    guards = []
    for index, left in enumerate(arrays):
        for right in arrays[index + 1 :]:
            line = written.get(left) or written.get(right) or anywhere
            if line is not None:
                sources = found.input_sources[left], found.input_sources[right]
                shared = np.may_share_memory(_array(found, left), _array(found, right))
                guards.append(Guard(GuardKind.OVERLAP, sources[0], (sources[1], shared), line))
    return guards


def _is_array(node: Node) -> bool:
    meta = node.meta[0]
    return isinstance(meta, ArrayMeta) and not meta.is_scalar


def _array(found: Capture, node: Node) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    value = found.input_values[node]
    assert isinstance(value, np.ndarray)
    return value
