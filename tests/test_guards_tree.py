"""The C tree: specifications are checked before use, a check leaks nothing, keeps nothing alive and survives hostile keys."""

import gc
import os
import subprocess
import sys
import textwrap
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from guards_kit import arg, guard, plain, relation_between, step

from bcjit._core import GuardTree
from bcjit.dims import Symbol
from bcjit.guards import (
    GuardKind,
    Identity,
    Source,
    SourceKind,
    compile_guards,
    specification,
)
from bcjit.guards.compile import Operation

X, Y = arg(), arg(1, "y")
LOCAL = (SourceKind.LOCAL, -1, None, 0)
TYPE_INT = (GuardKind.TYPE, 0, 1, int, 0)
ADD = (Operation.ADD, 0)
SYMBOL = (Operation.SYMBOL, 0)


def relation_row(places, comparison, program):
    return ((LOCAL,), ((GuardKind.RELATION, -1, 1, (places, comparison, program), 0),))


MALFORMED = {
    "three parts": ((), (), ()),
    "lists": ([], []),
    "source no tuple": ((3,), ()),
    "source too short": (((0, -1),), ()),
    "source kind too large": (((99, -1, None, 0),), ()),
    "source kind negative": (((-1, -1, None, 0),), ()),
    "root with base": ((LOCAL, (SourceKind.LOCAL, 0, None, 0)), ()),
    "step without base": (((SourceKind.TYPE, -1, None, 0),), ()),
    "base is itself": ((LOCAL, (SourceKind.TYPE, 1, None, 0)), ()),
    "name no text": (((SourceKind.GLOBAL, -1, 3, 0),), ()),
    "key unhashable": ((LOCAL, (SourceKind.ITEM, 0, [], 0)), ()),
    "no such member": ((LOCAL, (SourceKind.MEMBER, 0, None, 99)), ()),
    "number no int": (((SourceKind.LOCAL, -1, None, "0"),), ()),
    "guard no tuple": ((LOCAL,), (3,)),
    "guard too short": ((LOCAL,), ((0, 0, 1),)),
    "guard kind too large": ((LOCAL,), ((99, 0, 1, int, 0),)),
    "guard kind negative": ((LOCAL,), ((-1, 0, 1, int, 0),)),
    "guard without source": ((LOCAL,), ((GuardKind.TYPE, -1, 1, int, 0),)),
    "source not ready": ((LOCAL, LOCAL), ((GuardKind.TYPE, 1, 1, int, 0),)),
    "more ready than there are": ((LOCAL,), ((GuardKind.TYPE, 0, 2, int, 0),)),
    "less ready than before": ((LOCAL, LOCAL), ((GuardKind.TYPE, 0, 2, int, 0), TYPE_INT)),
    "weak reference that is none": ((LOCAL,), ((GuardKind.TYPE, 0, 1, int, 1),)),
    "proxy as weak reference": ((LOCAL,), ((GuardKind.IDENTITY, 0, 1, weakref.proxy(plain), 1),)),
    "dtype that is none": ((LOCAL,), ((GuardKind.ARRAY, 0, 1, "f8", 1),)),
    "key of absent unhashable": ((LOCAL,), ((GuardKind.ABSENT, 0, 1, [], 0),)),
    "attribute no text": ((LOCAL,), ((GuardKind.NO_INSTANCE_ATTR, 0, 1, 3, 0),)),
    "keys no tuple": ((LOCAL,), ((GuardKind.KEYS, 0, 1, [], 0),)),
    "other not ready": ((LOCAL,), ((GuardKind.OVERLAP, 0, 1, 1, 0),)),
    "other negative": ((LOCAL,), ((GuardKind.SAME_OBJECT, 0, 1, -1, 0),)),
    "other no int": ((LOCAL,), ((GuardKind.SAME_OBJECT, 0, 1, "0", 0),)),
    "relation no tuple": ((LOCAL,), ((GuardKind.RELATION, -1, 1, 3, 0),)),
    "relation of one part": ((LOCAL,), ((GuardKind.RELATION, -1, 1, ((0,),), 0),)),
    "symbol not ready": relation_row((1,), 0, (SYMBOL, SYMBOL)),
    "symbol place no int": relation_row(("a",), 0, (SYMBOL, SYMBOL)),
    "no such symbol": relation_row((0,), 0, ((Operation.SYMBOL, 1), SYMBOL)),
    "symbol too large": relation_row((0,), 0, ((Operation.SYMBOL, 2**70), SYMBOL)),
    "no such comparison": relation_row((0,), 3, (SYMBOL, SYMBOL)),
    "no such operation": relation_row((0,), 0, ((99, 0), SYMBOL)),
    "instruction no tuple": relation_row((0,), 0, (3, SYMBOL)),
    "instruction operand no int": relation_row((0,), 0, ((0, 1.5), SYMBOL)),
    "stack underflow": relation_row((0,), 0, (SYMBOL, ADD, SYMBOL)),
    "one value left": relation_row((0,), 0, (SYMBOL,)),
    "three values left": relation_row((0,), 0, (SYMBOL, SYMBOL, SYMBOL)),
    "empty program": relation_row((0,), 0, ()),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_specifications_are_refused(name):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        GuardTree(MALFORMED[name])


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        GuardTree()
    with pytest.raises(TypeError):
        GuardTree(3)
    tree = GuardTree(spec=((), ()))
    assert tree.check((), plain) == tree.check((), plain, None) == -1
    for wrong in [(), ((),), ([], plain), ((), 3), ((), plain, 3), ((), plain, None, None)]:
        with pytest.raises(TypeError):
            tree.check(*wrong)


def test_many_sources_are_fetched():
    values = tuple(range(200))
    guards = [guard("EQUALS", arg(index, "v"), index) for index in values]
    tree = compile_guards(guards)
    assert tree.check(values, plain, None) == -1
    assert tree.check((*values[:150], "other", *values[151:]), plain, None) == 150


def test_deep_programs_run_on_python_integers():
    symbols = [Symbol(f"n{place:02}") for place in range(30)]
    program = (
        *((Operation.SYMBOL, place) for place in range(30)),
        *((Operation.ADD, 0) for _ in range(29)),
        (Operation.CONSTANT, 435),
    )
    spec = (
        tuple((SourceKind.LOCAL, -1, None, place) for place in range(30)),
        ((GuardKind.RELATION, -1, 30, (tuple(range(30)), 0, program), 0),),
    )
    tree = GuardTree(spec)
    assert len(symbols) == 30
    assert tree.check(tuple(range(30)), plain, None) == -1
    assert tree.check((1, *range(1, 30)), plain, None) == 0


def test_names_that_move_in_their_dict_are_found_again():
    namespace = {"a": 1, "b": 2, "name": 3, "__builtins__": {}}
    func = types.FunctionType(plain.__code__, namespace)
    tree = compile_guards(
        [
            guard("EQUALS", Source(SourceKind.GLOBAL, "name"), 3),
            guard("EQUALS", step("ITEM", X, "name"), 3),
        ]
    )

    def check():
        return tree.check((dict(namespace),), func, None)

    assert check() == -1
    del namespace["a"]
    assert check() == -1
    namespace.update({str(number): number for number in range(100)})
    assert check() == -1
    del namespace["name"]
    assert check() == 0
    namespace["name"] = 3
    assert check() == -1
    namespace[4] = "no text"
    assert check() == -1
    namespace["name"] = 4
    assert check() == 0
    for turn in range(50):
        moved = {str(number): number for number in range(turn)}
        assert (
            tree.check(
                ({**moved, "name": 3},),
                types.FunctionType(plain.__code__, {**moved, "name": 3}),
                None,
            )
            == -1
        )
        assert (
            tree.check(
                ({"name": 3, **moved},),
                types.FunctionType(plain.__code__, {"".join(["na", "me"]): 3}),
                None,
            )
            == -1
        )


# Memory


class Model:
    def __init__(self):
        self.parts = [np.ones(3), {"scale": 2.5}]
        self.size = 3

    def step(self):
        return self.size


class Slots:
    __slots__ = ("value",)


def here(x):
    return x


def capturing():
    number = 5
    return lambda: number


def every_kind():
    """Return guards of every kind that hold, and the values for which they do."""
    model, slots, function = Model(), Slots(), capturing()
    slots.value = model
    parts = step("ATTR", X, "parts")
    array, config = step("ITEM", parts, 0), step("ITEM", parts, 1)
    guards = [
        guard("TYPE", X, Model),
        guard("TYPE", step("SHAPE", array, 0), int),
        guard("IDENTITY", step("MRO", step("TYPE", X), "step"), Identity(Model.step)),
        guard("EQUALS", step("LENGTH", parts), 2),
        guard("EQUALS", step("ITEM", config, "scale"), 2.5),
        guard("ARRAY", array, (np.dtype(float), 1)),
        guard("ABSENT", config, "other"),
        guard("ABSENT", Source(SourceKind.GLOBALS), "len"),
        guard("NO_INSTANCE_ATTR", X, "step"),
        guard("KEYS", config, ("scale",)),
        guard("SAME_OBJECT", step("ATTR", Y, "value"), (X, True)),
        guard("OVERLAP", array, (array, True)),
        guard("IDENTITY", step("MEMBER", arg(2, "f"), "code"), Identity(function.__code__)),
        guard("EQUALS", step("CELL_OF", step("MEMBER", arg(2, "f"), "closure"), 0), 5),
        guard("UNBOUND_CELL", Source(SourceKind.CELL, (0, "c"))),
        guard("PRESENT", step("MEMBER", arg(2, "f"), "code")),
        guard("OTHER_ARRAY", step("ITEM", arg(3, "d"), "names")),
        guard("IDENTITY", Source(SourceKind.BUILTIN, "len"), Identity(len)),
        guard(
            "IDENTITY",
            step("MODULE_ATTR", Source(SourceKind.GLOBAL, "np"), "add"),
            Identity(np.add),
        ),
        guard(
            "TYPE", step("MEMBER", step("ITEM", arg(3, "d"), "static"), "func"), types.FunctionType
        ),
        relation_between("<=", 2**70, (Symbol("n"), step("ATTR", X, "size"))),
        relation_between("!=", 1, (Symbol("n"), step("SHAPE", array, 0))),
    ]
    return (
        guards,
        (
            model,
            slots,
            function,
            {"static": staticmethod(plain), "names": np.array(["a"]), Hostile(lambda: None): 1},
        ),
        (types.CellType(),),
    )


class Hostile:
    """A key with the hash of a text; comparing runs an action."""

    def __init__(self, action, name="static"):
        self.action, self.name = action, name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        self.action()
        return False


def test_every_guard_kind_is_in_the_leak_test():
    guards, values, closure = every_kind()
    assert {one.kind for one in guards} == set(GuardKind)
    assert compile_guards(guards).check(values, here, closure) == -1


def allocated():
    gc.collect()
    return sys.getallocatedblocks()


def test_a_hundred_thousand_checks_leak_nothing():
    guards, values, closure = every_kind()
    tree = compile_guards(guards)
    failing = (values[0], values[1], plain, {})
    watched = [
        values[0],
        values[0].parts,
        values[0].parts[0],
        values[1],
        len,
        np.add,
        Model,
        Model.step,
    ]
    gc.collect()  # what other tests have left refers to len too
    counts = [sys.getrefcount(thing) for thing in watched]

    def checks(times):
        for _ in range(times):
            tree.check(values, here, closure)
            tree.check(failing, here, None)

    checks(100)
    before = allocated()
    checks(50_000)
    assert allocated() - before < 50
    # A reference lost or left in a check would be 100,000; other tests' garbage that dies meanwhile refers to len once or twice.
    after = [sys.getrefcount(thing) for thing in watched]
    assert all(abs(now - then) < 50 for now, then in zip(after, counts, strict=True)), (
        after,
        counts,
    )


def test_making_trees_leaks_nothing():
    guards, _, _ = every_kind()
    spec = specification(guards)

    def make(times):
        for _ in range(times):
            GuardTree(spec)
            for malformed in MALFORMED.values():
                try:
                    GuardTree(malformed)
                except (ValueError, TypeError, OverflowError):
                    continue

    make(20)
    before = allocated()
    make(300)
    assert allocated() - before < 50


def test_a_tree_keeps_users_objects_alive_no_longer():
    guards, values, closure = every_kind()
    tree = compile_guards(guards)
    references = [weakref.ref(value) for value in (values[0], values[2])]
    del values, guards
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert tree.check((), here, closure) == 0


def test_a_tree_is_seen_by_the_cycle_collector():
    class Holder:
        pass

    holder = Holder()
    constant = (1, 2)
    tree = GuardTree(((LOCAL,), ((GuardKind.EQUALS, 0, 1, (holder,), 0),)))
    assert gc.is_tracked(tree)
    assert any(type(referent) is tuple for referent in gc.get_referents(tree))
    holder.tree = tree
    reference = weakref.ref(holder)
    del holder, tree
    gc.collect()
    assert reference() is None
    assert constant == (1, 2)


def test_a_key_that_changes_everything_while_it_is_compared_does_no_harm():
    box = {}

    def clear():
        if not box.get("armed"):
            return
        box["list"].clear()
        box["dict"].clear()
        box["object"].__dict__ = {}
        gc.collect()

    model = Model()
    box["object"] = model
    box["dict"] = {Hostile(clear, "key"): 1, "key": [Slots()]}
    box["list"] = [box["dict"], Model()]
    deep = step("ITEM", step("ITEM", X, 0), "key")
    guards = [
        guard("TYPE", step("ITEM", X, 1), Model),
        guard("TYPE", step("ATTR", step("ITEM", X, 1), "parts"), list),
        guard("TYPE", step("ATTR", Y, "parts"), list),
        guard("TYPE", deep, list),
        guard("EQUALS", step("LENGTH", step("ATTR", Y, "parts")), 2),
        guard("ABSENT", step("ITEM", X, 0), "key"),
    ]
    for _ in range(3):
        assert compile_guards(guards).check((box["list"], model), plain, None) in range(
            -1, len(guards)
        )
        box["dict"].update({Hostile(clear, "key"): 1, "key": [Slots()]})
        box["list"][:] = [box["dict"], Model()]
        model.__init__()


def test_a_key_that_raises_while_it_is_compared_fails_the_guard_quietly():
    def fail():
        raise KeyboardInterrupt

    namespace = {Hostile(fail, "key"): 1}
    assert (
        compile_guards([guard("EQUALS", step("ITEM", X, "key"), 1)]).check(
            (namespace,), plain, None
        )
        == 0
    )
    assert compile_guards([guard("ABSENT", X, "key")]).check((namespace,), plain, None) == 0


DEBUG_PROGRAM = """
    import sys
    sys.path.insert(0, {tests!r})
    from test_guards_tree import every_kind, here, compile_guards
    guards, values, closure = every_kind()
    tree = compile_guards(guards)
    for _ in range(200):
        assert tree.check(values, here, closure) == -1
        tree.check((values[0], values[1], here, {{}}), here, None)
        for place, one in enumerate(guards):
            alone = compile_guards([one])
            alone.check(values, here, closure)
            alone.check((), here, None)
            alone.check(tuple(reversed(values)), here, None)
    print("done")
"""


def test_checks_are_clean_under_the_debug_allocator():
    program = textwrap.dedent(DEBUG_PROGRAM.format(tests=str(Path(__file__).parent)))
    environment = {
        **os.environ,
        "PYTHONMALLOC": "debug",
        "PYTHONDEVMODE": "1",
        "BCJIT_DISABLE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
