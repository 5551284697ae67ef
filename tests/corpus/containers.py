"""Tuples, lists, dicts, sets, slices and ranges that the function builds or is given."""

from __future__ import annotations

from corpus.registry import args, entry, floats, ints, world


@entry("containers tuple")
def packs_and_unpacks_tuples():
    def fn(x, y):
        pair = x, y
        a, b = pair
        first, *rest = (a + b, a, b, pair)
        return pair, (b, a), first, rest, pair + (1,), pair[-1], len(pair), pair * 2

    return world(
        fn, lambda: args(floats(3), 2), lambda: args(ints(2, 2), ints(2)), lambda: args(1.5, 2)
    )


@entry("containers list")
def builds_and_changes_lists():
    def fn(x):
        items = [x, x * 2]
        items.append(x + 1)
        items.insert(0, "start")
        last = items.pop()
        items.extend([1, 2])
        items[1] = last
        items += [x]
        del items[-2]
        items.reverse()
        return items, items.index(1), items.count(1), len(items), items[1:3]

    return world(fn, lambda: args(floats(3)), lambda: args(ints(2, 2)), lambda: args(floats(2)))


@entry("containers dict")
def builds_and_changes_dicts():
    def fn(x, key):
        table = {"x": x, key: x.sum()}
        table["y"] = table["x"] * 2
        table.update(z=1)
        got = table.get("none", 5)
        popped = table.pop("z")
        table.setdefault("w", []).append(x)
        return table, got, popped, list(table), "x" in table, {**table, "x": 0}, len(table)

    return world(
        fn, lambda: args(floats(3), "k"), lambda: args(ints(2), 3), lambda: args(floats(2), (1, 2))
    )


@entry("containers identity alias")
def one_list_under_two_names():
    def fn(x):
        inner = [x]
        outer = [inner, inner, {"again": inner}]
        inner.append(x + 1)
        outer[0] = (inner, outer)
        return outer

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("containers arguments")
def reads_containers_given_as_arguments():
    def fn(params, data):
        w, b = params["w"], params["b"]
        x, (y, scale) = data
        prediction = x @ w + b
        return {"loss": ((prediction - y) ** 2).mean() * scale, "w": w, "params": params}

    def one():
        return args({"w": floats(3), "b": 0.5}, [floats(4, 3), (floats(4), 2.0)])

    def two():
        return args({"b": floats(2), "w": floats(3, 2), "more": 1}, [floats(5, 3), (1, 3)])

    return world(
        fn, one, two, lambda: args({"w": floats(1, dtype="f4"), "b": 1}, (floats(2, 1), (0, 1)))
    )


@entry("containers slice")
def slices_as_values():
    def fn(x, n):
        window = slice(1, n)
        index = (window, None) if x.ndim == 1 else (window, 0)
        return x[window], x[index], window, window.stop, (window, Ellipsis)

    return world(
        fn, lambda: args(floats(6), 4), lambda: args(floats(4, 3), 3), lambda: args(ints(3), 9)
    )


@entry("containers range")
def ranges_as_values():
    def fn(x):
        steps = range(0, x.shape[0], 2)
        return steps, len(steps), steps[-1], list(range(3)), tuple(steps), 2 in steps, x[steps[0]]

    return world(fn, lambda: args(floats(5)), lambda: args(ints(3)), lambda: args(floats(4, 2)))


@entry("containers set")
def sets_of_constants():
    def fn(x, key):
        seen = {1, 2, 3}
        seen.add(key)
        return seen, key in {1, 2}, x * len(seen), {"a", key} | seen

    return world(fn, lambda: args(floats(2), 2), lambda: args(ints(2), 9))


@entry("containers nested")
def nested_containers_are_rebuilt():
    def fn(x):
        tree = {"a": [x, {"b": (x, [x.sum()])}], "c": {}}
        tree["c"]["d"] = tree["a"]
        tree["a"][1]["b"][1].append(tree["c"])
        return tree

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2, 2)))


@entry("containers star", capture=False)  # no array work
def star_displays():
    def fn(x, more):
        a = [*more, x]
        b = (x, *more, *a)
        c = {**{"x": 1}, "y": x}  # noqa: PIE800
        return a, b, c, [*range(2)], max(*more, 0)

    return world(fn, lambda: args(floats(2), (1, 2)), lambda: args(ints(2), [3]))


@entry("containers compare", capture=False)  # no array work
def compares_containers():
    def fn(x, shape):
        return x.shape == shape, (1, 2) < (1, 3), [1] == [1], x.shape + (1,), shape in [(3,), (2,)]

    return world(fn, lambda: args(floats(3), (3,)), lambda: args(floats(2, 2), (3,)))
