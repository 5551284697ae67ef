"""``python -m bcjit bench``: what calls and first calls cost here, beside what was promised; ``import bcjit`` loads none of it.

``measure`` (minima in turns), ``programs`` (the functions measured), ``dispatch`` and ``capture`` (the tables), ``suite`` (whole programs and their tables), ``peers`` (the same functions
through other compilers), ``tables`` (as text and JSON), ``command`` (all of a run).
"""

from bcjit.bench.command import SUBJECTS, Asked, run

__all__ = ["SUBJECTS", "Asked", "run"]
