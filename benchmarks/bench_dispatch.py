"""What ``python -m bcjit bench dispatch`` measures, for asv to record over commits."""

from __future__ import annotations

from bcjit.bench.dispatch import CALLS, compiled_calls


class WholeCalls:
    """``time_call`` by case and by how it runs."""

    params = (tuple(CALLS), ("plain", "eager"))
    param_names = ("case", "run")

    def setup(self, title: str, run: str) -> None:
        """Compile and capture, outside what is timed."""
        case = CALLS[title]
        calls = case.calls if run == "plain" else compiled_calls(case, run)
        self.calls = [(call.function, call.args) for call in calls]

    def time_call(self, _title: str, _run: str) -> None:
        """The calls of the case, one each."""
        for function, args in self.calls:
            function(*args)
