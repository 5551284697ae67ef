"""Small arguments for the tests of each op, in every dtype; nothing here runs outside tests.

A sampler is ``samples(dtype) -> Iterable[Sample]``. Arguments NumPy rejects are samples too: the table must say that it
will, or may, raise. Op modules name samplers of a module here by `Samplers`; the module is imported when one of them is called, so
that importing bcjit does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, Sampler

__all__ = ["Samplers"]


class Samplers:
    """The samplers of a module of this package, as attributes.

    Parameters
    ----------
    module
        Its name; a mistake in it, or in that of a sampler, shows when the op is tested.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Sampler:
        def sampler(dtype: np.dtype[Any]) -> Iterable[Sample]:
            module = import_module(f"{__name__}.{self._module}")
            found: Sampler = getattr(module, name)
            return found(dtype)

        return sampler
