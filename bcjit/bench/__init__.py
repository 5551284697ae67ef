"""``python -m bcjit bench``: what calls and first calls cost here, beside what was promised; ``import bcjit`` loads none of it.

``measure`` (minima in turns), ``programs`` (the functions measured), ``dispatch`` and ``capture`` (the tables), ``suite`` (whole programs and their tables), ``kernels`` (single loops over arrays), ``through`` (backends by name, with options),
``peers`` (the same functions through other compilers; ``numexpr_text`` is how one of them gets them), ``tables`` (as text, JSON and Markdown), ``command`` (all of a run).
"""

from bcjit.bench.command import SUBJECTS, Asked, run

__all__ = ["SUBJECTS", "Asked", "run"]
