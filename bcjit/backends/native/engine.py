"""From LLVM text to the address of machine code; it knows no program.

The code of a kernel refers to nothing outside itself: what it calls it is handed. So an object file can be kept and loaded again.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from bcjit.apart import apart
from bcjit.lazy import Later

# An extra, without types of its own: read when the first kernel is compiled.
llvmlite: Any = Later("llvmlite")
llvm: Any = Later("llvmlite.binding")

__all__ = ["Loaded", "Machine", "in_turn", "machine"]


class Loaded:
    """Machine code in memory, as long as this object lives, and until the next kernel is made."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, address: int, library: object) -> None:
        self.address = address
        # Where this object dies, no Python code may run: a signal's handler could raise in the middle of it.
        _libraries[weakref.ref(self, _dead.append)] = library


# What llvmlite holds of each, and those that are to be freed; it is freed where LLVM is asked, see `in_turn`.
_libraries: Final[dict[weakref.ref[Loaded], object]] = {}
_dead: Final[list[weakref.ref[Loaded]]] = []


class Machine:
    """The target of this process; asked by one thread at a time, see `in_turn`.

    Attributes
    ----------
    vector_bytes
        Of the vectors that code is made of.
    fuses
        Whether the processor multiplies and adds at once.
    halves
        Whether this is an x86 processor that converts float16.
    rounds
        Whether the processor rounds floats to whole numbers: else LLVM would call functions for that.
    long_floats
        Whether this is an x86 processor that converts vectors of int64 from and to floats.
    name
        The processor and its features: what object files depend on.
    """

    def __init__(self) -> None:
        for ready in (llvm.initialize_native_target, llvm.initialize_native_asmprinter):
            ready()
        features = llvm.get_host_cpu_features()
        target = llvm.Target.from_default_triple()
        processor = llvm.get_host_cpu_name()
        self.target: Any = target.create_target_machine(
            cpu=processor, features=features.flatten(), opt=2, jit=True
        )
        self.layout = str(self.target.target_data)
        self.name = f"{target.triple} {processor} {features.flatten()}"
        self.version = (
            f"llvmlite {llvmlite.__version__} LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
        )
        self.vector_bytes = _vector_bytes(features)
        x86 = target.triple.startswith(("x86_64", "i686"))
        self.halves = x86 and bool(features.get("f16c"))
        self.fuses = not x86 or bool(features.get("fma"))
        self.rounds = not x86 or bool(features.get("sse4.1"))
        self.long_floats = x86 and bool(features.get("avx512dq"))
        self.jit: Any = llvm.create_lljit_compiler(self.target)
        self._names = itertools.count()

    def compile(self, text: str) -> bytes:
        """Return the object file of a module's text."""
        with llvm.parse_assembly(text) as module:  # freed here, also where it fails
            module.triple = self.target.triple
            module.data_layout = self.layout
            # No passes: the vectors are there, and algebra on floats forgets the signs of NaN.
            return bytes(self.target.emit_object(module))

    def load(self, image: bytes) -> Loaded:
        """Return the code of an object file, ready to be called."""
        name = f"kernel{next(self._names)}"
        library = (
            llvm.JITLibraryBuilder()
            .add_object_img(image)
            .export_symbol("kernel")
            .link(self.jit, name)
        )
        return Loaded(library["kernel"], library)


_X86_VECTORS: Final = (("avx512f", 64), ("avx2", 32), ("avx", 32))


def _vector_bytes(features: Any) -> int:
    return next((size for feature, size in _X86_VECTORS if features.get(feature)), 16)


_machines: Final[list[Machine]] = []


def machine() -> Machine:
    """Return the target of this process; ``ImportError`` where llvmlite is missing."""
    return _machines[0] if _machines else in_turn(_machine)


def _machine() -> Machine:
    # Here, and not where it is waited for: who is interrupted there must not have another one made.
    if not _machines:
        _machines.append(Machine())
    return _machines[0]


_Result = TypeVar("_Result")
# One after the other: one that nobody waits for any more may still import llvmlite. By process: a child has no thread that would give it back.
_turns: Final[dict[int, threading.RLock]] = {}


def _turn() -> threading.RLock:
    return _turns.setdefault(os.getpid(), threading.RLock())


def _free() -> None:
    while _dead:
        del _libraries[_dead.pop()]


def in_turn(work: Callable[[], _Result]) -> _Result:
    """Return what a function gives that asks LLVM, called when no other thread does and where no signal's handler comes in the middle of it.

    What a handler raises in the middle of llvmlite's own Python code has it free the same memory twice, or never give back its lock.
    """

    def asked() -> _Result:
        with _turn():
            _free()
            return work()

    return apart(asked)
