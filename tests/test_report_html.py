"""Pages of reports: whole and escaped documents, source with guards and breaks beside its lines, drawings of graphs, what is shown without source."""

from __future__ import annotations

import json
import linecache
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import bcjit
from bcjit import callables
from bcjit.config import config
from bcjit.errors import ArgumentError, SourceLine
from bcjit.reports import html
from bcjit.reports.layout import arrange
from bcjit.reports.listing import listing, listing_around
from bcjit.reports.markup import Markup, join, tag
from bcjit.reports.picture import picture_of
from bcjit.reports.svg import drawing

X = np.arange(6.0)


class Element:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent = name, attributes, parent
        self.children, self.words = [], []

    @property
    def classes(self):
        return (self.attributes.get("class") or "").split()

    def text(self):
        parts = [word if isinstance(word, str) else word.text() for word in self.words]
        return " ".join(" ".join(parts).split())

    def all(self, name=None, class_=None):
        for child in self.children:
            if (name is None or child.name == name) and (class_ is None or class_ in child.classes):
                yield child
            yield from child.all(name, class_)


class Parser(HTMLParser):
    """Builds the tree, and fails where elements are not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.top = self.at = Element("", {}, None)
        self.feed(page)
        self.close()
        assert self.at is self.top

    def handle_starttag(self, name, attributes):
        made = Element(name, dict(attributes), self.at)
        self.at.children.append(made)
        self.at.words.append(made)
        if name != "meta":
            self.at = made

    def handle_endtag(self, name):
        assert self.at.name == name
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.words.append(data)


def parsed(page):
    return Parser(page).top


def rows_of(page):
    """The rows of all listings: number -> element."""
    found = {}
    for row in parsed(page).all("div", "row"):
        (number,) = row.all("span", "number")
        found[int(number.text())] = row
    return found


def branching(x, k):
    y = x * k
    if y.max() > 1.0:
        y = y / 2
    return y


# ---------------------------------------------------------------------- documents
@pytest.fixture
def page():
    made = bcjit.compile(branching)
    for argument in (X, X.astype("f4")):
        made(argument, 3)
    return made.report().html()


def test_the_page_is_one_document_without_scripts_and_without_anything_from_elsewhere(page):
    top = parsed(page)
    assert page.startswith("<!DOCTYPE html>\n<html")
    assert [element.name for element in top.children] == ["html"]
    assert not list(top.all("script"))
    for element in top.all():
        assert not {"src", "onclick", "onload", "srcset", "data"} & set(element.attributes)
        assert (element.attributes.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_lines_have_the_colour_of_their_part_and_breaks_stand_at_theirs(page):
    first = branching.__code__.co_firstlineno
    rows = rows_of(page)
    assert "p0" in rows[first + 1].classes
    assert "p1" in rows[first + 3].classes
    assert "in" not in rows[first + 4].classes
    assert ("cut" in rows[first + 2].classes, "cut" in rows[first + 3].classes) == (True, False)
    (card,) = rows[first + 2].all("div", "card")
    assert card.text().startswith("BRK001 data-dependent branch, 2 variants")
    assert "np.where(condition, a, b)" in card.text()


def test_guards_stand_beside_the_line_that_relied_on_them(page):
    first = branching.__code__.co_firstlineno
    notes = [note.text() for note in rows_of(page)[first + 1].all("p", "note")]
    assert notes[0] == "A.1 x is a float64 array of 1 dimension ✗ failed 1 time: float32"
    assert "A.2 x is a float32 array of 1 dimension" in notes
    assert "A k is an int" in notes


def test_a_save_writes_the_page(tmp_path):
    report = bcjit.compile(branching).report()
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html()


def test_variants_stand_in_the_order_of_their_letters_and_say_once_what_they_change():
    def writes(x, k):
        for i in range(k):
            print(end="")
            x[0] = i
        x[1] = 2.0
        return x

    made = bcjit.compile(writes)
    for argument in (X.copy(), X.astype("f4")):
        made(argument, 3)
    top = parsed(made.report().html())
    tables = [table for table in top.all("table") if "ends" in table.text().split()[:8]]
    letters = [
        next(row.all("span", "chip")).text()
        for row in tables[0].all("tr")
        if list(row.all("span", "chip"))
    ]
    assert letters == sorted(letters)
    assert len(letters) > 3
    assert "changes: as above" in tables[0].text()


def test_the_name_of_the_file_says_what_is_saved(tmp_path):
    made = bcjit.compile(branching)
    made(X, 3)
    for report in (made.report(), bcjit.compile(len).report()):
        report.save(str(tmp_path / "x.json"))
        assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == json.loads(
            json.dumps(report.as_dict())
        )
        report.save(tmp_path / "x.TXT")
        assert (tmp_path / "x.TXT").read_text(encoding="utf-8") == f"{report.text()}\n"
        report.save(tmp_path / "x.htm")
        assert (tmp_path / "x.htm").read_text(encoding="utf-8") == report.html()
        for name in ("x", "x.pdf"):
            with pytest.raises(ArgumentError, match=r"\.json or \.txt"):
                report.save(tmp_path / name)
            assert not (tmp_path / name).exists()


def test_notebooks_get_an_element_of_which_the_style_reaches_nothing_else():
    made = bcjit.compile(branching)
    made(X, 3)
    for shown in (made.report(), made.explain(X, 3), bcjit.report()):
        top = parsed(shown._repr_html_())
        assert [element.name for element in top.children] == ["style", "div"]
        rules = top.children[0].text().replace("@media (max-width: 1180px) {", "")
        rules = rules.replace("@media (prefers-color-scheme: dark) {", "")
        for rule in rules.split("}"):
            for selector in rule.partition("{")[0].split(","):
                assert not selector.strip() or selector.strip().startswith(".bcjit"), rule


def generated(x):
    yield x + 1


def logs(x, out):
    out[0] = 1.0
    return np.log(x)


def test_what_runs_plain_what_failed_and_what_is_changed_are_on_the_page():
    made = bcjit.compile(generated)
    next(made(X))
    (card,) = parsed(made.report().html()).all("div", "card")
    assert card.text().startswith("Runs as plain Python: BRK019")
    made = bcjit.compile(logs)
    made(X + 1, X.copy())
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        made(X, X.copy())
    page = parsed(made.report().html())
    assert "1 bail-out" in [cell.text() for cell in page.all("li", "bad")]
    table = next(page.all("table"))
    line = logs.__code__.co_firstlineno + 1
    assert f"changes: write setitem at test_report_html.py:{line}" in table.text()


def test_limits_are_on_the_page_with_what_to_do():
    made = bcjit.compile(branching)
    with config.override(cache_limit=1):
        for dtype in ("f8", "f4", "f2"):
            made(X.astype(dtype), 3)
        page = parsed(made.report().html())
    card = next(page.all("div", "warn"))
    assert "as many variants as bcjit.config.cache_limit (1) allows" in card.text()
    assert next(card.all("p", "hint")).text()
    assert "calls ran plain at the limit" in page.text()


def test_a_code_cut_into_too_many_parts_is_said():
    def cut(x):
        x = x + 1
        bcjit.graph_break()
        x = x * 2
        bcjit.graph_break()
        return x - 1

    made = bcjit.compile(cut)
    with config.override(part_limit=2):
        made(X)
        report = made.report()
    assert "the code is cut into more than bcjit.config.part_limit" in str(report)
    assert "they begin at" in parsed(report.html()).text()


def test_the_page_of_all_draws_a_graph_of_each_function(monkeypatch):
    monkeypatch.setattr(html, "_ALL_GRAPHS", 2)
    # What other tests have left compiled is no concern of this one, whenever it is collected.
    monkeypatch.setattr(callables, "LIVE", {})
    two = (lambda x, k: x - k), (lambda x, k: x / k)  # of one line
    held = [bcjit.compile(fn) for fn in (branching, *two)]
    for made in held:
        made(X + 1, 3)
    page = parsed(bcjit.report().html())
    assert len(list(page.all("svg"))) == 4
    assert [link.attributes["href"] for link in page.all("a")] == ["#f0", "#f1", "#f2"]
    assert {h.attributes["id"] for h in page.all("h2")} == {"f0", "f1", "f2"}


# ---------------------------------------------------------------------- escaping
EVIL = "<script>alert('&\"')</script>"


def test_nothing_of_the_program_becomes_markup():
    source = (
        f"def evil(x, opts):\n    # {EVIL}\n    y = x * opts[{EVIL!r}]\n"
        f"    if opts['mode'] == {EVIL!r}:\n        y = y + 1\n    touch(y, {EVIL!r})\n    return y\n"
    )

    def touch(y, text):
        return None

    filename = f"<{EVIL}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"touch": bcjit.disable(touch)}
    exec(compile(source, filename, "exec"), namespace)
    evil = namespace["evil"]
    evil.__qualname__ = EVIL
    made = bcjit.compile(evil)
    try:
        for mode in (EVIL, 1):
            made(X, {EVIL: 2.0, "mode": mode})
        for shown in (made.report(), bcjit.report(), made.explain(X, {EVIL: 2.0, "mode": 1})):
            page = shown.html()
            top = parsed(page)
            assert not list(top.all("script"))
            assert EVIL in top.text()
            assert "<script" not in page
        assert "<script" not in bcjit.compile(len).report().html()
        rows = rows_of(made.report().html())
        assert rows[2].text() == f"2 # {EVIL}"
        notes = [note.text() for note in rows[4].all("p", "note")]
        assert notes[0].startswith(f"A.1 opts['mode'] == {EVIL!r}")
    finally:
        del linecache.cache[filename]


def test_text_is_escaped_unless_it_is_markup():
    assert tag("b", "<i>", title='"&') == '<b title="&quot;&amp;">&lt;i&gt;</b>'
    assert tag("b", tag("i", "x")) == "<b><i>x</i></b>"
    assert (
        tag("p", "x", class_="y", hidden=True, lang=None, open=False) == '<p class="y" hidden>x</p>'
    )
    assert tag("meta", name="x") == '<meta name="x">'
    assert join(["<", Markup("<br>")], " & ") == "&lt; &amp; <br>"
    assert type(join([])) is Markup


def test_what_no_document_may_hold_is_replaced():
    assert tag("p", "a\0b\x1bc\ud800d\te\n") == "<p>a�b�c�d\te\n</p>"


# ---------------------------------------------------------------------- source
def test_without_source_the_page_says_so_and_shows_the_rest():
    namespace = {"np": np}
    exec(
        "def made(x):\n    y = np.sin(x)\n    if y.max() > 2:\n        y = y + 1\n    return y\n",
        namespace,
    )
    made = bcjit.compile(namespace["made"])
    made(X)
    page = made.report().html()
    assert "There is no source code to show" in parsed(page).text()
    (listed,) = parsed(page).all("div", "listing")
    rows = [row for row in listed.all("div", "row") if list(row.all("span", "number"))]
    assert [int(next(row.all("span", "number")).text()) for row in rows] == [2, 3]
    assert "x is a float64 array of 1 dimension" in rows[0].text()
    assert "BRK001" in rows[1].text()
    assert "<svg" in page


def write(path, text):
    path.write_text(text)
    linecache.checkcache(str(path))
    return str(path)


SOURCE = """\
def first(x):
    return x

class Holder:
    @staticmethod
    @property
    def held(x):
        def inside(y):
            return (y +
                    1)
        return inside(x)

short = lambda x: x + 1
"""


def test_listings_are_those_of_the_functions(tmp_path):
    path = write(tmp_path / "code.py", SOURCE)
    shown = listing("held", SourceLine(path, 5, "Holder.held"), 11)
    assert [number for number, _ in shown.lines] == list(range(5, 12))
    assert shown.lines[0] == (5, "@staticmethod")
    assert shown.lines[3] == (8, "    def inside(y):")
    assert listing("short", SourceLine(path, 13, "<lambda>"), 13).lines == (
        (13, "short = lambda x: x + 1"),
    )
    inside = listing_around("Holder.held.<locals>.inside", path, {9})
    assert [number for number, _ in inside.lines] == [8, 9, 10]
    assert listing_around("Holder.held", path, {11}).lines[0] == (5, "@staticmethod")
    assert listing_around("unknown", path, {2, 4}).lines == (
        (2, "return x"),
        (3, ""),
        (4, "class Holder:"),
    )


@pytest.mark.parametrize(
    ("line", "function"),
    [(1, "second"), (5, "Holder.first"), (13, "short"), (1, "<lambda>"), (40, "first")],
)
def test_a_file_that_was_changed_is_not_shown(tmp_path, line, function):
    path = write(tmp_path / "code.py", SOURCE)
    shown = listing(function, SourceLine(path, line, function), line + 1)
    assert shown.lines == ()
    assert "any more" in shown.missing


def test_what_cannot_be_read_is_said(tmp_path):
    gone = str(tmp_path / "gone.py")
    assert "no source code" in listing("f", SourceLine(gone, 1, "f"), 2).missing
    assert "no source code" in listing_around("f", gone, {1}).missing
    broken = write(tmp_path / "broken.py", "def f(x:\n  return x\n")
    assert listing_around("f", broken, {2}).lines == ((2, "return x"),)


def test_a_long_function_is_shown_in_part(tmp_path):
    path = write(tmp_path / "long.py", "def long(x):\n" + "    x += 1\n" * 700)
    shown = listing("long", SourceLine(path, 1, "long"), 701)
    assert (len(shown.lines), shown.left_out) == (600, 101)


# ---------------------------------------------------------------------- drawings
def smoothed(x, rate, limit):
    y = np.empty_like(x)
    level = x[0]
    for i in range(x.shape[0]):
        level = level + rate * (x[i] - level)
        if level > limit:
            level = level - limit
        y[i] = level
    return y


def graph_of(fn, *args):
    (graph,) = bcjit.explain(fn, *args).graphs
    return graph


def test_a_picture_says_what_nodes_do_as_people_write_it():
    picture = picture_of(graph_of(lambda x, k: np.sqrt(-x[1:] * k + x.sum(axis=0)), X, 2.0))
    assert [row.does for row in picture.rows] == [
        "x", "x[1:]", "-getitem", "k", "neg * k", "sum(x, axis=0)", "mul + sum", "sqrt(add)", "return sqrt",
    ]  # fmt: skip


def test_loops_and_branches_have_their_bodies_inside():
    picture = picture_of(graph_of(smoothed, X, 0.5, 2.0))
    (loop,) = [row for row in picture.rows if row.kind == "loop"]
    assert loop.does.startswith("for i in range(0, ")
    (turn,) = loop.bodies
    assert turn.title == "each turn"
    (branch,) = [row for row in turn.rows if row.kind == "cond"]
    assert branch.does == "if gt"
    assert [body.title for body in branch.bodies] == ["then", "else"]
    assert [row.does for row in turn.rows if row.kind == "input"][:2] == ["i", "level from getitem"]
    # The input that only the other side reads is not drawn.
    assert [len(body.rows) for body in branch.bodies] == [4, 2]
    # It writes what was made before it, and what comes behind it waits for that.
    writes = [picture.rows[index].name for index in loop.writes]
    assert writes == ["empty_like"]
    assert picture.rows[-1].after == () or picture.rows.index(loop) in picture.rows[-1].after
    shown = parsed(drawing(picture)[0])
    assert [e.classes for e in shown.all("g", "loop")] == [["node", "loop", "writes"]]
    (inner,) = next(shown.all("g", "loop")).all("g", "cond")
    assert "else" in inner.text()


def until(x, rng):
    while x.sum() > 1.0:
        x = ~(x > 3.0) * rng.normal(size=x.shape) * np.array([1.0, 2.0])[0]
    return x


def test_a_loop_without_a_range_repeats_and_draws_stay_in_order():
    picture = picture_of(graph_of(until, X, np.random.default_rng(0)))
    (loop,) = [row for row in picture.rows if row.kind == "loop"]
    assert loop.does == "repeat"
    (turn,) = loop.bodies
    assert turn.rows[-1].does.startswith("next x_1 = cond_result_1; end if ")

    def draws(rng):
        first = rng.normal(size=2)
        return rng.random(2) + first

    rows = picture_of(graph_of(draws, np.random.default_rng(0))).rows
    (later,) = [row for row in rows if row.does == "random(rng, 2)"]
    assert [rows[index].does for index in later.after] == ["normal(rng, size=2)"]


def test_effects_that_no_operand_orders_are_edges():
    def fn(x, out):
        out[0] = 1.0
        y = x + out
        out[1] = 2.0
        return y

    picture = picture_of(graph_of(fn, X, X.copy()))
    kinds = [(row.does, [picture.rows[i].does for i in row.after]) for row in picture.rows]
    assert ("x + out", ["out[0] = 1.0"]) in kinds
    assert ("out[1] = 2.0", ["out[0] = 1.0"]) in kinds


def test_boxes_without_edges_make_no_drawing_wider():
    sizes = [(100.0, 20.0)] * 40 + [(300.0, 20.0)] * 3
    placed = arrange(sizes, [(40, 41), (41, 42)], 42)
    assert placed.width <= 600.0
    lowest = max(y for _, y in placed.corners[:40])
    assert lowest + 20.0 < placed.corners[40][1] < placed.corners[41][1] < placed.corners[42][1]
    assert placed.routes[40, 41][0] == (placed.corners[40][0] + 150.0, placed.corners[40][1] + 20.0)


def test_boxes_do_not_overlap_and_edges_run_down():
    rng = np.random.default_rng(5)
    for boxes in (1, 2, 7, 40):
        sizes = [(float(w), float(h)) for w, h in rng.integers(20, 200, (boxes, 2))]
        edges = [
            (int(a), end)
            for end in range(1, boxes)
            for a in sorted(set(rng.integers(0, end, rng.integers(0, 4))))
        ]
        placed = arrange(sizes, edges, boxes - 1)
        found = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(placed.corners, sizes, strict=True)]
        for index, (left, top, right, bottom) in enumerate(found):
            assert -0.01 <= left <= right <= placed.width + 0.01
            assert -0.01 <= top <= bottom <= placed.height + 0.01
            for other in found[index + 1 :]:
                apart = (
                    right <= other[0] + 0.01
                    or other[2] <= left + 0.01
                    or bottom <= other[1] + 0.01
                    or other[3] <= top + 0.01
                )
                assert apart
        for (start, end), route in placed.routes.items():
            assert route[0][1] == pytest.approx(found[start][3])
            assert route[-1][1] == pytest.approx(found[end][1])
            assert all(one[1] <= other[1] + 0.01 for one, other in pairwise(route))
            # Past the boxes, not through them.
            for (x, y), (same, lower) in pairwise(route):
                for left, top, right, bottom in found:
                    inside = x == same and left < x < right
                    assert not (inside and y < bottom - 0.01 and lower > top + 0.01)


def test_notebooks_show_a_graph_as_a_drawing():
    top = parsed(graph_of(smoothed, X, 0.5, 2.0)._repr_html_())
    assert [element.name for element in top.children] == ["style", "div"]
    assert len(list(top.all("svg"))) == 1
    assert "else" in top.text()


def test_a_layer_that_is_full_goes_on_below():
    sizes = [(100.0, 20.0)] * 41
    edges = [(0, end) for end in range(1, 40)] + [(start, 40) for start in range(1, 40)]
    placed = arrange(sizes, edges, 40)
    assert placed.width < 2700  # beside one another they take 4,700
    assert len({y for _, y in placed.corners}) == 2 + 4


def test_an_empty_drawing():
    assert arrange([], []).width == 0.0
