"""Pages of reports in a real browser without a window: what it makes of the document, and the picture."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import bcjit
from tests.test_report_html import parsed, smoothed

Image = pytest.importorskip("PIL.Image", reason="pictures of pages are read with Pillow, which comes with matplotlib")  # fmt: skip

pytestmark = pytest.mark.browser

X = np.arange(12.0)
# As in bcjit/reports/style.py: the first part's colour, the ground, what is behind a break.
LIGHT = {"part": (9, 105, 218), "ground": (255, 255, 255), "cut": (255, 244, 242)}
DARK = {"part": (68, 147, 248), "ground": (13, 17, 23), "cut": (42, 22, 24)}


def helper(x, k):
    return (x - x.mean()) / (x.std() + k)


def priced(model, options, x, k):
    y = (
        helper(x, k) * options["gain"]
        + np.interp(x, x, model["a rather long name of a column of the table"]) * options["gain"]
    )
    if y.max() > 1.0:
        y = y / y.max()
    print("a line", end="\r")
    return np.concatenate([y, np.median(x, keepdims=True)]) if options["mode"] == "all" else y


def report():
    made = bcjit.compile(priced)
    model = {"a rather long name of a column of the table": X}
    for x in (X, X.astype("f4"), X):
        for mode in ("all", "some"):
            made(model, {"gain": 2.0, "mode": mode}, x, 1)
    loop = bcjit.compile(smoothed)
    loop(X, 0.3, 2.0)
    return made, loop


def browser(tmp_path, *options):
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'browser'}", *options, (tmp_path / "page.html").as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def near(picture, colour, tolerance=2):
    """How many points have a colour, nearly."""
    return int((np.abs(picture.astype(int) - colour).max(axis=2) <= tolerance).sum())


def test_the_browser_finds_every_line_guard_and_node(tmp_path, capsys):
    made, loop = report()
    shown = made.report()
    shown.save(tmp_path / "page.html")
    top = parsed(browser(tmp_path, "--dump-dom").removeprefix("<!DOCTYPE html>"))
    text = top.text()
    # As it was written: nothing had to be repaired.
    written = parsed(shown.html())
    assert [element.name for element in top.all()] == [element.name for element in written.all()]
    assert text == written.text()
    for part in shown.parts:
        for row in part.picture.rows:
            assert row.does[:40] in text
        for guard in part.guards:
            assert guard.name or guard.what in text


@pytest.mark.parametrize(
    ("width", "options", "colours"),
    [(1000, (), LIGHT), (1600, ("--blink-settings=preferredColorScheme=0",), DARK)],
    ids=["narrow and light", "wide and dark"],
)
def test_the_picture_has_coloured_lines_and_nothing_runs_out_of_it(
    tmp_path, capsys, width, options, colours
):
    made, _ = report()
    bcjit.report().save(tmp_path / "all.html")
    made.report().save(tmp_path / "page.html")
    file = tmp_path / "picture.png"
    browser(tmp_path, f"--screenshot={file}", f"--window-size={width},2200", *options)
    with Image.open(file) as image:
        picture = np.asarray(image.convert("RGB"))
    assert picture.shape == (2200, width, 3)
    ground = np.array(colours["ground"])
    written = np.abs(picture.astype(int) - ground).max(axis=2) > 24
    # There is a page, with margins on both sides that nothing runs into.
    assert written.mean() > 0.02
    assert near(picture[:, :14], ground) == picture[:, :14, 0].size
    assert near(picture[:, -14:], ground) == picture[:, -14:, 0].size
    # Lines with the bar and the tint of their part, and a card for each break.
    part = np.array(colours["part"])
    tint = part * (0.08 if colours is LIGHT else 0.12) + ground * (
        0.92 if colours is LIGHT else 0.88
    )
    assert near(picture, part) > 5 * 15
    assert near(picture, tint) > 20 * width
    assert near(picture, colours["cut"]) > 20 * width
