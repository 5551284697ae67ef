"""What ``python -m bcjit bench capture`` measures, for asv to record over commits."""

from __future__ import annotations

from bcjit.bench.capture import FIRST_CALLS, our_turn


class FirstCalls:
    """``track_first_call`` by case: processor time of one first call, in milliseconds."""

    params = (tuple(FIRST_CALLS),)
    param_names = ("case",)
    unit = "ms"

    def track_first_call(self, title: str) -> float:
        """Compile and call once."""
        return min(our_turn(FIRST_CALLS[title].call)["cpu_ms"] for _ in range(10))
