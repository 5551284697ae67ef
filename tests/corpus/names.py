"""Names that could clash, code that is large, and forms of syntax that compile unusually."""

# ruff: noqa: PLC2401, PIE790, PIE804  (unusual forms are the subject)

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world

inf = 3
values = 2
graph = np.array([1.0, 2.0])


@entry("names clash")
def arguments_named_like_internals():
    def fn(np, inf, graph, f, values, self, G, len, range, t0=1, _0=2):
        y = np.exp(graph) * inf
        return y + f + values, self, G, len(y), range, t0 + _0

    return world(
        fn,
        lambda: args(np, 2.0, floats(2), 1, 3, None, "g", len, 5),
        lambda: args(
            np, inf=1, graph=ints(2), f=2, values=ints(2), self=0, G=1, len=np.size, range=0
        ),
    )


@entry("names clash globals")
def globals_named_like_internals():
    def fn(x):
        return x * inf + values, graph, x + graph

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("names unicode")
def names_outside_ascii():
    def fn(größe, *, λ=2.0):
        Δx = größe * λ
        return Δx.sum(), {"π": Δx}

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2), λ=3))


def _wide():
    lines = ["def fn(x, k):"]
    lines += [f"    v{i} = x * {i} + k" for i in range(40)]
    lines += ["    if v39.sum() > 0:", "        v0 = v0 - v1"]
    lines += [f"    w{i} = v{i} + v{(i * 7) % 40}" for i in range(40)]
    return "\n".join([*lines, "    return (" + ", ".join(f"w{i}" for i in range(40)) + ")\n"])


def _constants():
    terms = " + ".join(f"x * {i}.5" for i in range(300))
    return f"def fn(x, k):\n    y = {terms}\n    return y, k, 'last', x.size\n"


def _nested():
    text = "x"
    for i in range(25):
        text = f"helper({i}, {text}, [{i}, k])"
    return (
        f"def fn(x, k):\n    return {text}\n\ndef helper(i, v, more):\n    return v + i * more[0]\n"
    )


def _from_source(source):
    namespace = {"np": np}
    exec(compile(source, __file__, "exec"), namespace)
    return namespace["fn"]


@entry("names large")
def many_locals():
    return world(_from_source(_wide()), lambda: args(floats(2), 1), lambda: args(ints(3), -900))


@entry("names large")
def many_constants():
    return world(_from_source(_constants()), lambda: args(floats(2), 1), lambda: args(ints(1), 2))


@entry("names large stack")
def deep_stack():
    return world(_from_source(_nested()), lambda: args(floats(2), 1), lambda: args(ints(3), 2))


@entry("names docstring")
def unusual_statements():
    def fn(x, k=2):
        """Have a docstring."""
        y: float = x * k
        "a string alone"
        pass
        z = y = y + 1
        del k
        (a, (b, *c)), d = (y, (1, 2, 3)), z
        x[0], a[1:2] = b, d[:1]
        ...
        return a, b, c, z is y, __debug__

    return world(fn, lambda: args(floats(3)), lambda: args(ints(2), 3))


@entry("names strings")
def text_with_formats():
    def fn(x, k):
        y = x + k
        return f"{k!r:>5}|{x.shape!s}|{y.sum():.2e}|{k=}|{'ab'}", "{} {k}".format(1, k=k), y

    return world(fn, lambda: args(floats(2), 3), lambda: args(ints(2), 1.5))


@entry("names assignment")
def evaluation_order():
    def fn(x, log):
        def say(name, value):
            log.append(name)
            return value

        table = {}
        table[say("key", "k")] = say("value", x * 2)
        x[say("index", 0)] += say("operand", 3)
        chained = say("a", 1) < say("b", 0) < say("c", 9)
        picked = say("d", {"z": x})[say("e", "z")]
        return table, chained, picked, (say("f", x) + say("g", 1)) * say("h", 2)

    return world(fn, lambda: args(floats(2), []), lambda: args(ints(2), []))


@entry("names conversion")
def starred_calls_everywhere():
    def target(*rest, **more):
        return rest, sorted(more)

    def fn(x, rest, more):
        return target(x, *rest, 1, *rest, **more, z=x + 1), target(*[x] * 2, **{}), [*rest] + [x]

    return world(
        fn, lambda: args(floats(2), (1, 2), {"a": 1}), lambda: args(ints(2), list("ab"), {})
    )
