"""The programs of ``python -m bcjit bench suite``, for asv to record over commits."""

from __future__ import annotations

import functools
from typing import Any

from bcjit.bench.suite import PROGRAMS
from bcjit.bench.suite.measuring import Arguments, warm
from bcjit.bench.through import named

SIZE = "medium"


@functools.cache
def made(name: str, run: str) -> tuple[Any, Arguments]:
    """Return a program, plain or compiled and captured, and its arguments."""
    program = PROGRAMS[name]
    arguments = Arguments(program, SIZE)
    function = program.function
    return (function if run == "plain" else warm(function, named(run), arguments)), arguments


class Programs:
    """``time_call`` by program and by how it runs."""

    params = (tuple(PROGRAMS), ("plain", "eager", "auto"))
    param_names = ("program", "run")
    number = 1  # asv sets up before each sample: what a program writes into is new in each call

    def setup(self, name: str, run: str) -> None:
        """Compile, capture and make the arguments, outside what is timed."""
        self.function, arguments = made(name, run)
        self.args = arguments.one()

    def time_call(self, _name: str, _run: str) -> None:
        """One call."""
        self.function(*self.args)
