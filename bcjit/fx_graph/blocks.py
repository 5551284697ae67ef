"""A run of calls over the elements of equal arrays, written block by block; what is in a run is decided by a plan."""

from __future__ import annotations

import math
import symtable
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.dims import product
from bcjit.fx_graph.expressions import size_text
from bcjit.fx_graph.node import Node
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.buffers import Run, Stored
    from bcjit.fx_graph.expressions import Expression, Renderer
    from bcjit.fx_graph.graph import Graph

__all__ = ["UNIT", "Blocks", "blocks"]

UNIT: Final = 64  # elements: a multiple of what NumPy's vector loops do in a turn


@dataclass(frozen=True, slots=True)
class Blocks:
    """The parts of a run as code."""

    needed: list[Expression]  # whose sizes are read before
    before: list[str]
    unless: str  # the head of what is done where no threads have done it; may be empty
    head: str
    slices: list[str]
    calls: list[tuple[Node, str]]
    after: list[tuple[Node, str]]


def blocks(renderer: Renderer, graph: Graph, run: Run) -> Blocks:
    """Return the code of a run: each array once flat, a loop over its blocks, and in it slices and calls."""
    writer = _Writer(renderer, graph, run)
    calls = [(node, writer.call(node)) for node in run.nodes]
    names = renderer.buffers.names
    after = [
        (node, f"{renderer.places.name(node)} = {names[renderer.buffers.calls[node].buffer or 0]}")
        for node in run.nodes
        if node in run.read_later and node not in run.rows
    ]
    head = f"for {writer.start} in range(0, {writer.length}, {writer.step}):"
    here = f"{writer.here} = {renderer.bind(slice, 'slice')}({writer.start}, {writer.start} + {writer.step})"
    slices = [here, *writer.slices.values()]
    unless = writer.threads([*slices, *(text for _, text in calls)])
    return Blocks(writer.needed, writer.before, unless, head, slices, calls, after)


class _Writer:
    def __init__(self, renderer: Renderer, graph: Graph, run: Run) -> None:
        self.renderer = renderer
        self.graph = graph
        self.run = run
        self.inside = frozenset(run.nodes)
        self.start, self.here = renderer.new_name("start"), renderer.new_name("here")
        self.needed: list[Expression] = []
        self.before: list[str] = []
        self.slices: dict[str, str] = {}  # by the name of the whole array
        self._blocks: dict[str, str] = {}
        self._names: dict[Node, str] = {}
        self.shape, size, self.length = self._whole()
        names = renderer.buffers.names
        for buffer, dtype in run.makes:
            empty = renderer.bind(np.empty, "np_empty")
            kind = renderer.bind(dtype, f"dtype_{dtype.name}")
            self.before.append(f"{names[buffer]} = {empty}({self.shape}, {kind})")
        length, step = renderer.new_name("length"), renderer.new_name("step")
        self.before.append(f"{length} = {self.length}")
        # Which of two NaNs comes through a sum or product depends in NumPy on whether an element is in the body or in the tail of its vector
        # loop: so blocks are made of whole turns of that loop, where they are that large at all, and none is so short that it may be all tail;
        # of one element never, since NumPy takes a + b in the place of a for a sum, which turns the operands round.
        unit = UNIT if run.block % UNIT == 0 else 1
        turn, row = str(unit), ""
        if run.flat or len(run.shape) == 1:
            self.before.append(f"{step} = {run.block}")
        else:
            row = renderer.new_name("row")
            self.before.append(f"{row} = max({size} // max({length}, 1), 1)")
            self.before.append(f"{step} = max({run.block} // {row}, 1)")
            if unit > 1:
                turn = renderer.new_name("turn")
                gcd = renderer.bind(math.gcd, "gcd")
                self.before.append(f"{turn} = {unit} // {gcd}({row}, {unit})")
                self.before.append(f"{step} += -{step} % {turn}")
        if unit > 1 or not row or product(run.shape[1:]) == 1:
            left = f"{length} % {step}" + (f" * {row}" if row else "")
            test = f"{step} > 2 * {turn} and 0 < {left} < {max(unit, 2)}"
            # Lengths that leave so little behind with three sizes are beyond any memory.
            self.before += [f"{step} -= {turn} * ({test})"] * 2
        self.length, self.step = length, step

    def threads(self, body: list[str]) -> str:
        """Return the head of what is done where threads have not done the blocks: these get the body as a function of its own."""
        renderer, run = self.renderer, self.run
        if renderer.buffers.threads is None:
            return ""
        text = "".join(f"        {line}\n" for line in body)
        loop = f"    for {self.start} in starts:\n{text}"
        table = symtable.symtable(f"def part(starts):\n{loop}", "part", "exec")
        # CPython 3.14 has one for annotations before it.
        inner = next(one for one in table.get_children() if one.get_name() == "part")
        names = {one.get_name() for one in inner.get_symbols() if one.is_global()}
        globals_ = {name: renderer.namespace[name] for name in names if name in renderer.namespace}
        names -= {*globals_, self.length, self.step}
        local = sorted(names & {renderer.buffers.names[number] for number in run.local})
        shared = sorted(names - {*local})
        parameters = ", ".join(["starts", self.length, self.step, *local, *shared])
        made: dict[str, object] = {}
        globals_ |= {"__name__": "bcjit.graph", "__warningregistry__": 0}
        code = compile(
            f"def part({parameters}):\n{loop}", "<bcjit part>", "exec", dont_inherit=True
        )
        exec(code, globals_, made)
        threads, part = (
            renderer.bind(renderer.buffers.threads, "in_threads"),
            renderer.bind(made["part"], "part"),
        )
        given = (f"({''.join(f'{name}, ' for name in words)})" for words in (local, shared))
        return f"if not {threads}({part}, {self.length}, {self.step}, {', '.join(given)}):"

    def _whole(self) -> tuple[str, str, str]:
        """Return the shape of the arrays, their size, and the length that is cut into blocks."""
        run = self.run
        flat = run.flat or len(run.shape) == 1
        arg = next((arg for node in run.nodes for arg in node.args if arg in run.whole), None)
        if arg is not None:
            text = self._text(arg)
            return f"{text}.shape", f"{text}.size", f"{text}.size" if flat else f"{text}.shape[0]"
        graph = self.renderer.places.graph
        sizes = [size_text(graph, dim) for dim in run.shape]
        size = size_text(graph, product(run.shape))
        return f"({', '.join(sizes)},)", f"({size})", f"({size})" if flat else sizes[0]

    def _text(self, operand: object) -> str:
        """Return an operand; an expression is computed once, before the blocks."""
        if isinstance(operand, Node) and operand in self._names:
            return self._names[operand]
        value = self.renderer.operand(operand, self.graph)
        self.needed.append(value)
        if not isinstance(operand, Node) or operand not in self.renderer.places.nested:
            return value.text
        name = self._names[operand] = self.renderer.new_name(operand.name)
        self.before.append(f"{name} = {value.text}")
        return name

    def call(self, node: Node) -> str:
        """Return a call of the block of each of its operands, into that of its buffer."""
        stored = self.renderer.buffers.calls[node]
        words = [self._operand(arg) for arg in node.args[: stored.inputs]]
        if node in self.run.rows:
            return self._rows(node, words, stored)
        assert stored.buffer is not None
        buffer = self._buffer(stored.buffer)
        if isinstance(stored.function, np.ufunc):
            # By keyword: np.maximum warns of a third positional operand.
            return self.renderer.stored_call(stored, words, f", out={buffer}")
        if stored.mask is not None:
            return self._chosen(node, words, buffer, stored)
        made = self.renderer.stored_call(stored, words, "")
        return f"{self.renderer.bind(np.copyto, 'np_copyto')}({buffer}, {made})"

    def _rows(self, node: Node, words: list[str], stored: Stored) -> str:
        """Return a call for the numbers of rows; the first one has its array made before."""
        out = self._operand(node)
        meta = node.meta[0]
        assert isinstance(meta, ArrayMeta)
        if isinstance(stored.function, np.ufunc):
            return self.renderer.stored_call(stored, words, f", out={out}")
        keeps = len(meta.shape) == len(self.run.shape)
        return self.renderer.stored_call(
            stored, words, f", axis={len(self.run.shape) - 1}, keepdims={keeps}, out={out}"
        )

    def _row_array(self, node: Node) -> str:
        """Return the block of an array that has a number for each row."""
        name = self.renderer.places.name(node)
        if name not in self._blocks:
            meta = node.meta[0]
            assert isinstance(meta, ArrayMeta)
            empty = self.renderer.bind(np.empty, "np_empty")
            kind = self.renderer.bind(meta.dtype, f"dtype_{meta.dtype.name}")
            kept = ", 1" if len(meta.shape) == len(self.run.shape) else ""
            shape = f"(*{self.shape}[:-1]{kept})" if kept else f"{self.shape}[:-1]"
            self.before.append(f"{name} = {empty}({shape}, {kind})")
        return self._block(name)

    def _chosen(self, node: Node, words: list[str], buffer: str, stored: Stored) -> str:
        """Return the statements that choose bits by a mask: `numpy.where` goes element by element, at a loss where the condition varies."""
        bind = self.renderer.bind
        assert stored.mask is not None
        dtype = _dtype(node)
        bits = np.dtype(f"i{dtype.itemsize}")
        view = f".view({bind(bits, f'dtype_{bits.name}')})"
        one, other = (
            f"{word}{view}"
            if isinstance(arg, Node)
            else bind(np.asarray(arg, dtype).view(bits)[()], "bits")
            for word, arg in zip(words[1:], node.args[1:], strict=True)
        )
        xor, chosen = bind(np.bitwise_xor, "np_bitwise_xor"), self.renderer.new_name("chosen")
        mask = self._buffer(stored.mask)
        statements = [
            f"{chosen} = {buffer}{view}",
            f"{xor}({one}, {other}, out={chosen})",
            f"{bind(np.bitwise_and, 'np_bitwise_and')}({chosen}, {mask}, out={chosen})",
            f"{xor}({chosen}, {other}, out={chosen})",
        ]
        if stored.makes_mask:
            truth = f"{words[0]}.view({bind(np.dtype('i1'), 'dtype_int8')})"
            statements.insert(0, f"{bind(np.negative, 'np_negative')}({truth}, out={mask})")
        return "; ".join(statements)

    def _operand(self, operand: object) -> str:
        if isinstance(operand, Node) and operand in self.run.rows:
            return self._row_array(operand)
        if isinstance(operand, Node) and operand in self.inside:
            buffer = self.renderer.buffers.calls[operand].buffer
            assert buffer is not None
            return self._buffer(buffer)
        if isinstance(operand, Node) and operand in self.run.sliced:
            return self._block(self._text(operand))
        return self._text(operand)

    def _buffer(self, buffer: int) -> str:
        name = self.renderer.buffers.names[buffer]
        if buffer not in self.run.local:
            return self._block(name)
        if name not in self._blocks:
            self._blocks[name] = self.renderer.new_name(f"{name}_block")
            left = f"{self.length} - {self.start}"
            self.slices[name] = f"{self._blocks[name]} = {name}[:min({left}, {self.step})]"
        return self._blocks[name]

    def _block(self, name: str) -> str:
        """Return the block of an array."""
        if name not in self._blocks:
            flat = name
            if self.run.flat:
                flat = self.renderer.new_name(f"{name}_flat")
                self.before.append(f"{flat} = {name}.reshape(-1)")
            self._blocks[name] = self.renderer.new_name(f"{name}_block")
            self.slices[name] = f"{self._blocks[name]} = {flat}[{self.here}]"
        return self._blocks[name]


def _dtype(node: Node) -> np.dtype[np.generic]:
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return meta.dtype
