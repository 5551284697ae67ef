"""Symbolic sizes against Python's own integers, and the promise of ShapeEnv: the facts are enough to get every answer again."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcjit import dims
from bcjit.dims import (
    Expr,
    Relation,
    ShapeEnv,
    ShapeMismatch,
    Symbol,
    Undecidable,
    maximum,
    minimum,
)

SYMBOLS = [Symbol("a"), Symbol("b"), Symbol("c", "loop")]
A, B, C = (symbol.expr for symbol in SYMBOLS)
OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
}

small = st.integers(-6, 6)
leaves = st.one_of(small, st.sampled_from(SYMBOLS))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from([*OPERATORS, "min", "max"]), inner, inner),
        st.tuples(st.just("neg"), inner),
    ),
    max_leaves=7,
)
bindings = st.fixed_dictionaries({symbol: st.integers(-9, 9) for symbol in SYMBOLS})


def as_dim(tree):
    match tree:
        case int() | Symbol():
            return tree + 0
        case ("neg", x):
            return -as_dim(x)
        case ("min", x, y):
            return minimum(as_dim(x), as_dim(y))
        case ("max", x, y):
            return maximum(as_dim(x), as_dim(y))
        case (operation, x, y):
            return OPERATORS[operation](as_dim(x), as_dim(y))


def as_int(tree, values):
    match tree:
        case int():
            return tree
        case Symbol():
            return values[tree]
        case ("neg", x):
            return -as_int(x, values)
        case ("min", x, y):
            return min(as_int(x, values), as_int(y, values))
        case ("max", x, y):
            return max(as_int(x, values), as_int(y, values))
        case (operation, x, y):
            return OPERATORS[operation](as_int(x, values), as_int(y, values))


def dim_or_none(tree):
    try:
        return as_dim(tree)
    except ZeroDivisionError:
        return None


def evaluated(dim, values):
    try:
        return dims.evaluate(dim, values)
    except ZeroDivisionError:
        return None


@settings(max_examples=400)
@given(tree=trees, values=bindings)
def test_algebra_agrees_with_python_integers(tree, values):
    dim = dim_or_none(tree)
    if dim is None:
        return  # a constant zero divisor raises as in Python
    try:
        expected = as_int(tree, values)
    except ZeroDivisionError:
        return  # 0 * (a // b) is 0: where Python raises, the dim may have dropped the division
    assert evaluated(dim, values) == expected


@settings(max_examples=300)
@given(tree=trees, values=bindings)
def test_rendered_source_evaluates_to_the_same_value(tree, values):
    dim = dim_or_none(tree)
    if dim is None or evaluated(dim, values) is None:
        return
    names = {symbol: f"v[{place}]" for place, symbol in enumerate(SYMBOLS)}
    code = dims.source(dim, names)
    assert eval(code, {"v": [values[symbol] for symbol in SYMBOLS]}) == evaluated(dim, values)
    assert eval(dims.text(dim), {symbol.name: values[symbol] for symbol in SYMBOLS}) == evaluated(
        dim, values
    )


@settings(max_examples=300)
@given(tree=trees)
def test_canonical_form_is_stable(tree):
    dim = dim_or_none(tree)
    if dim is None:
        return
    assert dims.substitute(dim, {}) == dim
    assert dims.substitute(dim, {symbol: symbol for symbol in SYMBOLS}) == dim
    assert dim + 0 == dim == dim * 1
    assert dim - dim == 0
    assert type(dim) is int or (dim.terms and all(coefficient for _, coefficient in dim.terms))
    assert hash(dims.substitute(dim, {})) == hash(dim)
    assert (type(dim) is int) == (not dims.symbols(dim))


@settings(max_examples=200)
@given(x=trees, y=trees, z=trees)
def test_ring_laws_give_structurally_equal_forms(x, y, z):
    x, y, z = map(dim_or_none, (x, y, z))
    if x is None or y is None or z is None:
        return
    assert x + y == y + x
    assert x * y == y * x
    assert (x + y) + z == x + (y + z)
    assert x * (y + z) == x * y + x * z
    assert minimum(x, y) == minimum(y, x)
    assert maximum(x, minimum(x, x)) == x
    assert minimum(x, y, z) == minimum(x, minimum(y, z))


@settings(max_examples=200)
@given(tree=trees, inner=trees, values=bindings)
def test_substitution_is_evaluation_of_the_replacement(tree, inner, values):
    dim, replacement = dim_or_none(tree), dim_or_none(inner)
    if dim is None or replacement is None:
        return
    value = evaluated(replacement, values)
    if value is None:
        return
    try:
        replaced = dims.substitute(dim, {SYMBOLS[0]: replacement})
    except ZeroDivisionError:
        return
    direct = evaluated(dim, {**values, SYMBOLS[0]: value})
    if direct is not None:
        assert evaluated(replaced, values) == direct


def test_methods_are_the_functions():
    dim = A * 2 + B
    values = {SYMBOLS[0]: 3, SYMBOLS[1]: 4}
    assert dim.evaluate(values) == 10
    assert dim.symbols() == frozenset(SYMBOLS[:2])
    assert dim.substitute({SYMBOLS[0]: 5}) == B + 10
    assert dim.source({SYMBOLS[0]: "x", SYMBOLS[1]: "y"}) == "2*x + y"
    assert dims.product([A, 2, B]) == 2 * A * B
    assert dims.product([]) == 1
    assert dims.negative(A) == -A
    assert +A == A


def test_texts():
    assert str(A * A * 2 - B + 1) == "2*a**2 - b + 1"
    assert str(-A) == "-a"
    assert str(3 * (A // 2)) == "3*(a // 2)"
    assert str((A + 1) // 2) == "(a + 1) // 2"
    assert str(-(A // B)) == "-(a // b)"
    assert str(A // B) == "a // b"
    assert str((A // B) * (A // B)) == "(a // b)**2"
    assert str(minimum(A, B + 1, 3)) == "min(a, b + 1, 3)"
    assert str(A % (B * 2)) == "a % (2*b)"
    assert repr(maximum(A, 0) // B) == "max(a, 0) // b"
    assert repr(SYMBOLS[0]) == "a"
    assert str(A // -B) == "a // (-b)"
    assert str((A * A) // B) == "(a**2) // b"


def test_divisions_by_constants_have_one_form():
    assert (3 * A) // 2 == A + A // 2
    assert (6 * A) // 4 == A + A // 2
    assert (2 * A + 4) // 2 == A + 2
    assert (4 * A + 2) % 4 == 2
    assert (2 * A) % 4 == 2 * (A % 2)
    assert (A + 6) % 3 == A % 3
    assert (5 * A) % 1 == 0
    assert A // -1 == -A
    assert (2 * A + 3) // 2 == A + 1
    with pytest.raises(ZeroDivisionError):
        A // 0
    with pytest.raises(ZeroDivisionError):
        A % 0


def test_extremes_drop_what_a_constant_difference_decides():
    assert minimum(A, A + 1, A - 1) == A - 1
    assert maximum(A, 3, 4) == maximum(4, A)
    assert minimum(minimum(A, B), 2 * minimum(A, B)) != minimum(A, B)
    with pytest.raises(ValueError, match="minimum of no dims"):
        minimum()


def test_operators_take_numpy_integers_and_refuse_the_rest():
    assert A + np.int64(2) == np.int64(2) + A == A + 2
    assert 7 % A == dims.modulo(7, A)
    assert 7 // A == dims.floor_divide(7, A)
    assert 7 - A == -A + 7
    assert SYMBOLS[0] + 1 == A + 1
    with pytest.raises(TypeError):
        A + 1.5
    with pytest.raises(TypeError):
        "x" * A


def test_the_truth_of_a_dim_is_refused():
    with pytest.raises(TypeError, match=r"ShapeEnv\.decide"):
        bool(A)


def test_symbols_of_different_kinds_differ():
    assert Symbol("n") != Symbol("n", "loop")
    assert Symbol("n").expr - Symbol("n", "loop").expr != 0
    assert Symbol("n") == Symbol("n", "input")


def test_is_dim_takes_exact_ints_and_expressions():
    assert dims.is_dim(3)
    assert dims.is_dim(A)
    assert not dims.is_dim(True)
    assert not dims.is_dim(SYMBOLS[0])


# Relations

relations = st.builds(
    lambda op, x, y: (op, x, y), st.sampled_from(["==", "!=", "<", "<="]), trees, trees
)
COMPARE = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
}


@settings(max_examples=400)
@given(parts=relations, values=bindings)
def test_canonical_relations_have_the_truth_of_what_was_written(parts, values):
    op, left, right = parts
    left, right = dim_or_none(left), dim_or_none(right)
    if left is None or right is None:
        return
    x, y = evaluated(left, values), evaluated(right, values)
    if x is None or y is None:
        return
    relation = Relation(op, left, right)
    assert relation.holds(values) is COMPARE[op](x, y)
    assert relation.negated().holds(values) is not relation.holds(values)
    assert relation.negated().negated() == relation
    assert Relation(relation.op, relation.lhs, relation.rhs) == relation
    assert hash(Relation(relation.op, relation.lhs, relation.rhs)) == hash(relation)
    assert relation.constant() in (None, relation.holds(values))
    names = {symbol: symbol.name for symbol in SYMBOLS}
    assert eval(relation.source(names), {s.name: v for s, v in values.items()}) is relation.holds(
        values
    )


def test_relations_of_one_meaning_are_equal():
    assert Relation("<", A, 10) == Relation("<=", A, 9) == Relation("<=", 2 * A, 19)
    assert Relation("==", 2 * A, 2 * B) == Relation("==", B, A)
    assert Relation("==", 2 * A, 3) == Relation("==", 0, 1)
    assert Relation("!=", 2 * A, 3) == Relation("==", 0, 0)
    assert Relation("<", 0, A) == Relation("<=", 1, A)
    assert str(Relation("<", 0, A)) == "1 <= a"
    assert repr(Relation("==", A, B + 2)) == "a == b + 2"
    assert Relation("==", A, B).symbols() == frozenset(SYMBOLS[:2])
    assert Relation("==", SYMBOLS[0], 2).substitute({SYMBOLS[0]: 2}).constant() is True


def test_an_unknown_comparison_is_refused():
    with pytest.raises(ValueError, match="op: one of"):
        Relation(">", A, B)


# ShapeEnv

NAMES = ["s0", "s1", "s2"]
sizes = st.integers(0, 5)
env_leaves = st.one_of(st.integers(-2, 4), st.sampled_from(NAMES))
env_trees = st.recursive(
    env_leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "+", "-", "min", "max"]), inner, inner),
        st.tuples(
            st.sampled_from(["//", "%"]),
            inner,
            st.one_of(st.integers(1, 4), st.sampled_from(NAMES)),
        ),
    ),
    max_leaves=4,
)
dim_lists = st.lists(
    st.one_of(st.sampled_from(NAMES), st.sampled_from([1, 1, 2, 3]), env_trees),
    min_size=1,
    max_size=3,
)
steps = st.one_of(
    st.tuples(st.just("decide"), st.sampled_from(["==", "!=", "<", "<="]), env_trees, env_trees),
    st.tuples(st.just("decide"), st.sampled_from(["==", "!=", "<", "<="]), env_leaves, env_leaves),
    st.tuples(st.just("broadcast"), dim_lists, dim_lists),
    st.tuples(st.just("unify"), env_leaves, env_trees),
    st.tuples(st.just("simplify"), env_trees),
)


def named(tree, by_name):
    if isinstance(tree, str):
        return by_name[tree] if tree in by_name else tree
    if isinstance(tree, tuple):
        return (tree[0], *(named(part, by_name) for part in tree[1:]))
    return tree


def perform(env, step, by_name):
    """Take one step; return a function that checks its answer for other values, None if there was none."""
    match step:
        case ("decide", op, x, y):
            x, y = as_dim(named(x, by_name)), as_dim(named(y, by_name))
            relation = Relation(op, x, y)
            known = env.known(relation)
            answer = env.decide(relation)
            assert known in (None, answer)
            assert env.known(relation) is answer, "an answer is known afterwards"
            return lambda values: (
                COMPARE[op](dims.evaluate(x, values), dims.evaluate(y, values)) is answer
            )
        case ("broadcast", x, y):
            x = tuple(as_dim(named(part, by_name)) for part in x)
            y = tuple(as_dim(named(part, by_name)) for part in y)
            result = env.broadcast(x, y)
            return lambda values: broadcast_agrees(x, y, result, values)
        case ("unify", x, y):
            x, y = as_dim(named(x, by_name)), as_dim(named(y, by_name))
            result = env.unify(x, y)
            return lambda values: (
                dims.evaluate(x, values)
                == dims.evaluate(y, values)
                == dims.evaluate(result, values)
            )
        case ("simplify", x):
            x = as_dim(named(x, by_name))
            result = env.simplify(x)
            return lambda values: dims.evaluate(x, values) == dims.evaluate(result, values)


def broadcast_agrees(x, y, result, values):
    x, y, result = ([dims.evaluate(part, values) for part in shape] for shape in (x, y, result))
    if min(*x, *y) < 0:
        return True  # no shape
    return np.broadcast_shapes(tuple(x), tuple(y)) == tuple(result)


@settings(max_examples=300)
@given(hints=st.tuples(sizes, sizes, sizes), script=st.lists(steps, min_size=1, max_size=7))
def test_values_that_satisfy_the_facts_get_the_same_answers(hints, script):
    env = ShapeEnv()
    by_name = {name: env.symbol(name, hint=hint) for name, hint in zip(NAMES, hints, strict=True)}
    symbols = list(by_name.values())
    checks = []
    for step in script:
        try:
            checks.append(perform(env, step, by_name))
        except (ShapeMismatch, Undecidable, ZeroDivisionError):
            continue
    now = dict(zip(symbols, hints, strict=True))
    assert all(fact.holds(now) for fact in env.facts)
    for values in itertools.product(range(6), repeat=3):
        other = dict(zip(symbols, values, strict=True))
        try:
            satisfied = all(fact.holds(other) for fact in env.facts)
        except ZeroDivisionError:
            continue
        if not satisfied:
            continue
        for check in checks:
            try:
                assert check(other), (env.facts, other)
            except ZeroDivisionError:
                continue


@settings(max_examples=200)
@given(
    hints=st.tuples(sizes, sizes, sizes),
    before=st.lists(steps, max_size=4),
    after=st.lists(steps, max_size=4),
    probes=st.lists(
        st.tuples(st.sampled_from(["==", "!=", "<="]), env_trees, env_trees), max_size=4
    ),
)
def test_truncate_restores_everything(hints, before, after, probes):
    def grow(env, script):
        for step in script:
            try:
                perform(env, step, by_name)
            except (ShapeMismatch, Undecidable, ZeroDivisionError):
                continue

    env, twin = ShapeEnv(), ShapeEnv()
    by_name = {name: env.symbol(name, hint=hint) for name, hint in zip(NAMES, hints, strict=True)}
    for name, hint in zip(NAMES, hints, strict=True):
        twin.symbol(name, hint=hint)
    grow(env, before)
    grow(twin, before)
    mark = env.mark()
    grow(env, after)
    env.symbol("later", hint=3)
    env.decide(Relation("==", Symbol("later"), by_name["s0"]))
    env.truncate(mark)
    assert env.facts == twin.facts
    assert env.symbols == twin.symbols
    assert env.hint(Symbol("later")) is None
    for op, x, y in probes:
        try:
            relation = Relation(op, as_dim(named(x, by_name)), as_dim(named(y, by_name)))
        except ZeroDivisionError:
            continue
        assert env.known(relation) is twin.known(relation)
        assert env.simplify(relation.lhs) == twin.simplify(relation.lhs)


def make_env(*hints):
    env = ShapeEnv()
    return env, [env.symbol(f"s{place}", hint=hint).expr for place, hint in enumerate(hints)]


def test_structure_and_sign_need_no_fact():
    env, (x, y) = make_env(3, 4)
    assert env.decide(Relation("==", x + y, y + x))
    assert env.decide(Relation("<=", 0, x * y))
    assert env.decide(Relation("<", -1, x))
    assert not env.decide(Relation("==", x + 1, 0))
    assert not env.decide(Relation("<", x % 3, 0))
    assert env.decide(Relation("<=", x % 3, 2))
    assert env.decide(Relation("<=", 0, x // 2))
    assert env.decide(Relation("<=", minimum(x, 2), 2))
    assert env.decide(Relation("<=", 2, maximum(x, 2)))
    assert env.facts == ()


def test_a_symbol_that_may_be_negative_has_no_sign():
    env = ShapeEnv()
    n = env.symbol("n", hint=-3, nonnegative=False)
    assert env.decide(Relation("<", n, 0))
    assert env.facts == (Relation("<=", n, -1),)


def test_facts_imply_later_answers():
    env, (x, y, z) = make_env(5, 5, 5)
    assert env.decide(Relation("==", x, y))
    assert env.decide(Relation("==", y, z))
    assert env.decide(Relation("!=", x, 1))
    facts = env.facts
    assert env.decide(Relation("==", x, z))
    assert env.decide(Relation("!=", z, 1))
    assert env.simplify(z + y) == 2 * x
    assert env.facts == facts


def test_holes_at_an_end_move_the_bound():
    env, (x,) = make_env(5)
    assert env.decide(Relation("!=", x, 0))
    assert env.decide(Relation("!=", x, 1))
    assert env.known(Relation("<=", 2, x)) is True
    assert env.decide(Relation("<=", x, 7))
    assert env.decide(Relation("!=", x, 7))
    assert env.known(Relation("<=", x, 6)) is True
    assert env.known(Relation("<=", x, 5)) is None


def test_bounds_go_through_equalities():
    env, (x, y) = make_env(3, 6)
    assert env.decide(Relation("==", y, 2 * x))
    assert env.decide(Relation("<=", 2, x))
    assert env.known(Relation("<", y, 4)) is False
    assert env.known(Relation("==", y % 2, 0)) is True
    assert env.decide(Relation("<=", x, 3))
    assert env.decide(Relation("<=", 3, x))
    assert env.simplify(x) == 3
    assert env.simplify(y) == 6


def test_what_a_solved_symbol_equals_is_not_negative():
    env, (x, y) = make_env(5, 2)
    assert env.decide(Relation("==", y, x - 3))
    assert env.known(Relation("<=", 3, x)) is True


def test_symbols_without_hint_are_undecidable_unless_facts_know():
    env = ShapeEnv()
    i, n = env.symbol("i", "loop"), env.symbol("n", "data")
    assert env.decide(Relation("<=", 0, i))
    assert env.hint(n) is None
    with pytest.raises(Undecidable, match="i == n") as raised:
        env.decide(Relation("==", i, n))
    assert raised.value.relation == Relation("==", i, n)
    with pytest.raises(Undecidable):
        env.broadcast((i.expr,), (n.expr,))
    assert env.broadcast((i.expr,), (1,)) == (i.expr,)
    assert env.broadcast((i.expr, 2), (i.expr, 1)) == (i.expr, 2)
    assert env.facts == ()


def test_division_by_a_zero_size_is_undecidable():
    env, (x, y) = make_env(3, 0)
    assert env.hint(x // y) is None
    with pytest.raises(Undecidable):
        env.decide(Relation("==", x // y, 2))


def test_equal_sizes_broadcast_with_one_fact():
    env, (x, y) = make_env(4, 4)
    assert env.broadcast((x, 3), (y, 1)) == (x, 3)
    assert env.facts == (Relation("==", x, y),)


def test_size_one_broadcasts_with_a_fact():
    env, (x, y) = make_env(1, 4)
    assert env.broadcast((2, x), (y,)) == (2, y)
    assert env.facts == (Relation("==", x, 1),)
    assert env.broadcast((y,), (x,)) == (y,)
    assert len(env.facts) == 1


def test_a_known_one_on_the_right_broadcasts_with_facts():
    env, (x, y) = make_env(4, 1)
    assert env.broadcast((x,), (y,)) == (x,)
    assert env.facts == (Relation("!=", x, 1), Relation("==", y, 1))


def test_sizes_that_differ_do_not_broadcast():
    env, (x, y) = make_env(4, 5)
    with pytest.raises(ShapeMismatch, match="s0"):
        env.broadcast((x, 2), (y, 2))
    with pytest.raises(ShapeMismatch):
        env.broadcast((3,), (2,))
    with pytest.raises(ShapeMismatch) as raised:
        env.unify(x, 7)
    assert (raised.value.left, raised.value.right) == (x, 7)


def test_unify_prefers_the_number():
    env, (x, y) = make_env(4, 4)
    assert env.unify(x, 4) == 4
    assert env.unify(y, x) == 4


def test_bad_symbols_and_marks_are_refused():
    env, _ = make_env(1)
    with pytest.raises(ValueError, match="is taken"):
        env.symbol("s0")
    with pytest.raises(ValueError, match="only an input symbol"):
        env.symbol("i", "loop", hint=3)
    with pytest.raises(ValueError, match="not negative"):
        env.symbol("n", hint=-1)
    with pytest.raises(ValueError, match="newer"):
        ShapeEnv().truncate(env.mark())


def test_equalities_that_cannot_be_solved_are_still_known():
    env, (x, y) = make_env(3, 3)
    assert env.decide(Relation("==", x * y, 9))
    assert env.known(Relation("==", x * y, 9)) is True
    assert env.known(Relation("<=", x * y, 8)) is False
    assert env.decide(Relation("==", 2 * x, 3 * (y // 2) + 3))
    assert env.known(Relation("!=", 2 * x, 3 * (y // 2) + 3)) is False
    assert isinstance(env.simplify(x), Expr)


def test_intervals_of_functions():
    env, (x, y) = make_env(6, 2)
    assert env.decide(Relation("<=", 1, y))
    assert env.decide(Relation("<=", y, 4))
    assert env.decide(Relation("<=", x, 8))
    facts = env.facts
    assert env.decide(Relation("<=", x % y, 3))
    assert env.decide(Relation("<=", x // 3, 2))
    assert env.decide(Relation("<=", 0, x // y))
    assert env.decide(Relation("<=", x // y, 8))
    assert env.decide(Relation("<=", maximum(x, y), 8))
    assert env.decide(Relation("<=", 0, minimum(x, y)))
    assert env.decide(Relation("<=", x * y, 32))
    assert env.decide(Relation("<=", x * x * y, 256))
    assert env.facts == facts
    assert env.known(Relation("<=", 0, (x - y) // y)) is None
    assert env.known(Relation("<=", 0, x % (y - 2))) is None
    assert env.known(Relation("<=", minimum(x - y, 3) * x, 5)) is None


def test_a_divisor_known_to_be_zero_leaves_the_dim_as_it_is():
    env, (x, y) = make_env(0, 3)
    assert env.decide(Relation("==", x, 0))
    assert env.simplify(y // x) == y // x
    assert env.known(Relation("==", y // x, 2)) is None
    z = env.symbol("z", hint=4).expr
    assert env.known(Relation("<=", 0, z)) is True


def test_equalities_are_substituted_into_earlier_ones():
    env = ShapeEnv()
    x, y, z = (env.symbol(name, hint=hint).expr for name, hint in (("x", 0), ("y", 2), ("z", 2)))
    assert env.decide(Relation("==", z, y + 5 // (x + 1) - 5))
    assert env.decide(Relation("==", x, 0))
    assert env.simplify(z) == y


def test_symbols_alone_are_truncated():
    env, (x,) = make_env(2)
    mark = env.mark()
    env.symbol("later")
    env.truncate(mark)
    assert env.symbols == tuple(x.symbols())
