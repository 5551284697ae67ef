"""Kernels: what a backend makes one loop of, at sizes from ten elements to ten million; ``python -m bcjit bench kernels``.

``programs`` holds them, ``limits`` says what the machine's memory gives, ``figures`` measures them and makes the tables.
"""

from __future__ import annotations

from bcjit.bench.kernels.programs import DTYPES, KERNELS, SIZES, Case, Kernel

__all__ = ["DTYPES", "KERNELS", "SIZES", "Case", "Kernel"]
