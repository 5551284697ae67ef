"""The same functions through other compilers, where they are installed: each is given NumPy arrays and gives NumPy arrays.

A peer that is missing, cannot compile a function, or gives another result than NumPy is an entry of the table like any
other: a `Refusal` says which. Compiling happens before anything is timed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import re
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from bcjit.bench.measure import Call, Function
from bcjit.bench.numexpr_text import compile_function as compile_for_numexpr

__all__ = [
    "KERNEL_PEERS",
    "PEERS",
    "SUITE_PEERS",
    "TOLERANCE",
    "Peer",
    "Refusal",
    "difference",
    "one_line",
    "prepared",
    "rebound",
    "version",
]

# A result may differ from NumPy's by so many units of relative precision of its dtype (compilers bring their own sin and exp).
TOLERANCE: Final = 64
REASON_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no figure."""

    reason: str


@dataclass(frozen=True, slots=True)
class Peer:
    """Another compiler: how it is asked to compile a function of NumPy arrays."""

    name: str
    key: str  # in the data
    module: str
    compile: Callable[[Function], Function]

    @property
    def installed(self) -> bool:
        """Whether its module can be imported; it is not."""
        return importlib.util.find_spec(self.module) is not None


def rebound(function: Function, **names: object) -> types.FunctionType:
    """Return the function with other objects under these global names.

    Its code is a copy: peers keep what they compiled by code object, and find it in the globals it was made with.
    """
    assert isinstance(function, types.FunctionType)
    made = types.FunctionType(
        function.__code__.replace(),
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__module__ = function.__module__
    return made


def _numba(*, fastmath: bool) -> Callable[[Function], Function]:
    def compile_function(function: Function) -> Function:
        numba = importlib.import_module("numba")
        made: Function = rebound(function)
        compiled: Function = numba.njit(made, fastmath=True) if fastmath else numba.njit(made)
        return compiled

    return compile_function


def _jax(function: Function) -> Function:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)  # or float64 would become float32
    jitted = jax.jit(rebound(function, np=importlib.import_module("jax.numpy")))
    return lambda *args: jax.tree_util.tree_map(np.asarray, jitted(*args))


def _torch(backend: str) -> Callable[[Function], Function]:
    def compile_function(function: Function) -> Function:
        os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
        torch = importlib.import_module("torch")
        dynamo = importlib.import_module("torch._dynamo")
        # Kinds of arguments that other cases have compiled count against one limit.
        compiled: Function = torch.compile(
            rebound(function, graph_break=dynamo.graph_break), backend=backend
        )
        return compiled

    return compile_function


NUMBA: Final = Peer("numba", "numba", "numba", _numba(fastmath=False))
JAX: Final = Peer("jax", "jax", "jax", _jax)
TORCH: Final = Peer("torch", "torch_inductor", "torch", _torch("inductor"))
PEERS: Final = (NUMBA, JAX, TORCH, Peer("torch eager", "torch_eager", "torch", _torch("eager")))
SUITE_PEERS: Final = (NUMBA, JAX, TORCH)
KERNEL_PEERS: Final = (
    NUMBA,
    Peer("numba fastmath", "numba_fastmath", "numba", _numba(fastmath=True)),
    JAX,
    TORCH,
    Peer("numexpr", "numexpr", "numexpr", compile_for_numexpr),
)


def version(peer: Peer) -> str:
    """Return the version of a peer, or that it is not installed; imports nothing."""
    if not peer.installed:
        return "not installed"
    try:
        return importlib.metadata.version(peer.module)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


_NOISE: Final = ("Failed in", "During:", "File ", "- Resolution failure")


def one_line(error: BaseException) -> str:
    """Return what an error says that matters, short enough for a footnote."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # numba names the pipeline in its first line, and the reason below
    useful = [line for line in lines if not line.startswith(_NOISE)]
    text = f"{type(error).__name__}: {(useful or lines or [''])[0]}".removesuffix(": ")
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # another at each run
    text = re.sub(r"(,? defined)?( at)? (/[^\s/]+){2,}.*", "", text)  # and on each machine
    return text if len(text) <= REASON_LENGTH else f"{text[: REASON_LENGTH - 1]}…"


def difference(
    found: Any, expected: Any, tolerance: float = TOLERANCE, near: float = 0.0
) -> str | None:
    """Return how a peer's result differs from NumPy's, in words, or None.

    Parameters
    ----------
    found, expected
        The results: arrays, numbers, or tuples and lists of them.
    tolerance
        Units of relative precision by which numbers may differ.
    near
        The same, relative to the largest number of the result: what sums in another order make of what is nearly zero.
    """
    if isinstance(expected, tuple | list):
        if not isinstance(found, tuple | list) or len(found) != len(expected):
            return f"it gives {type(found).__name__}, NumPy {len(expected)} values"
        pairs = zip(found, expected, strict=True)
        return next(filter(None, (difference(a, b, tolerance, near) for a, b in pairs)), None)
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"it gives {found.dtype}{found.shape}, NumPy {expected.dtype}{expected.shape}"
    if np.issubdtype(expected.dtype, np.inexact):
        unit = float(np.finfo(expected.dtype).eps)
        finite = np.abs(expected[np.isfinite(expected)])
        largest = float(finite.max()) if finite.size else 0.0
        same = np.allclose(
            found,
            expected,
            rtol=tolerance * unit,
            atol=near * unit * largest,
            equal_nan=True,
        )
    else:
        same = np.array_equal(found, expected)
    return None if same else "it gives another value than NumPy"


def prepared(peer: Peer, calls: Sequence[Call]) -> list[Call] | Refusal:
    """Compile the functions of these calls with a peer, and check each result; or say why not."""
    if not peer.installed:
        return Refusal("not installed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            functions = {call.function: peer.compile(call.function) for call in calls}
            made = [replace(call, function=functions[call.function]) for call in calls]
            for _ in range(3):  # a peer may compile again when it sees another kind of argument
                for call, plain in zip(made, calls, strict=True):
                    problem = difference(call(), plain())
                    if problem is not None:
                        return Refusal(f"cannot: {problem}")
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        return Refusal(f"cannot: {one_line(error)}")
    return made
