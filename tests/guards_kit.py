"""What the tests of guards share: short ways to write sources and guards, and a check by both evaluators at once."""

from __future__ import annotations

import types

from bcjit.dims import Relation
from bcjit.guards import (
    Guard,
    GuardKind,
    Roots,
    Source,
    SourceKind,
    SymbolicRelation,
    compile_guards,
    first_failing,
)
from bcjit.meta import SourceLine

WHY = SourceLine("/home/user/model.py", 12, "step")


def plain(x):
    return x


def arg(index=0, name="x"):
    return Source(SourceKind.LOCAL, (index, name))


def step(kind, base, key=None):
    return Source(SourceKind[kind], key, base)


def guard(kind, source, expected=None):
    return Guard(GuardKind[kind], source, expected, WHY)


def roots(*values, func=plain, closure=None):
    return Roots(values, func, closure)


def first_failing_of_both(guards, where):
    """Return the index of the first failing guard, which the evaluator and the C tree must agree on.

    The tree is asked first and last: the evaluator makes the dicts of instances, which the tree must not need.
    """
    tree = compile_guards(guards)
    first = tree.check(where.values, where.func, where.closure)
    expected = first_failing(guards, where)
    again = tree.check(where.values, where.func, where.closure)
    assert first == again == expected, (first, again, expected, [str(one) for one in guards])
    return expected


def holds_for_both(one, where):
    return first_failing_of_both([one], where) == -1


def function_with(globals_, code=plain.__code__, closure=None):
    return types.FunctionType(code, globals_, None, None, closure)


def relation_between(op, limit, *symbols):
    """Return the guard that the product of the symbols compares so with the limit."""
    product = 1
    for symbol, _ in symbols:
        product = product * symbol
    return guard("RELATION", symbols[0][1], SymbolicRelation(Relation(op, product, limit), symbols))
