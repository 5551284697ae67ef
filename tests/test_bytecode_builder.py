"""`CodeBuilder` makes code that runs, on every version, and the assembler's slots and handler depths are right."""

import dis
import inspect
import re
import sys
import traceback
import types

import numpy as np
import pytest

from bcjit.bytecode import CodeBuilder, Instruction, Op, Position, assembler, decode, resume_code
from bcjit.bytecode.dialect import UnsupportedPython
from bcjit.bytecode.instruction import JUMPS, NO_POSITION

HERE = __file__


def builder(*argnames, cellvars=(), freevars=(), name="made"):
    return CodeBuilder(name, f"Outer.{name}", HERE, 100, argnames, cellvars, freevars)


def function(made, closure=None, namespace=None):
    return types.FunctionType(made.finish(), namespace or {}, closure=closure)


def test_arguments_constants_and_calls():
    b = builder("x", "y")
    b.push_callable(divmod)
    b.load_fast("x")
    b.load_fast("y")
    b.call(2)
    b.load_const(None)
    b.build_tuple(2)
    b.return_value()
    f = function(b)
    assert f(7, 2) == ((3, 1), None)
    assert (f.__name__, f.__qualname__) == ("made", "Outer.made")
    assert inspect.getfullargspec(f).args == ["x", "y"]


def test_calls_with_keywords_and_of_what_was_computed():
    b = builder("f", "x")
    b.begin_call()
    b.load_fast("f")
    b.load_attr("append")
    b.end_callable()
    b.begin_call()
    b.load_global("sorted")
    b.end_callable()
    b.load_fast("x")
    b.load_const(abs)
    b.load_const(True)
    b.call_kw(3, ("key", "reverse"))
    b.call(1)
    b.pop()
    b.load_const("done")
    b.return_value()
    out = []
    assert function(b)(out, [1, -3, 2]) == "done"
    assert out == [[-3, 2, 1]]


def test_constants_keep_their_identity():
    """Equal constants are not merged: arrays and lists may be changed, and 1 and True are not the same."""
    values = [
        np.ones(2),
        np.ones(2),
        [1],
        [1],
        np.float64(1.0),
        b"\0\0\0\0\0\0\xf0?",
        0.0,
        -0.0,
        1,
        True,
    ]
    b = builder()
    for value in [*values, *values]:
        b.load_const(value)
    b.build_tuple(2 * len(values))
    b.return_value()
    code = b.finish()
    got = types.FunctionType(code, {})()
    assert all(a is v for a, v in zip(got, [*values, *values], strict=True))
    assert len(code.co_consts) <= len(values) + 1


def test_cells_of_arguments_and_of_the_closure():
    inner = builder("step", freevars=("count",), name="inner")
    inner.load_deref("count")
    inner.load_fast("step")
    inner.emit(Op.BINARY_OP, "+")
    inner.store_deref("count")
    inner.load_deref("count")
    inner.return_value()
    b = builder("other", "count", cellvars=("count", "unused"), freevars=("base",))
    b.load_const((10,))
    b.load_closure("count")
    b.build_tuple(1)
    b.make_function(inner.finish(), ("defaults", "closure"))
    f = b.temp()
    b.store_fast(f)
    b.load_deref("base")
    b.store_deref("unused")
    b.load_fast(f)
    b.load_deref("unused")
    b.load_closure("base")
    b.build_tuple(3)
    b.return_value()
    base = types.CellType("b")
    inc, unused, cell = function(b, (base,))("o", 5)
    assert (inc(), inc(1), unused) == (15, 16, "b")
    assert cell is base
    assert inc.__defaults__ == (10,)
    assert inc.__closure__[0].cell_contents == 16


def test_keyword_defaults_and_annotations_of_made_functions():
    def sample(a, *, k=1) -> int:
        return a, k

    b = builder()
    b.load_const((4,))
    b.load_const("k")
    b.load_const(5)
    b.build_map(1)
    b.load_const(("return", int))
    b.make_function(sample.__code__, ("defaults", "kwdefaults", "annotations"))
    b.return_value()
    made = function(b)()
    assert made() == (4, 5)
    assert made.__annotations__ == {"return": int}


def test_loops_jump_back_with_and_without_condition():
    for op, expected in ((Op.POP_JUMP_IF_TRUE, 10), (Op.POP_JUMP_IF_FALSE, 4)):
        b = builder("n")
        again = b.label()
        b.load_const(0)
        b.mark(again)
        b.load_fast("n")
        b.emit(Op.BINARY_OP, "+=")
        b.load_fast("n")
        b.load_const(1)
        b.emit(Op.BINARY_OP, "-")
        b.store_fast("n")
        b.load_fast("n")
        b.emit(Op.TO_BOOL)
        b.emit(op, again)
        b.return_value()
        assert function(b)(4) == expected

    b = builder("items")
    start, done = b.label(), b.label()
    total = b.temp()
    b.load_const(0)
    b.store_fast(total)
    b.load_fast("items")
    b.emit(Op.GET_ITER)
    b.mark(start)
    b.load_fast("items")
    b.emit(Op.TO_BOOL)
    b.emit(Op.POP_JUMP_IF_FALSE, done)
    b.load_fast(total)
    b.load_const(1)
    b.emit(Op.BINARY_OP, "+")
    b.store_fast(total)
    b.load_fast("items")
    b.emit(Op.LOAD_ATTR, "pop")
    pop = b.temp()
    b.store_fast(pop)
    b.begin_call()
    b.load_fast(pop)
    b.end_callable()
    b.call(0)
    b.pop()
    b.jump(start)
    b.mark(done)
    b.pop()
    b.load_fast(total)
    b.return_value()
    assert function(b)([1, 2, 3]) == 3


def test_branch_on_a_comparison_asks_for_the_truth_once():
    asked = []

    class Answer:
        def __init__(self, truth):
            self.truth = truth

        def __bool__(self):
            asked.append(self.truth)
            return self.truth

        def __lt__(self, other):
            return self

    b = builder("x")
    no = b.label()
    b.load_fast("x")
    b.load_const(0)
    b.emit(Op.COMPARE_OP, "<")
    b.emit(Op.TO_BOOL)
    b.emit(Op.POP_JUMP_IF_FALSE, no)
    b.load_const("yes")
    b.return_value()
    b.mark(no)
    b.load_const("no")
    b.return_value()
    f = function(b)
    assert [f(Answer(True)), f(Answer(False)), f(-1), f(1)] == ["yes", "no", "yes", "no"]
    assert asked == [True, False]


def test_tracebacks_name_the_given_positions():
    b = builder("x")
    b.at(Position(123, 124, 4, 9))
    b.load_fast("x")
    b.native(Instruction(Op.UNARY_NEGATIVE, None, Position(130, 130, 8, 10), 0, None))
    b.return_value()
    with pytest.raises(TypeError) as caught:
        function(b)("text")
    entry = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (entry.name, entry.filename) == ("made", HERE)
    assert (entry.lineno, entry.end_lineno, entry.colno, entry.end_colno) == (130, 130, 8, 10)
    b = builder("x")
    b.at(Position(123, 124, 4, 9))
    b.native(Instruction(Op.LOAD_FAST, "y", NO_POSITION, 0, None))
    b.return_value()
    with pytest.raises(UnboundLocalError) as caught:
        function(b)(1)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 123


SINCE_312 = {
    *(
        Op.LOAD_FAST_AND_CLEAR,
        Op.LOAD_LOCALS,
        Op.LOAD_FROM_DICT_OR_DEREF,
        Op.LOAD_FROM_DICT_OR_GLOBALS,
    ),
    *(Op.LOAD_SUPER_ATTR, Op.END_FOR, Op.END_SEND, Op.CLEANUP_THROW),
}
SINCE_313 = {Op.CONVERT_VALUE, Op.SET_FUNCTION_ATTRIBUTE}
SINCE_314 = {Op.BUILD_INTERPOLATION, Op.BUILD_TEMPLATE}
UNTIL_313 = {Op.BUILD_CONST_KEY_MAP}
UNTIL_314 = {Op.GET_YIELD_FROM_ITER, Op.END_SEND}
MISSING = {
    (3, 11): SINCE_312 | SINCE_313 | SINCE_314,
    (3, 12): SINCE_313 | SINCE_314,
    (3, 13): SINCE_314,
    (3, 14): UNTIL_313,
    (3, 15): UNTIL_313 | UNTIL_314,
}

# One sample for each opcode that residual code can need: (opcode, argument, operands, what is left on the stack).
OBJECT = types.SimpleNamespace(a=1)
NATIVES = [
    (Op.NOP, None, (1,), [1]),
    (Op.COPY, 2, (1, 2), [1, 2, 1]),
    (Op.SWAP, 3, (1, 2, 3), [3, 2, 1]),
    (Op.POP_TOP, None, (1, 2), [1]),
    (Op.LOAD_CONST, OBJECT, (), [OBJECT]),
    (Op.LOAD_FAST, "a0", (5,), [5, 5]),
    (Op.LOAD_GLOBAL, "len", (), [len]),
    (Op.LOAD_ASSERTION_ERROR, None, (), [AssertionError]),
    (Op.LOAD_ATTR, "real", (3,), [3]),
    (Op.STORE_ATTR, "b", (7, OBJECT), []),
    (Op.DELETE_ATTR, "b", (types.SimpleNamespace(b=1),), []),
    (Op.UNARY_POSITIVE, None, (True,), [1]),
    (Op.UNARY_NEGATIVE, None, (3,), [-3]),
    (Op.UNARY_INVERT, None, (3,), [-4]),
    (Op.TO_BOOL, None, ([],), [False]),
    (Op.UNARY_NOT, None, (True,), [False]),
    (Op.BINARY_OP, "@", (np.eye(1), 2 * np.eye(1)), [2 * np.eye(1)]),
    (Op.BINARY_OP, "**=", (2, 5), [32]),
    (Op.COMPARE_OP, ">=", (2, 5), [False]),
    (Op.IS_OP, True, (2, 5), [True]),
    (Op.CONTAINS_OP, False, (2, [2]), [True]),
    (Op.CONTAINS_OP, True, (2, [2]), [False]),
    (Op.BINARY_SUBSCR, None, ([4], 0), [4]),
    (Op.DELETE_SUBSCR, None, ([4], 0), []),
    (Op.STORE_SUBSCR, None, (1, [4], 0), []),
    (Op.GET_LEN, None, ((1, 2),), [(1, 2), 2]),
    (Op.BUILD_TUPLE, 2, (1, 2), [(1, 2)]),
    (Op.BUILD_LIST, 2, (1, 2), [[1, 2]]),
    (Op.BUILD_SET, 2, (1, 2), [{1, 2}]),
    (Op.BUILD_MAP, 1, (1, 2), [{1: 2}]),
    (Op.BUILD_CONST_KEY_MAP, 1, (2, ("k",)), [{"k": 2}]),
    (Op.BUILD_STRING, 2, ("a", "b"), ["ab"]),
    (Op.BUILD_SLICE, 3, (1, 2, 3), [slice(1, 2, 3)]),
    (Op.LIST_APPEND, 1, ([1], 2), [[1, 2]]),
    (Op.SET_ADD, 1, ({1}, 2), [{1, 2}]),
    (Op.MAP_ADD, 1, ({}, 2, 3), [{2: 3}]),
    (Op.LIST_EXTEND, 1, ([1], (2,)), [[1, 2]]),
    (Op.SET_UPDATE, 1, ({1}, (2,)), [{1, 2}]),
    (Op.DICT_UPDATE, 1, ({1: 2}, {3: 4}), [{1: 2, 3: 4}]),
    (Op.LIST_TO_TUPLE, None, ([1],), [(1,)]),
    (Op.UNPACK_SEQUENCE, 2, ((1, 2),), [2, 1]),
    (Op.UNPACK_EX, (1, 1), ((1, 2, 3),), [3, [2], 1]),
    (Op.FORMAT_VALUE, (None, False), (1,), ["1"]),
    (Op.FORMAT_VALUE, (None, True), (1, "02"), ["01"]),
    (Op.MATCH_SEQUENCE, None, ([1],), [[1], True]),
    (Op.MATCH_MAPPING, None, ([1],), [[1], False]),
    (Op.IMPORT_NAME, "types", (0, None), [types]),
    (Op.IMPORT_FROM, "CodeType", (types,), [types, types.CodeType]),
]


NATIVES = [row for row in NATIVES if row[0] not in MISSING[sys.version_info[:2]]]


@pytest.mark.parametrize(
    "op, arg, operands, left", NATIVES, ids=lambda v: v.name if isinstance(v, Op) else ""
)
def test_native_forms_do_what_the_opcode_says(op, arg, operands, left):
    names = [f"a{i}" for i in range(len(operands))]
    b = builder(*names)
    for name in names:
        b.load_fast(name)
    b.native(Instruction(op, arg, NO_POSITION, 0, None))
    b.build_list(len(left))
    b.return_value()
    code = b.finish()
    assert repr(types.FunctionType(code, {})(*operands)) == repr(left)
    assert op in [i.op for i in decode(code).instructions] or op is Op.TO_BOOL


def test_labels_are_marked_once_and_locals_are_no_cells():
    b = builder("x", cellvars=("x",))
    label = b.label()
    b.mark(label)
    with pytest.raises(ValueError, match="marked already"):
        b.mark(label)
    with pytest.raises(ValueError, match="'x' is a cell variable"):
        b.store_fast("x")


ARGUMENTS = {
    Op.CALL_KW: (1, ("a",)),
    Op.UNPACK_EX: (1, 1),
    Op.FORMAT_VALUE: (None, False),
    Op.BUILD_INTERPOLATION: (None, False),
    Op.MAKE_FUNCTION: ("closure",),
    Op.SET_FUNCTION_ATTRIBUTE: "closure",
    Op.BINARY_OP: "+",
    Op.COMPARE_OP: "<",
    Op.CONVERT_VALUE: "str",
    Op.LOAD_SUPER_ATTR: ("a", True),
    Op.CALL_INTRINSIC_1: "INTRINSIC_ASYNC_GEN_WRAP",
    Op.CALL_INTRINSIC_2: "INTRINSIC_PREP_RERAISE_STAR",
    **{op: "cell" for op in Op if "DEREF" in op.name or op in {Op.LOAD_CLOSURE, Op.MAKE_CELL}},
    **{op: "name" for op in Op if re.search("FAST|GLOBAL|NAME|_ATTR$|IMPORT_FROM", op.name)},
} | {Op.LOAD_SUPER_ATTR: ("a", True)}


def test_opcodes_without_a_native_form_of_their_own_are_refused():
    refused = set()
    for op in set(Op) - JUMPS:
        b = builder(cellvars=("cell",))
        try:
            b.emit(op, ARGUMENTS.get(op, 1))
        except UnsupportedPython as e:
            assert op.name in str(e)
            refused.add(op)
    assert refused == MISSING[sys.version_info[:2]]


# -- the assembler -----------------------------------------------------------------------------------------------------
def test_a_pair_whose_second_slot_is_16_keeps_its_slots():
    if "LOAD_FAST_LOAD_FAST" not in dis.opmap:
        pytest.skip("pairs came with 3.13")
    names = ", ".join(f"v{i}" for i in range(17))
    namespace = {}
    exec(f"def f({names}): return v0 + v16, v15 + v14", namespace)
    code = namespace["f"].__code__
    values = list(range(17))
    assert types.FunctionType(assembler.assemble(assembler.parse(code)), {})(*values) == (16, 29)
    b = builder(*(f"v{i}" for i in range(17)))
    b.load_fast("v0")
    b.load_fast("v16")
    b.build_tuple(2)
    b.return_value()
    assert function(b)(*values) == (0, 16)


def test_handler_depth_is_right_where_code_enters_the_middle_of_a_range():
    """What a resume function does: the depth at the start of the range, which is dead there, is not taken."""

    def sample(items):
        for item in items:
            try:
                item.go()
            except ValueError:
                return "caught"
        return None

    listing = decode(sample.__code__)
    index = next(k for k, i in enumerate(listing.instructions) if i.arg == "go") - 1
    item = listing[index]
    assert item.handler is not None
    stack = (False, True)[: listing.depths()[index]]  # the iterator, and its NULL from 3.15 on
    ours = resume_code(sample.__code__, item.offset, stack, ("items", "item"))
    at = assembler.parse(sample.__code__).handlers[0]
    assert {h.depth for h in assembler.parse(ours).handlers[:2]} == {at.depth} == {len(stack)}

    class Item:
        def go(self):
            raise ValueError

    assert types.FunctionType(ours, {"ValueError": ValueError})([], Item(), iter([])) == "caught"
