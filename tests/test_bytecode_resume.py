"""Functions left at every possible instruction and resumed behave as if nothing had happened.

`leaving_at` makes a first half that leaves at an offset and hands its frame to the driver `run`; the driver goes on in
`resume_code`. The frame itself says what is live, so that no analysis is trusted.
"""

import collections
import functools
import inspect
import re
import sys
import textwrap
import traceback
import types
import weakref

import pytest

from bcjit.bytecode import Op, decode
from bcjit.bytecode.assembler import NativeHandler, NativeInstruction, assemble_tables, parse
from bcjit.bytecode.dialect import current
from bcjit.bytecode.operands import slot_names
from bcjit.bytecode.resume import CannotResume, resume_code

NATIVE = NativeInstruction
GLOBAL = 10


class Left:
    """What a frame held when it left: the state that the driver gets."""

    def __init__(self, code, offset, stack, bound, values, closure):
        self.code, self.offset, self.stack, self.bound = code, offset, stack, bound
        self.values, self.closure = values, closure


def leave(original, code, offset, depth, *closure):
    """Called by a first half, on its way out."""
    frame_locals = sys._getframe(1).f_locals
    temporaries = [f".t{slot}" for slot in range(depth)]
    stack = tuple(name not in frame_locals for name in temporaries)
    cells = original.co_cellvars + original.co_freevars
    bound = tuple(n for n in original.co_varnames if n in frame_locals and n not in cells)
    names = (*bound, *(name for name in temporaries if name in frame_locals))
    return Left(original, offset, stack, bound, [frame_locals[name] for name in names], closure)


def leaving_at(original, offset, resumed=None):
    """`original` changed so that it leaves at `offset`, or a resume function of it, when it comes there once more."""
    code = resumed or original
    depth = decode(original).depths()[decode(original).index_of(offset)]
    native = parse(code)
    entry_jump = None
    if resumed is None:
        target = next(n for n in native.instructions if n.offset == offset)
    else:
        entry_jump = next(n for n in native.instructions if n.name == "JUMP_FORWARD")
        target = entry_jump.target
    temporaries = tuple(f".t{slot}" for slot in range(depth))
    varnames = code.co_varnames + temporaries
    old = slot_names(code.co_varnames, code.co_cellvars, code.co_freevars)
    shift = len(temporaries)
    cells = [old.index(name) for name in original.co_cellvars + original.co_freevars]

    def moved(slot):
        return slot if slot < len(code.co_varnames) else slot + shift

    dialect = current()
    for n in native.instructions:
        n.name = dialect.owned_loads.get(n.name, n.name)
        if n.name in dialect.slot_opcodes:
            n.arg = moved(n.arg)
    consts = [*code.co_consts, leave, original, code, offset, depth, iter]
    first = len(code.co_consts)
    if dialect.renames["FOR_ITER"][0] is Op.FOR_ITER_PAIR:
        # the second slot of an iterator may hold what no local can
        for n in [n for n in native.instructions if n.name == "GET_ITER"]:
            n.name, n.arg = "LOAD_CONST", first + 5
            calls = [("SWAP", 2), ("PUSH_NULL", 0), ("SWAP", 2), ("CALL", 1), ("PUSH_NULL", 0)]
            behind = native.instructions.index(n) + 1
            made = [NATIVE(name, arg, n.position) for name, arg in calls]
            native.instructions[behind:behind] = made
    at = target.position
    positions = frozenset()
    if not dialect.positions_are_objects:
        listing = decode(original)
        positions = listing.positions(listing.index_of(offset))
    end = [
        NATIVE("POP_TOP", 0, at)
        if slot in positions
        else NATIVE("STORE_FAST", len(code.co_varnames) + slot, at)
        for slot in reversed(range(depth))
    ]
    call = [NATIVE("LOAD_CONST", first, at)]
    call.insert(0 if dialect.null_first else 1, NATIVE("PUSH_NULL", 0, at))
    end += call
    end += [NATIVE("LOAD_CONST", first + k, at) for k in range(1, 5)]
    load_cell = "LOAD_CLOSURE" if "LOAD_CLOSURE" in dialect.renames else "LOAD_FAST"
    end += [NATIVE(load_cell, moved(slot), at) for slot in cells]
    count = 4 + len(cells)
    end += [NATIVE("PRECALL", count, at)] if sys.version_info < (3, 12) else []
    end += [NATIVE("CALL", count, at), NATIVE("RETURN_VALUE", 0, at)]
    jump = NATIVE("JUMP_FORWARD", 0, at, end[0])
    for n in native.instructions:
        if n.target is target and n is not entry_jump:
            n.target = jump
    for h in native.handlers:
        h.target = jump if h.target is target else h.target
        h.end = end[0] if h.end is None else jump if h.end is target else h.end
    native.instructions.insert(native.instructions.index(target), jump)
    handlers: list[NativeHandler] = native.handlers
    tables = assemble_tables([*native.instructions, *end], handlers, code.co_firstlineno)
    return code.replace(
        co_code=tables.co_code,
        co_linetable=tables.co_linetable,
        co_exceptiontable=tables.co_exceptiontable,
        co_varnames=varnames,
        co_nlocals=len(varnames),
        co_consts=tuple(consts),
        co_stacksize=code.co_stacksize + 8 + len(cells),
    )


@functools.cache
def half_code(code, offset):
    return leaving_at(code, offset)


@functools.cache
def part_code(left_code, offset, stack, bound, again):
    code = resume_code(left_code, offset, stack, bound)
    return leaving_at(left_code, offset, code) if again else code


def run(function, args, again=False):
    """Drive `function` over its parts. `again`: each part leaves at the same place when it comes there once more."""
    result = function(*args)
    while type(result) is Left:
        code = part_code(result.code, result.offset, result.stack, result.bound, again)
        part = types.FunctionType(
            code, function.__globals__, function.__name__, None, result.closure
        )
        values = result.values
        del result
        result = part(*values)
    return result


# -- samples -----------------------------------------------------------------------------------------------------------
class CM:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(("exit", kind and kind.__name__))
        return self.swallow


def loops(n, log):
    t = 0
    for i in range(n):
        for j in (1, 2):
            t += i * j + len(log) + GLOBAL
        if i == 3:
            continue
        log.append(t)
    else:
        log.append("else")
    while t > 0 and not (t == 3 or t < 0):
        t //= 5
        if t % 2:
            continue
        log.append(t)
    return t, log


def withs(n, log):
    with CM(log) as c:
        for i in range(n):
            log.append(i)
            with CM(log, True):
                if i == 1:
                    raise ValueError(i)
                log.append(str(i))
        r = c
    return len(log), log


def tries(n, log):
    try:
        log.append(1)
        try:
            x = n / (n - 2)
        except ZeroDivisionError as e:
            log.append(repr(e))
            x = -1
            try:
                raise KeyError("a")
            except KeyError:
                log.append(sys.exc_info()[0].__name__)
            log.append(sys.exc_info()[0].__name__)
            if log:
                raise
        finally:
            log.append("fin")
    except ArithmeticError as e2:
        log.append(type(e2.__context__).__name__)
        return "caught", log
    return x, log


def cells(n, log):
    acc = []

    def add(v):
        nonlocal n
        n += 1
        acc.append(v + n)
        return acc

    for k in range(3):
        add(k)
        log.append(lambda: k)
    k = 7
    return n, acc, [f() for f in log], add(1)


def make_free(z):
    def free(n, log):
        nonlocal z
        w = z + n

        def g():
            return w + z

        z = 5
        for q in (1, 2):
            log.append(g() + q)
        return log, [f() for f in (lambda: z,)]

    return free


def calls(n, log, *args, k=3, **kw):
    d = {"a": n, **kw}
    log.append(sorted(d.items(), key=lambda p: p[0]))
    s = max(n, k, *args, key=abs)
    f"{s!r:>{k}} {n}"
    a, *b = args
    print(a, b, sep="", end="", file=type("F", (), {"write": log.append}))
    return log, s, a, b, {**d}, [*args, 1], n if k else s


def comprehensions(n, log):
    i = "outer"
    a = [i * 2 for i in range(n) if i]
    b = {x: y + 1 for x, y in zip(a, a)}
    c = [f() + n for w in a for f in (lambda: w,)]
    log.append(sum(v for v in a))
    return a, b, c, i, log


def branches(n, log):
    assert 0 <= n < 100, "x"
    y = n if n > 2 else -n
    ok = not n < 3
    both = n < y < 100 or n
    if 1 < n <= y and n not in log:
        log.append("chain")
    del y
    try:
        y  # noqa: F821 - unbound is the subject
    except UnboundLocalError:
        log.append("unbound")
    match n:
        case 1 | 2:
            log.append("m12")
        case int(x) if x > 3:
            log.append(x)
        case _:
            log.append("other")
    return log, ok, both


def raises(n, log):
    for i in range(n):
        with CM(log):
            log.append(i)
            if i == 1:
                raise ValueError(f"boom {i}") from KeyError("k")
    return log


def imports(n, log):
    import math
    import os.path as p
    from math import sqrt

    x = math.floor(sqrt(n))
    x += n
    x **= 2
    log[len(log) :] = [x]
    log[0] += 1
    return log, log[0:1], p.sep, -x, ~x, not x, (x, n), {x}, x is None, x in log


def many_locals(n, log):
    a = b = c = d = e = f = g = h = i = j = k = m = n + 1
    o, p, q, r, s = a, b, c, d, e
    o, p = p, o
    q = r
    t = s
    log.append((o, p, q, t))
    return (a, b, c, d, e, f, g, h, i, j, k, m, o, p, q, r, s, t), log


class Methods:
    def __init__(self, n):
        self.n = n

    def plain(self, log):
        log.append(self.n)
        return super().__repr__()[:5], log.__len__()


SAMPLES = [
    (loops, [(6, [1])]),
    (withs, [(3, [])]),
    (tries, [(2, []), (3, [])]),
    (cells, [(1, [])]),
    (make_free(100), [(2, [])]),
    (calls, [(1, [], 5, -9)]),
    (comprehensions, [(4, [])]),
    (branches, [(5, []), (1, []), (4, [])]),
    (raises, [(3, [])]),
    (imports, [(9, [3])]),
    (many_locals, [(1, [])]),
    (Methods.plain, [(Methods(3), [])]),
]


def outcome(call):
    """Result or exception of `call`, and the traceback's entries. `call` returns (log, result)."""
    log = []
    try:
        text = repr(call(log))
        assert sys.exc_info()[1] is None
        seen = ("returned", text)
        entries = []
    except Exception as e:
        seen = ("raised", repr(e), repr(e.__cause__), repr(e.__context__))
        entries = [
            (f.name, f.lineno, f.colno, f.end_colno) for f in traceback.extract_tb(e.__traceback__)
        ]
        names = [entry[0] for entry in entries]
        del entries[: names.index("run") + 1]
    return re.sub(r"0x[0-9a-f]+|at \w+>", "0x", f"{seen} {log}"), entries


def fresh(function, code):
    closure = tuple(types.CellType(c.cell_contents) for c in function.__closure__ or ())
    made = types.FunctionType(
        code,
        globals(),
        function.__name__,
        function.__defaults__,
        closure if code.co_freevars else None,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def compare(function, offset, args, again):
    def call(code, log):
        copy = [list(a) if isinstance(a, list) else a for a in args]
        log += [a for a in copy if isinstance(a, list)]
        return run(fresh(function, code), copy, again)

    plain = outcome(lambda log: call(function.__code__, log))
    split = outcome(lambda log: call(half_code(function.__code__, offset), log))
    assert split == plain, (function.__name__, offset)


LISTINGS = [decode(function.__code__) for function, _ in SAMPLES]  # keeps them from being made anew
LOOPING = {loops, withs, cells, comprehensions, branches, raises, SAMPLES[4][0]}


def possible_offsets(code):
    """Offsets where a stack can be taken, and how many groups there are where it cannot."""
    offsets, refused = [], 0
    listing = decode(code)
    for offset in dict.fromkeys(i.offset for i in listing.instructions):
        depth = listing.depths()[listing.index_of(offset)]
        positions = listing.positions(listing.index_of(offset))
        try:
            resume_code(code, offset, tuple(k in positions for k in range(depth or 0)), ())
        except CannotResume:
            refused += 1
        else:
            offsets.append(offset)
    return offsets, refused


@pytest.mark.parametrize("again", [False, True], ids=["left once", "left every time"])
def test_functions_split_at_every_offset_behave_as_plain(again):
    counts = collections.Counter()
    for function, argument_sets in SAMPLES:
        if again and function not in LOOPING:
            continue
        offsets, refused = possible_offsets(function.__code__)
        counts["refused"] += refused
        assert len(offsets) > 4 * refused, function.__name__
        for offset in offsets:
            for args in argument_sets:
                compare(function, offset, args, again)
                counts["runs"] += 1
    print(dict(counts))
    assert counts["runs"] > (600 if again else 1200)


# -- the code that is made -----------------------------------------------------------------------------------------------
def offset_of(code, op, nth=0):
    """Offset of the nth instruction of this opcode."""
    return [i.offset for i in decode(code).instructions if i.op is op][nth]


def test_resume_code_looks_like_the_original():
    def sample(a, b, /, c, *rest, d=1, **more):
        e = [a, b, c]
        return e, lambda: a

    code = sample.__code__
    at = offset_of(code, Op.STORE_FAST)
    made = resume_code(code, at, (False,), ("b", "c", "d", "more"))
    assert made.co_varnames == ("b", "c", "d", "more", ".s0", "rest", "e")
    assert (made.co_argcount, made.co_posonlyargcount, made.co_kwonlyargcount) == (5, 0, 0)
    assert (made.co_cellvars, made.co_freevars) == ((), ("a",))
    assert not made.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    assert made.co_flags & (inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS)
    same = ("co_name", "co_qualname", "co_filename", "co_firstlineno", "co_names", "co_consts")
    for name in (*same, "co_stacksize"):
        assert getattr(made, name) == getattr(code, name), name
    part = types.FunctionType(made, {}, closure=(types.CellType("cell"),))
    result, closure = part(1, 2, 3, {}, ["stack"])
    assert result == ["stack"]
    assert closure() == "cell"


def test_original_instructions_follow_verbatim():
    def sample(x, y):
        for item in x:
            y += item
        return y

    code = sample.__code__
    offset = offset_of(code, Op.STORE_FAST, 1)
    stack = (False,) * decode(code).depths()[decode(code).index_of(offset)]
    made = resume_code(code, offset, stack, ("x", "y", "item"))
    owned = current().owned_loads
    original = [owned.get(n.name, n.name) for n in parse(code).instructions]
    names = [n.name for n in parse(made).instructions]
    body = original[original.index("RESUME") + 1 :]
    assert names[-len(body) :] == body


def test_a_resumed_stack_keeps_nothing_alive():
    class Thing:
        pass

    def sample(look):
        [look, look]
        return look()

    code = sample.__code__
    part = types.FunctionType(
        resume_code(code, offset_of(code, Op.BUILD_LIST), (False, False), ("look",)), {}
    )
    arguments = [Thing(), None]
    seen = weakref.ref(arguments[0])
    # the interpreter takes the arguments over: no list of ours holds them
    result = part(seen, arguments.pop(), arguments.pop())
    assert result is None


def test_f_locals_of_a_resumed_frame_are_the_users_names():
    def sample(x):
        y = [x, sys._getframe().f_locals]
        return y[1]

    code = sample.__code__
    at = offset_of(code, Op.BUILD_LIST)
    part = types.FunctionType(resume_code(code, at, (False, False), ("x",)), globals())
    assert part(1, 2, {"k": 3}) == {"k": 3}
    at = offset_of(code, Op.CALL)
    null_first = current().null_first
    stack = (False, True, False) if null_first else (False, False, True)
    part = types.FunctionType(resume_code(code, at, stack, ("x",)), globals())

    class Frame:
        f_locals = None

    def getframe():
        frame = Frame()
        frame.f_locals = dict(sys._getframe(1).f_locals)
        return frame

    assert part(1, 2, getframe) == {"x": 1}


def test_truth_of_a_resumed_comparison_is_asked_by_the_resume_function():
    class Answer:
        def __init__(self, truth):
            self.truth = truth

        def __bool__(self):
            if self.truth is None:
                raise ValueError("no truth")
            return self.truth

    def branch(x):
        try:
            if x < 0:
                return "yes"
        except ValueError as e:
            return str(e)
        return "no"

    def negate(x):
        try:
            return not x < 0
        except ValueError as e:
            return str(e)

    for function, yes, no in ((branch, "yes", "no"), (negate, False, True)):
        code = function.__code__
        code = resume_code(code, offset_of(code, Op.TO_BOOL), (False,), ("x",))
        part = types.FunctionType(code, globals())
        assert [part(1, Answer(truth)) for truth in (True, False, None)] == [yes, no, "no truth"]
        assert [part(1, truth) for truth in (True, False)] == [yes, no]


def test_a_signal_at_the_entry_finds_the_handler_of_the_place():
    """RESUME is where signals are delivered, with the stack in place and inside the region."""

    def sample(x):
        for i in x:
            try:
                i()
            except KeyboardInterrupt:
                return "caught"
        return None

    code = sample.__code__
    listing = decode(code)
    index = next(k for k, i in enumerate(listing.instructions) if i.handler and i.op is not Op.NOP)
    stack = (False, True)[: listing.depths()[index]]  # the iterator, and its NULL from 3.15 on
    made = parse(resume_code(code, listing[index].offset, stack, ("x", "i")))
    names = [n.name for n in made.instructions]
    resume = names.index("RESUME")
    assert made.handlers[0].start is made.instructions[resume]
    assert made.handlers[0].end is made.instructions[names.index("JUMP_FORWARD") + 1]
    assert made.handlers[0].depth == len(stack)
    moves = {"LOAD_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR", "PUSH_NULL"}
    assert set(names[:resume]) <= moves


def test_locals_beyond_a_byte_are_renumbered():
    names = [f"v{i}" for i in range(300)]
    source = f"def f(n):\n {'; '.join(f'{v} = n + {i}' for i, v in enumerate(names))}\n return [{', '.join(names)}]"
    namespace = {}
    exec(source, namespace)
    code = namespace["f"].__code__
    at = offset_of(code, Op.LOAD_FAST, 150)
    bound = ("n", *names[:150])
    part = types.FunctionType(resume_code(code, at, (), bound), {})
    assert part(0, *range(150)) == list(range(300))
    bound = (*names[:150],)
    with pytest.raises(UnboundLocalError, match="'n'"):
        types.FunctionType(resume_code(code, at, (), bound), {})(*range(150))


# -- refusals --------------------------------------------------------------------------------------------------------------
def test_places_where_nothing_can_go_on_are_refused():
    def sample(x):
        total = 0
        for i in x:
            total += i
        return lambda: total

    code = sample.__code__
    for offset in (0, offset_of(code, Op.RESUME)):
        with pytest.raises(CannotResume, match="has not started"):
            resume_code(code, offset, (), ("x",))
    for offset in (-2, 1, len(code.co_code)):
        with pytest.raises(CannotResume, match="inside a group"):
            resume_code(code, offset, (), ("x",))
    if current().for_iter_skips:
        with pytest.raises(CannotResume, match="never reached"):
            resume_code(code, offset_of(code, Op.END_FOR), (False,), ("x",))

    def generator():
        yield 1

    with pytest.raises(CannotResume, match="generator"):
        resume_code(generator.__code__, offset_of(generator.__code__, Op.LOAD_CONST), (), ())


def test_offsets_inside_groups_are_refused():
    source = """
        def f(x):
            if g(x, k=1) < 2:
                return x
            return None
    """
    namespace = {}
    exec(textwrap.dedent(source), namespace)
    code = namespace["f"].__code__
    starts = {i.offset for i in decode(code).instructions}
    inside = [n.offset for n in parse(code).instructions if n.offset not in starts]
    assert inside, "every version has groups"
    for offset in inside:
        with pytest.raises(CannotResume, match="inside a group"):
            resume_code(code, offset, (), ("x",))


def test_stacks_and_locals_that_do_not_fit_are_refused():
    def sample(x, y):
        z = y
        return (lambda: x), z

    code = sample.__code__
    at = offset_of(code, Op.STORE_FAST)
    with pytest.raises(ValueError, match="stack depth"):
        resume_code(code, at, (), ("y",))
    for bound in (("x", "y"), ("z", "y"), ("y", "nothing")):
        with pytest.raises(ValueError, match="locals of"):
            resume_code(code, at, (False,), bound)
