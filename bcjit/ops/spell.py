"""Short ways to write spellings: a function with its ndarray and scalar methods; adds nothing to the table."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import ModuleType

import numpy as np

from bcjit.ops.opdef import Sampler, Spelling

__all__ = ["attribute", "functions", "methods"]

Expand = Callable[..., object]


def functions(
    expand: Expand, sampler: Sampler, *names: str, module: ModuleType = np
) -> list[Spelling]:
    """Return spellings for functions of a module; a name this NumPy lacks, or an alias, gives none."""
    found: dict[int, Spelling] = {}
    for name in names:
        target = vars(module).get(name)  # not its __getattr__, which imports and warns
        if target is not None:
            found.setdefault(id(target), Spelling(target, expand, sampler))
    return list(found.values())


def methods(
    expand: Expand, sampler: Sampler, name: str, *, of_scalars: bool = True
) -> list[Spelling]:
    """Return the spellings as method of ndarray and of NumPy scalars (not where those always raise)."""
    found = []
    for owner in (np.ndarray, np.generic) if of_scalars else (np.ndarray,):
        target = getattr(owner, name, None)
        if target is not None:
            scalar = owner is np.generic
            found.append(Spelling(target, expand, sampler, method=name, of_scalar=scalar))
    return found


def attribute(expand: Expand, sampler: Sampler, name: str) -> list[Spelling]:
    """Return the spellings as attribute that is read from arrays and NumPy scalars, where this NumPy has it."""
    return [
        Spelling(
            attrgetter(name), expand, sampler, method=name, of_scalar=scalar, is_attribute=True
        )
        for scalar, owner in ((False, np.ndarray), (True, np.generic))
        if hasattr(owner, name)
    ]
