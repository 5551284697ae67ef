"""The rows of ``np.random``: functions of the module, methods of `Generator` and `RandomState`, constructors.

A row is a name and a rule; parameters and defaults are those that NumPy's own signatures say. Importing NumPy does not import
``numpy.random``, so neither does bcjit: `table.lookup` reads this module once a program has done so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Final

import numpy as np

from bcjit.ops import random_rules as rules
from bcjit.ops.opdef import Spelling
from bcjit.ops.random_rules import Constructor, Draw, Rule
from bcjit.ops.samples import Samplers
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("random")
table = Rows()

_FLOATS: Final = (
    "beta", "chisquare", "exponential", "f", "gamma", "gumbel", "laplace", "logistic", "lognormal",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "power", "rand", "randn", "random",
    "random_sample", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma",
    "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull",
)  # fmt: skip
_COUNTS: Final = (
    "binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "tomaxint",
    "zipf",
)  # fmt: skip
_OTHERS: Final[Mapping[str, Rule]] = {
    "choice": rules.choice,
    "dirichlet": rules.dirichlet,
    "integers": rules.integers,
    "multinomial": rules.multinomial,
    "multivariate_hypergeometric": rules.hypergeometric_vectors,
    "permutation": rules.permutation,
    "permuted": rules.permuted,
    "randint": rules.integers,
    "seed": rules.seed,
    "shuffle": rules.shuffle,
}
# Of Generator only: they have dtype and out.
_TYPED: Final = ("random", "standard_exponential", "standard_gamma", "standard_normal")

_SEED_NAMES: Final[Mapping[str, str]] = {"Generator": "bit_generator", "SeedSequence": "entropy"}


def _define_all() -> None:
    random = np.random
    rows: dict[str, Rule] = {
        **dict.fromkeys(_FLOATS, rules.floats),
        **dict.fromkeys(_COUNTS, rules.counts),
        **_OTHERS,
    }
    for name, rule in rows.items():
        spellings = []
        for owner in (random.RandomState, random.Generator):
            method = vars(owner).get(name)
            if method is not None and _is_numpys(owner):
                typed = owner.__name__ == "Generator" and name in _TYPED
                spellings.append(_spelling(method, rules.typed_floats if typed else rule, owner))
        names = ("random_sample", "ranf", "sample") if name == "random_sample" else (name,)
        functions = filter(
            _is_numpys, (vars(random)[alias] for alias in names if alias in vars(random))
        )
        spellings += [_spelling(function, rule, None) for function in functions]
        table.define(f"random.{name}", spellings)
    for name in ("SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "RandomState"):
        _define_constructor(name, vars(random)[name])
    _define_constructor("Generator", random.Generator)
    _define_constructor("default_rng", random.Generator)


def _is_numpys(target: object) -> bool:
    """Whether what a name of the module means is NumPy's: by now the program may have put something else there."""
    if isinstance(target, type):
        return bool(target.__flags__ & _IMMUTABLE) and target.__module__.startswith("numpy.random.")
    if type(target) is MethodType:
        return vars(np.random.mtrand.RandomState).get(target.__name__) is target.__func__
    own = type(target).__name__ == "cython_function_or_method"
    return own and str(target.__module__).startswith("numpy.random")


_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def _spelling(target: Callable[..., Any], rule: Rule, owner: type | None) -> Spelling:
    name = f"{'module' if owner is None else owner.__name__}.{target.__name__}"
    return Spelling(target, Draw(target, rule, owner), getattr(example, name))


def _define_constructor(name: str, made: type) -> None:
    target = vars(np.random)[name]
    if not _is_numpys(target):
        return
    expand = Constructor(target, made, _SEED_NAMES.get(name, "seed"))
    spelling = Spelling(target, expand, getattr(example, f"new.{name}"))
    table.define(f"random.{name}", [spelling])


_define_all()
