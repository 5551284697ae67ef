"""Loops of listings and where ways through them meet: by line, the same on every Python; meetings also against their definition."""

import gc
import random
import sys
import textwrap
import weakref

import pytest

from bcjit.bytecode import TERMINATORS, Op, decode
from bcjit.bytecode.loops import loops_of, meeting_of, same_places

TWICE = sys.version_info < (3, 14)  # whether the test of a while loop is written twice


def join_of(listing, index, stops=frozenset()):
    """Return where the ways from a branch meet."""
    return meeting_of(listing, listing.leads_to(index), stops)


def listing_of(source, name="f"):
    namespace = {}
    exec(textwrap.dedent(source), namespace)
    return decode(namespace[name].__code__)


def lines(listing, places):
    found = {listing[index].position.lineno for index in places}
    return sorted(line for line in found if line is not None)


MOVES = {Op.NOP, Op.JUMP, Op.JUMP_NO_INTERRUPT, Op.POP_TOP, Op.POP_EXCEPT, Op.END_FOR}


def goes_on(listing, index):
    """The next instruction that does something: which jumps a way out passes, and with which lines, is each Python's."""
    while listing[index].op in MOVES:
        (index,) = listing.leads_to(index)
    return index


def shown(listing):
    """Each loop as (line of its head, lines of a turn, lines where ways out go on), in the order of the source."""
    rows = [
        (
            listing.line_of(loop.head),
            lines(listing, loop.body),
            lines(listing, (goes_on(listing, index) for index in loop.exits)),
        )
        for loop in loops_of(listing)
    ]
    return sorted(rows, key=lambda row: (row[0], -len(row[1])))


# Line 1 is the ``def``. CPython gives the implicit ``return None`` behind a loop the line of the loop.
LOOPS = {
    "for": (
        """
        def f(x):
            for v in x:
                a = v
            return a
        """,
        [(3, [3, 4], [5])],
    ),
    "for with break, continue and else": (
        """
        def f(x):
            for v in x:
                if v: continue
                if not v:
                    break
                w = v
            else:
                w = 1
            return w
        """,
        [(3, [3, 4, 5, 7], [9, 10])],
    ),
    "nested for": (
        """
        def f(x):
            for row in x:
                for v in row:
                    g(v)
                g(row)
            return x
        """,
        [(3, [3, 4, 5, 6], [7]), (4, [4, 5], [6])],
    ),
    "return from a loop": (
        """
        def f(x):
            for v in x:
                if v:
                    return v
            return x
        """,
        [(3, [3, 4], [5, 6])],
    ),
    "while": (
        """
        def f(n):
            while n > 0:
                n -= 1
            return n
        """,
        [(3, [3, 4], [5])],
    ),
    "while with continue, break and else": (
        """
        def f(n):
            while n:
                n -= 1
                if n == 5:
                    continue
                if n == 4:
                    break
                g(n)
            else:
                n = 7
            return n
        """,
        [(3, [3, 4, 5, 6, 7, 9], [11, 12])],
    ),
    "while with a test of many branches": (
        """
        def f(a, b):
            while (a and b > 1
                   or not a):
                a -= b
            return a
        """,
        [(3, [3, 4, 5], [6])],
    ),
    "while with a chained comparison": (
        """
        def f(a, b):
            while 0 < a < b:
                a -= b
            return a
        """,
        [(3, [3, 4], [5])],
    ),
    "while not": (
        """
        def f(a):
            while not a.any():
                a = g(a)
            return a
        """,
        [(3, [3, 4], [5])],
    ),
    "while is not None": (
        """
        def f(a):
            while a is not None:
                a = a.next
            return a
        """,
        [(3, [3, 4], [5])],
    ),
    "while with an assignment in the test": (
        """
        def f(a):
            while (k := g(a)) is None or k > 2:
                a = k
            return k
        """,
        [(3, [3, 4], [5])],
    ),
    "while with a conditional expression": (
        """
        def f(a, b):
            while a if b else a > 3:
                a = g(a)
            return a
        """,
        [(3, [3, 4], [5])],
    ),
    "while on one line": (
        """
        def f(n, k):
            while n: n = k
            return n
        """,
        [(3, [3], [4])],
    ),
    "while without a body": (
        """
        def f(g):
            while g(): pass
            return g
        """,
        [(3, [3], [4])],
    ),
    "while True": (
        """
        def f(n):
            while True:
                n -= 1
                if n < 0:
                    break
                g(n)
            return n
        """,
        [(4 if TWICE else 3, [3, 4, 5, 7], [8])],  # its jump is of line 3
    ),
    "while in while": (
        """
        def f(a, b):
            while a:
                while b:
                    b -= 1
                    if b == 3:
                        continue
                    g(b)
                a -= 1
            return a
        """,
        [(3, [3, 4, 5, 6, 7, 8, 9], [10]), (4, [4, 5, 6, 7, 8], [9])],
    ),
    "while at the end of while": (
        """
        def f(a, b):
            while a:
                a -= 1
                while b:
                    b -= 1
            return a
        """,
        [(3, [3, 4, 5, 6], [7]), (5, [5, 6], [3])],
    ),
    "while at the end of for": (
        """
        def f(x, b):
            for a in x:
                while b:
                    b -= a
            return a
        """,
        [(3, [3, 4, 5], [6]), (4, [4, 5], [3])],
    ),
    "while whose turns all end by continue or break": (
        """
        def f(a, b):
            while a > b:
                if a[b]:
                    b += 1
                    continue
                break
            return b
        """,
        [(3, [3, 4, 5, 6], [8])],
    ),
    "try in a loop": (
        """
        def f(x):
            while x:
                try:
                    x = g(x)
                except ValueError:
                    x = 0
            return x
        """,
        [(3, [3, 4, 5], [8])],
    ),
    "a loop in a handler": (
        """
        def f(x):
            try:
                g()
            except ValueError:
                while x:
                    x -= 1
            return x
        """,
        [(6, [6, 7], [8])],
    ),
    "no loop": ("def f(x):\n    return x if x else 1", []),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_found_where_the_source_has_them(name):
    source, expected = LOOPS[name]
    listing = listing_of(source)
    assert shown(listing) == expected


@pytest.mark.parametrize("name", [name for name in LOOPS if name.startswith("while")])
def test_the_two_writings_of_a_test_are_one_place(name):
    listing = listing_of(LOOPS[name][0])
    same = same_places(listing)
    whiles = [loop for loop in loops_of(listing) if not loop.is_for]
    once = not TWICE or name in {"while True", "while whose turns all end by continue or break"}
    assert len(same) == (0 if once else len(whiles))
    for loop in whiles:
        assert loop.same == {start: head for start, head in same.items() if head == loop.head}
        for start, head in loop.same.items():
            assert start not in loop.body or start == loop.entry
            assert start not in loop.exits
            assert listing[start].op is listing[head].op
            assert listing[start].arg == listing[head].arg


def test_a_for_loop_begins_where_the_iterator_is_asked():
    listing = listing_of(LOOPS["nested for"][0])
    for loop in loops_of(listing):
        assert loop.is_for
        assert loop.entry == loop.head
        assert not loop.protected
        assert listing[loop.head].op.name.startswith("FOR_ITER")


def test_a_loop_in_a_protected_region_says_so():
    listing = listing_of(
        """
        def f(x):
            for a in x:
                try:
                    for b in a:
                        g(b)
                except ValueError:
                    pass
        """
    )
    inner, outer = loops_of(listing)
    assert (inner.protected, outer.protected) == (True, False)
    assert inner.body < outer.body


def test_a_turn_that_is_written_alike_elsewhere_is_another_loop():
    """A finally clause is compiled several times, with the same positions."""
    listing = listing_of(
        """
        def f(n, x):
            try:
                if x:
                    return g(x)
                h(x)
            finally:
                while n:
                    n -= 1
        """
    )
    loops = loops_of(listing)
    assert len(loops) == 3  # behind a return, at the end, in the handler
    for one in loops:
        for other in loops:
            assert one is other or not one.body & other.body


def branches(listing):
    return [index for index in range(len(listing)) if len(listing.leads_to(index)) == 2]


def test_the_sides_of_an_if_meet_behind_it():
    listing = listing_of(
        """
        def f(a, b):
            for v in a:
                if v > 1:
                    b += 1
                elif v < 0:
                    b -= 1
                if v == 7:
                    continue
                b = g(b)
            return b
        """
    )
    (loop,) = loops_of(listing)
    at = {listing.line_of(index): index for index in branches(listing) if index != loop.head}
    stops = frozenset({loop.head})
    meets = {line: join_of(listing, index, stops) for line, index in at.items()}
    assert {line: join and listing.line_of(join) for line, join in meets.items()} == {
        4: 8,
        6: 8,
        8: 3,
    }
    assert meets[8] == loop.head


def test_sides_that_leave_a_turn_at_different_places_do_not_meet():
    listing = listing_of(
        """
        def f(a, b):
            for v in a:
                if v > 1:
                    break
                b = g(b)
            return b
        """
    )
    (loop,) = loops_of(listing)
    (index,) = (index for index in branches(listing) if index != loop.head)
    assert join_of(listing, index, loop.exits | {loop.head}) is None


def test_the_head_itself_is_a_branch_though_ways_end_there():
    listing = listing_of(LOOPS["for"][0])
    (loop,) = loops_of(listing)
    assert join_of(listing, loop.head) == listing[loop.head].arg
    assert join_of(listing, loop.head, frozenset({loop.head})) is None


def test_a_side_that_never_ends_meets_nothing():
    listing = listing_of(
        """
        def f(a):
            if a:
                while True:
                    g()
            return a
        """
    )
    (index,) = branches(listing)
    assert join_of(listing, index) is None


def program(seed):
    """The source of a function of branches and loops."""
    choose = random.Random(seed)

    def block(depth, looped):
        rows = []
        for _ in range(choose.randint(1, 3)):
            kind = choose.choice(
                ["plain", "if", "if", "while", "for", "return", "leave"]
                if depth
                else ["plain", "leave"]
            )
            name = choose.choice("abc")
            test = choose.choice(
                [name, f"{name} > 1", f"not {name}", "a and b", "a or b > c", "0 < a < b"]
            )
            inner = (
                [f"    {row}" for row in block(depth - 1, looped or kind in {"while", "for"})]
                if depth
                else []
            )
            if kind == "plain" or (kind == "leave" and not looped):
                rows.append(f"{name} = g({name})")
            elif kind == "leave":
                rows.append(f"if {test}: {choose.choice(['break', 'continue'])}")
            elif kind == "return":
                rows.append(f"if {test}: return {name}")
            elif kind == "if":
                rows += [f"if {test}:", *inner]
                if choose.random() < 0.5:
                    rows += ["else:", f"    {name} = 1"]
            elif kind == "while":
                rows += [f"while {choose.choice([test, 'True'])}:", *inner]
            else:
                rows += [f"for {name} in g():", *inner]
        return rows

    return "\n".join(
        ["def f(a, b, c):", *(f"    {row}" for row in block(3, False)), "    return a"]
    )


def ends_avoiding(after, start, avoided):
    """Whether some way from `start` that does not pass `avoided` comes to an end, or goes round for ever."""
    seen, work = set(), [start]
    while work:
        index = work.pop()
        if index == avoided or index in seen:
            continue
        seen.add(index)
        if not after[index]:
            return True
        work += after[index]
    return False


def by_definition(after, index):
    """The immediate post-dominator: of all places that every way passes, the one that all others come behind."""
    reached, work = set(), list(after[index])
    while work:
        place = work.pop()
        if place not in reached:
            reached.add(place)
            work += after[place]
    endless = {p for p in reached if not ends_avoiding(after, p, None)}
    graph = {p: (*n, "end") if p in endless else n for p, n in after.items()} | {"end": ()}
    common = [p for p in reached if not any(ends_avoiding(graph, s, p) for s in after[index])]
    first = [p for p in common if all(q == p or not ends_avoiding(graph, p, q) for q in common)]
    return first[0] if first else None


def graph_of(listing, stops=frozenset()):
    """Where control goes from each place that is reached; ways end at stops, and a test written twice is one place."""
    same = {start: head for start, head in same_places(listing).items() if start not in stops}
    after, work = {}, [0]
    while work:
        index = work.pop()
        if index not in after:
            leads = () if index in stops else listing.leads_to(index)
            after[index] = tuple(same.get(n, n) for n in leads)
            work += after[index]
    return after


@pytest.mark.parametrize("seed", range(40))
def test_a_join_is_what_all_ways_pass_first(seed):
    listing = listing_of(program(seed))
    loops = loops_of(listing)
    for stops in {frozenset(), *(frozenset({loop.head}) | loop.exits for loop in loops)}:
        after = graph_of(listing, stops)
        for index in after:
            if len(after[index]) == 2:
                assert join_of(listing, index, stops) == by_definition(after, index), index


@pytest.mark.parametrize("seed", range(40))
def test_a_turn_has_one_way_in_and_its_exits_are_the_ways_out(seed):
    listing = listing_of(program(seed))
    after = graph_of(listing)
    heads = {n for index in after for n in after[index] if n <= index}
    assert {loop.head for loop in loops_of(listing)} == heads
    for loop in loops_of(listing):
        out = {n for index in loop.body for n in after[index] if n not in loop.body}
        entered = {n for i in after if i not in loop.body for n in after[i] if n in loop.body}
        assert (out, entered) == (loop.exits, {loop.head})
        again = {i for i in loop.body if loop.head in after[i]}
        assert again  # and every instruction of a turn leads to such a place
        work, seen = list(again), set()
        while work:
            index = work.pop()
            if index not in seen:
                seen.add(index)
                if index != loop.head:
                    work += (i for i in after if index in after[i])
        assert seen | {loop.head} == loop.body


def test_what_is_known_of_a_listing_goes_with_it():
    listing = listing_of(LOOPS["while"][0])
    loops_of(listing), join_of(listing, 0)
    gone = weakref.ref(listing)
    del listing
    gc.collect()
    assert gone() is None


def test_the_end_of_a_function_has_no_join():
    listing = listing_of("def f(x):\n    return x")
    (end,) = (i for i in range(len(listing)) if listing[i].op in TERMINATORS)
    assert join_of(listing, end) is None
