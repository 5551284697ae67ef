"""The kernels of ``python -m bcjit bench kernels``, for asv to record over commits."""

from __future__ import annotations

from bcjit.bench.kernels import DTYPES, KERNELS, Case
from bcjit.bench.suite.measuring import Arguments, warm
from bcjit.bench.through import named


class Kernels:
    """``time_call`` by kernel, dtype, elements and how it runs."""

    params = (tuple(KERNELS), DTYPES, ("1e3", "1e5"), ("plain", "eager", "auto"))
    param_names = ("kernel", "dtype", "elements", "run")

    def setup(self, name: str, dtype: str, size: str, run: str) -> None:
        """Compile, capture and make the arguments, outside what is timed."""
        arguments = Arguments(Case(KERNELS[name], dtype), size)
        plain = KERNELS[name].function
        self.function = plain if run == "plain" else warm(plain, named(run), arguments)
        self.args = arguments.one()

    def time_call(self, *_params: str) -> None:
        """One call."""
        self.function(*self.args)
