"""What `decode` gives: the same virtual instructions on every version, in groups with the native stack layout."""

import gc
import sys
import textwrap
import types
import weakref

import pytest

from bcjit.bytecode import Op, Region, decode, dialect
from bcjit.bytecode.assembler import NativeInstruction, assemble, parse
from bcjit.bytecode.dialect import UnsupportedPython, current
from bcjit.bytecode.instruction import FOR_ITERS, JUMPS

LAYOUT = {
    Op.PUSH_NULL,
    Op.SWAP,
    Op.NOP,
    Op.END_FOR,
}  # these differ: where the NULL of a call is, fillers

ITERATOR = 1 if current().renames["FOR_ITER"][0] is Op.FOR_ITER else 2  # slots
SAME = {Op.FOR_ITER_PAIR: Op.FOR_ITER}  # and how many slots an iterator takes


def made(source, name="f"):
    namespace = {}
    exec(textwrap.dedent(source), namespace)
    return namespace[name].__code__


def text(code):
    """The listing without layout, one instruction a line, labels as the instruction they lead to."""
    listing = decode(code)
    kept = [i for i in range(len(listing)) if listing[i].op not in LAYOUT]
    number = {i: n for n, i in enumerate(kept)}

    def target(index):
        while listing[index].op in LAYOUT:
            index += 1
        return number[index]

    lines = []
    for i in kept:
        op, arg = SAME.get(listing[i].op, listing[i].op), listing[i].arg
        shown = f"-> {target(arg)}" if op in JUMPS else repr(arg)
        shown = "" if arg is None and op is not Op.LOAD_CONST else shown
        lines.append(f"{number[i]:2} {op.name} {shown}".rstrip())
    return "\n".join(lines)


SAMPLE = """
    def f(x, y):
        if x.sum(axis=0) < 0 and not y:
            x[y] += np.dot(x, +y) is not y
        for a, *b in x[1:y]:
            y[0] = a in b
        return [*x, -a]
"""
LISTING = """
 0 RESUME 0
 1 LOAD_FAST 'x'
 2 LOAD_ATTR 'sum'
 3 LOAD_CONST 0
 4 CALL_KW (1, ('axis',))
 5 LOAD_CONST 0
 6 COMPARE_OP '<'
 7 TO_BOOL
 8 POP_JUMP_IF_FALSE -> 27
 9 LOAD_FAST 'y'
10 TO_BOOL
11 POP_JUMP_IF_TRUE -> 27
12 LOAD_FAST 'x'
13 LOAD_FAST 'y'
14 COPY 2
15 COPY 2
16 BINARY_SUBSCR
17 LOAD_GLOBAL 'np'
18 LOAD_ATTR 'dot'
19 LOAD_FAST 'x'
20 LOAD_FAST 'y'
21 UNARY_POSITIVE
22 CALL 2
23 LOAD_FAST 'y'
24 IS_OP True
25 BINARY_OP '+='
26 STORE_SUBSCR
27 LOAD_FAST 'x'
28 LOAD_CONST 1
29 LOAD_FAST 'y'
30 BUILD_SLICE 2
31 BINARY_SUBSCR
32 GET_ITER
33 FOR_ITER -> 44
34 UNPACK_EX (1, 0)
35 STORE_FAST 'a'
36 STORE_FAST 'b'
37 LOAD_FAST 'a'
38 LOAD_FAST 'b'
39 CONTAINS_OP False
40 LOAD_FAST 'y'
41 LOAD_CONST 0
42 STORE_SUBSCR
43 JUMP -> 33
44 BUILD_LIST 0
45 LOAD_FAST 'x'
46 LIST_EXTEND 1
47 LOAD_FAST 'a'
48 UNARY_NEGATIVE
49 LIST_APPEND 1
50 RETURN_VALUE
"""


def test_a_function_has_the_same_listing_on_every_version():
    assert text(made(SAMPLE)) == LISTING.strip("\n")


def test_a_load_with_null_starts_with_what_can_fail():
    listing = decode(made("def f(x): return x.a(g())"))
    for op in (Op.LOAD_ATTR, Op.LOAD_GLOBAL):
        first = next(i for i in listing.instructions if i.op is op)
        group = [i.op for i in listing.group_at(first.offset)]
        assert group == [op, Op.PUSH_NULL] + [Op.SWAP] * current().null_first


def test_the_truth_test_is_in_the_group_of_its_jump():
    for condition in ("x < 0", "x", "not x", "x is None and y", "x in y"):
        listing = decode(made(f"def f(x, y):\n if {condition}: return 1\n return 2"))
        for before, jump in zip(listing.instructions, listing.instructions[1:]):
            if jump.op in {Op.POP_JUMP_IF_FALSE, Op.POP_JUMP_IF_TRUE} and before.op is Op.TO_BOOL:
                assert before.offset == jump.offset
                assert listing.index_of(jump.offset) == jump_index(listing, jump) - 1
        tests = [i for i in listing.instructions if i.op is Op.TO_BOOL]
        assert tests or sys.version_info >= (3, 13)


def jump_index(listing, instruction):
    return next(k for k, i in enumerate(listing.instructions) if i is instruction)


def test_a_negated_comparison_is_tested_with_the_negation():
    listing = decode(made("def f(x, y): return not x < y"))
    ops = [i.op for i in listing.instructions]
    at = ops.index(Op.COMPARE_OP)
    assert ops[at : at + 3] == [Op.COMPARE_OP, Op.TO_BOOL, Op.UNARY_NOT]
    compare, test, negate = listing.instructions[at : at + 3]
    if current().takes_bool:
        assert compare.offset < test.offset == negate.offset
    assert test.position.lineno == compare.position.lineno


def entered_at(code, name):
    """`code` with a second way to the first instruction called `name`, with one bool on the stack."""
    native = parse(code)
    target = next(n for n in native.instructions if n.name == name)
    at = [n.name for n in native.instructions].index("RESUME") + 1
    way = [
        NativeInstruction("LOAD_FAST", 0),
        NativeInstruction("TO_BOOL"),
        NativeInstruction("JUMP_FORWARD", target=target),
    ]
    native.instructions[at:at] = way
    return assemble(native)


def test_no_jump_lands_inside_a_group():
    if not current().takes_bool:
        pytest.skip("only from 3.13 on a jump and its truth test are two instructions")
    for source in ("def f(x, y):\n if x < y: return 1", "def f(x, y):\n if y: return 1"):
        code = entered_at(made(source), "POP_JUMP_IF_FALSE")
        listing = decode(code)
        jump = next(i for i in listing.instructions if i.op is Op.POP_JUMP_IF_FALSE)
        assert [i.op for i in listing.group_at(jump.offset)] == [Op.POP_JUMP_IF_FALSE]
        way = next(i for i in listing.instructions if i.op is Op.JUMP)
        assert listing[way.arg] is jump


def test_cells_locals_and_globals_are_told_apart():
    code = made("""
        def f(x, y):
            def g():
                return x + z + y
            z = 1
            return g, x, w
    """)
    ops = {(i.op, i.arg) for i in decode(code).instructions}
    for name in "xyz":
        assert (Op.LOAD_CLOSURE, name) in ops
        assert (Op.MAKE_CELL, name) in ops
        assert (Op.LOAD_FAST, name) not in ops
    assert {(Op.STORE_DEREF, "z"), (Op.LOAD_DEREF, "x"), (Op.LOAD_GLOBAL, "w")} <= ops
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    assert (Op.COPY_FREE_VARS, 3) in {(i.op, i.arg) for i in decode(inner).instructions}


def test_functions_name_their_attributes():
    code = made("""
        def f(d):
            def g(a: int = 1, *, b=d): return d
            return g
    """)
    arguments = [(i.op, i.arg) for i in decode(code).instructions]
    named = [name for op, arg in arguments if op is Op.MAKE_FUNCTION for name in arg]
    named += [arg for op, arg in arguments if op is Op.SET_FUNCTION_ATTRIBUTE][::-1]
    deferred = current().version >= (3, 14)
    annotations = "annotate" if deferred else "annotations"
    assert named == ["defaults", "kwdefaults", annotations, "closure"]


def test_super_calls_and_format_conversions():
    code = made("""
        class f:
            def g(self, x):
                return super().h(f"{x!a}{x:{x}}")
        f = f.g
    """)
    listing = decode(code)
    assert "h" in {
        i.arg if i.op is Op.LOAD_ATTR else i.arg[0]
        for i in listing.instructions
        if i.op in {Op.LOAD_ATTR, Op.LOAD_SUPER_ATTR}
    }
    conversions = {i.arg for i in listing.instructions if i.op is Op.CONVERT_VALUE}
    conversions |= {i.arg[0] for i in listing.instructions if i.op is Op.FORMAT_VALUE}
    assert conversions == {None, "ascii"}
    assert True in {i.arg[1] for i in listing.instructions if i.op is Op.FORMAT_VALUE}


def test_regions_name_handler_depth_and_position():
    code = made("""
        def f(x):
            for i in x:
                try:
                    i()
                except ValueError:
                    pass
    """)
    listing = decode(code)
    call = next(i for i in listing.instructions if i.op is Op.CALL)
    assert call.handler == Region(call.handler.handler, ITERATOR, False)
    assert listing[call.handler.handler].op is Op.PUSH_EXC_INFO
    assert listing.depths()[call.handler.handler] == ITERATOR + 1
    cleanup = listing[call.handler.handler].handler
    assert cleanup.lasti
    assert listing.depths()[cleanup.handler] == cleanup.depth + 2


# -- facts ---------------------------------------------------------------------------------------------------------------
FACTS = {
    "def f(x):\n return x": (None, None, None, None),
    "def f(x):\n for i in x:\n  i()": (2, None, None, None),
    "def f(x):\n while x:\n  x()": (2, None, None, None),
    "def f(x):\n pass\n try:\n  x()\n finally:\n  y()": (None, 4, None, None),
    "def f(x):\n with x:\n  x()": (None, None, 2, None),
    "async def f(x):\n async with x:\n  pass": (2, 2, 2, 1),
    "def f(x):\n yield x": (None, None, None, 1),
    "def f(x):\n with x:\n  try:\n   x()\n  except A:\n   pass": (None, 4, 2, None),
}


@pytest.mark.parametrize("source", FACTS)
def test_facts_name_the_first_line(source):
    listing = decode(made(source))
    loop, guarded, context, suspends = FACTS[source]
    assert listing.has_with() == context
    assert listing.is_generator() == suspends
    if suspends is None:  # else await loops and, from 3.12 on, has a handler
        assert listing.has_loop() == loop
        assert listing.has_try() == guarded


def test_a_jump_back_out_of_a_handler_is_no_loop():
    code = made("""
        def f(x):
            with x:
                try:
                    x()
                except A:
                    y = 1
                except B:
                    y = 2
            with x:
                y += 1
            return y
    """)
    assert decode(code).has_loop() is None
    code = made("""
        def f(x):
            y = 0
            while True:
                try:
                    return x()
                except A:
                    y += 1
    """)
    assert decode(code).has_loop() in {3, 4, 5}


def test_comprehensions_count_as_loops_only_where_they_are_inlined():
    listing = decode(made("def f(x):\n return [i for i in x]"))
    inlined = not FOR_ITERS.isdisjoint(i.op for i in listing.instructions)
    assert listing.has_loop() == (2 if inlined else None)
    assert listing.has_try() is None


def test_offsets_lead_to_groups_and_on():
    listing = decode(made(SAMPLE))
    offset, seen = 0, []
    while True:
        assert listing.is_group_start(offset)
        seen.append(offset)
        if listing.group_at(offset)[-1] is listing[len(listing) - 1]:
            break
        offset = listing.next_offset(offset)
    assert seen == list(dict.fromkeys(i.offset for i in listing.instructions))
    with pytest.raises(IndexError):
        listing.next_offset(offset)
    with pytest.raises(KeyError):
        listing.index_of(1)


def test_different_depths_at_one_place_are_an_error():
    native = parse(made("def f(x):\n for i in x: i()"))
    at = [n.name for n in native.instructions].index("JUMP_BACKWARD")
    native.instructions.insert(at, NativeInstruction("PUSH_NULL"))
    listing = decode(assemble(native))
    with pytest.raises(ValueError, match="stack depths . and . meet"):
        listing.depths()


# -- code objects ----------------------------------------------------------------------------------------------------------
def test_a_listing_is_shared_while_held_and_keeps_nothing_alive():
    code = made("def f(x): return x")
    listing = decode(code)
    assert decode(code) is listing
    seen = weakref.ref(code)
    gone = weakref.ref(listing)
    del listing
    gc.collect()
    assert gone() is None
    del code
    gc.collect()
    assert seen() is None


def test_equal_code_objects_have_their_own_listings():
    first, second = made("def f(x): return x"), made("def f(x): return x")
    assert first == second
    one, two = decode(first), decode(second)
    assert one.code is first
    assert two.code is second


def test_hot_and_traced_code_decodes_as_when_new():
    def hot(x, y):
        total = 0
        for i in range(x):
            total += i if i < y else -i
        return total, [j + 1 for j in range(3)]

    before = [(i.op, i.arg) for i in decode(hot.__code__).instructions]
    gc.collect()
    for _ in range(200):
        hot(20, 5)
    gc.collect()
    assert [(i.op, i.arg) for i in decode(hot.__code__).instructions] == before
    old = sys.gettrace()
    sys.settrace(lambda frame, event, arg: lambda *event: None)
    try:
        hot(20, 5)
        gc.collect()
        during = [(i.op, i.arg) for i in decode(hot.__code__).instructions]
    finally:
        sys.settrace(old)
    assert during == before
    if old is None:
        assert assemble(parse(hot.__code__)).co_code == hot.__code__.co_code


def test_an_unknown_python_is_refused_by_name(monkeypatch):
    code = made("def f(x): return x")
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    with pytest.raises(
        UnsupportedPython,
        match=r"3\.99 is not supported; supported are 3\.11, 3\.12, 3\.13, 3\.14, 3\.15",
    ):
        decode(code)


def test_bytecode_that_no_compiler_makes_is_refused():
    native = parse(made("def f(x): return x(k=1)"))
    last = "CALL_KW" if "CALL_KW" in {n.name for n in native.instructions} else "KW_NAMES"
    at = [n.name for n in native.instructions].index(last)
    native.instructions.insert(at + (last == "KW_NAMES"), NativeInstruction("NOP"))
    with pytest.raises(UnsupportedPython, match=f"{last} at offset"):
        decode(assemble(native))
    if current().for_iter_skips:
        native = parse(made("def f(x):\n for i in x: pass"))
        at = [n.name for n in native.instructions].index("END_FOR")
        native.instructions[at].name = "POP_TOP"
        with pytest.raises(UnsupportedPython, match="END_FOR"):
            decode(assemble(native))


def test_every_dialect_is_one_table_and_the_running_one_is_among_them():
    assert (3, 11) in dialect.SUPPORTED
    assert current().version == sys.version_info[:2]
    assert current() is current()


def test_the_end_of_a_turn_is_not_on_the_line_behind_the_loop():
    def loops(x):
        for i in range(3):
            if i:
                x += i
        return x

    listing = decode(loops.__code__)
    first = loops.__code__.co_firstlineno
    jumps = [
        index
        for index, instruction in enumerate(listing.instructions)
        if instruction.op is Op.JUMP and listing.leads_to(index)[0] < index
    ]
    assert jumps
    assert {listing.line_of(index) - first for index in jumps} <= {1, 2, 3}
