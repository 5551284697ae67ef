"""The primitive level of graphs: what calls compute, by a closed set of primitives; it must not know how graphs are captured."""

from bcjit.primitives.bufferise import bufferise
from bcjit.primitives.kinds import PRIMITIVES, Primitive
from bcjit.primitives.lower import Lowered, lower
from bcjit.primitives.reference import ReferenceBackend
from bcjit.primitives.verify import problems, verify
from bcjit.primitives.versions import CannotLower

__all__ = [
    "PRIMITIVES",
    "CannotLower",
    "Lowered",
    "Primitive",
    "ReferenceBackend",
    "bufferise",
    "lower",
    "problems",
    "verify",
]
