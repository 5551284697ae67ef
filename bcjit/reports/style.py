"""The style sheet of pages: light and dark, from 400 to 2000 points wide; all of it is below one class, so that notebooks keep theirs."""

from __future__ import annotations

from typing import Final

__all__ = ["PAGE", "STYLE"]

# The colours of parts: for text and bars, and as a tint behind lines.
_LIGHT_PARTS: Final = (
    "9 105 218",
    "26 127 55",
    "130 80 223",
    "188 76 0",
    "10 125 140",
    "191 57 137",
    "125 107 0",
    "87 96 106",
)
_DARK_PARTS: Final = (
    "68 147 248",
    "63 185 80",
    "171 125 248",
    "240 136 62",
    "57 197 207",
    "247 120 186",
    "212 167 44",
    "158 167 179",
)


def _parts(colours: tuple[str, ...]) -> str:
    return "\n".join(f".bcjit .p{i} {{ --c: {colour}; }}" for i, colour in enumerate(colours))


_SHEET: Final = """
.bcjit {
  --bg: #ffffff; --fg: #1f2328; --muted: #59636e; --line: #d9dfe5; --soft: #f6f8fa;
  --cut: #b42318; --cut-bg: #fff4f2; --hint: #1a6b33; --warn: #8a5a00; --warn-bg: #fff8e6; --edge: #8b949e;
  color-scheme: light; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  max-width: 1640px; margin: 0 auto; padding: 28px 32px 64px; box-sizing: border-box;
}
.bcjit *, .bcjit *::before { box-sizing: border-box; }
.bcjit h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
.bcjit h2 { font-size: 21px; line-height: 1.3; margin: 48px 0 4px; padding-top: 20px; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.bcjit h3 { font-size: 15px; margin: 30px 0 10px; font-weight: 650; }
.bcjit h4 { font-size: 14px; margin: 22px 0 6px; font-weight: 600; }
.bcjit p { margin: 6px 0; max-width: 76ch; }
.bcjit code, .bcjit .mono, .bcjit pre, .bcjit svg text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; }
.bcjit code { font-size: 0.92em; overflow-wrap: anywhere; }
.bcjit .muted { color: var(--muted); }
.bcjit .where { color: var(--muted); font-size: 13.5px; overflow-wrap: anywhere; }
.bcjit .stats { display: flex; flex-wrap: wrap; gap: 10px; margin: 18px 0 6px; padding: 0; list-style: none; }
.bcjit .stats li { border: 1px solid var(--line); border-radius: 8px; padding: 8px 14px; min-width: 96px; background: var(--soft); }
.bcjit .stats b { display: block; font-size: 19px; font-weight: 650; line-height: 1.25; font-variant-numeric: tabular-nums; }
.bcjit .stats span { color: var(--muted); font-size: 13px; }
.bcjit .stats li.bad b { color: var(--cut); }
.bcjit .bar { display: flex; height: 6px; width: 150px; border-radius: 3px; overflow: hidden; margin: 5px 0 1px; background: var(--line); }
.bcjit .bar i { display: block; height: 100%; background: rgb(var(--c)); }
.bcjit .bar .t0 { background: var(--muted); }
.bcjit .bar .t1 { background: var(--edge); opacity: 0.75; }
.bcjit .bar .t2 { background: var(--edge); opacity: 0.4; }
.bcjit .chip { display: inline-block; min-width: 21px; padding: 0 5px; border-radius: 5px; text-align: center; font-size: 12px; line-height: 19px; font-weight: 650;
  color: rgb(var(--c)); background: rgb(var(--c) / 0.14); white-space: nowrap; }
.bcjit .listing { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin: 12px 0; }
.bcjit .listing .file { padding: 7px 14px; background: var(--soft); border-bottom: 1px solid var(--line); font-size: 13px; color: var(--muted); overflow-wrap: anywhere; }
.bcjit .row { display: grid; grid-template-columns: 40px 46px minmax(0, 1fr) minmax(0, 1fr); }
.bcjit .row > .bars { display: flex; gap: 3px; padding-left: 8px; }
.bcjit .bars i { display: block; width: 5px; background: rgb(var(--c)); }
.bcjit .row.in { background: rgb(var(--c) / 0.08); }
.bcjit .row > .number { text-align: right; padding: 1px 10px 1px 0; color: var(--muted); font-size: 12.5px; line-height: 21px; user-select: none; font-variant-numeric: tabular-nums; }
.bcjit .row > .code { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1px 12px 1px 0; font-size: 13px; line-height: 21px; }
.bcjit .row > .notes { padding: 1px 14px 1px 14px; font-size: 13px; line-height: 21px; border-left: 1px solid var(--line); min-width: 0; overflow-wrap: anywhere; }
.bcjit .row.note + .row, .bcjit .row.note { border-top: 1px solid rgb(127 127 127 / 0.09); }
.bcjit .row.cut { border-bottom: 2px dashed var(--cut); }
.bcjit .note { margin: 0; }
.bcjit .note .chip { margin-right: 5px; font-size: 11px; line-height: 17px; min-width: 18px; }
.bcjit .note.names { color: var(--muted); }
.bcjit .note.failed b { color: var(--warn); font-weight: 600; }
.bcjit .note.loop::before { content: "↻ "; color: var(--muted); }
.bcjit .card { border-left: 3px solid var(--cut); background: var(--cut-bg); border-radius: 0 6px 6px 0; padding: 6px 12px; margin: 4px 0 6px; line-height: 1.45; }
.bcjit .card .head { font-weight: 600; color: var(--cut); }
.bcjit .card .hint, .bcjit .hint { color: var(--hint); }
.bcjit .card.warn { border-color: var(--warn); background: var(--warn-bg); }
.bcjit .card.warn .head { color: var(--warn); }
.bcjit .card p { margin: 2px 0; }
.bcjit .scroll { overflow-x: auto; }
.bcjit table { border-collapse: collapse; min-width: min(100%, 760px); font-size: 13.5px; margin: 8px 0; }
.bcjit th { text-align: left; font-weight: 600; color: var(--muted); font-size: 12.5px; padding: 6px 22px 6px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
.bcjit td { text-align: left; padding: 6px 22px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
.bcjit td.n, .bcjit th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bcjit td.w { white-space: nowrap; }
.bcjit details { border: 1px solid var(--line); border-radius: 8px; margin: 8px 0; }
.bcjit summary { cursor: pointer; padding: 8px 14px; font-size: 13.5px; overflow-wrap: anywhere; }
.bcjit summary .chip { margin-right: 6px; }
.bcjit details[open] > summary { border-bottom: 1px solid var(--line); }
.bcjit details > .inside { padding: 12px 14px; }
.bcjit pre { font-size: 12.5px; line-height: 1.5; margin: 0; white-space: pre; overflow-x: auto; }
.bcjit ul.plain { margin: 6px 0; padding-left: 20px; }
.bcjit ul.plain li { margin: 3px 0; }
.bcjit nav { margin: 18px 0 0; }
.bcjit a { color: rgb(var(--link)); text-decoration: none; }
.bcjit a:hover { text-decoration: underline; }
.bcjit { --link: 9 105 218; }
.bcjit svg { max-width: 100%; height: auto; display: block; }
.bcjit svg text { font-size: 12px; fill: var(--fg); }
.bcjit svg .gives, .bcjit svg .title { fill: var(--muted); }
.bcjit svg .gives { font-size: 11px; }
.bcjit svg .node > rect { fill: var(--bg); stroke: rgb(var(--c) / 0.75); stroke-width: 1.2; }
.bcjit svg .input > rect, .bcjit svg .output > rect { fill: rgb(var(--c) / 0.13); }
.bcjit svg .const > rect { fill: var(--soft); stroke: var(--line); }
.bcjit svg .loop > rect, .bcjit svg .cond > rect { fill: rgb(var(--c) / 0.05); stroke-width: 1.6; }
.bcjit svg .writes > rect { stroke: rgb(188 76 0); stroke-width: 1.8; }
.bcjit svg .body { fill: var(--bg); stroke: var(--line); }
.bcjit svg .line { fill: none; stroke: var(--edge); stroke-width: 1.2; }
.bcjit svg .head { fill: var(--edge); }
.bcjit svg .write .line { stroke: rgb(188 76 0); stroke-width: 1.6; }
.bcjit svg .write .head { fill: rgb(188 76 0); }
.bcjit svg .order .line { stroke-dasharray: 3 4; }
@media (max-width: 1180px) {
  .bcjit { padding: 20px 18px 48px; }
  .bcjit .row { grid-template-columns: 40px 46px minmax(0, 1fr); }
  .bcjit .row > .notes { grid-column: 3; border-left: 0; padding: 0 14px 4px 0; }
  .bcjit .row > .notes:empty { display: none; }
}
@media (prefers-color-scheme: dark) {
  .bcjit {
    --bg: #0d1117; --fg: #e6edf3; --muted: #9198a1; --line: #30363d; --soft: #151b23;
    --cut: #ff7b72; --cut-bg: #2a1618; --hint: #56d364; --warn: #e3b341; --warn-bg: #2a2413; --edge: #6e7681; --link: 68 147 248;
    color-scheme: dark;
  }
  .bcjit .bar .t0 { background: var(--muted); }
.bcjit .bar .t1 { background: var(--edge); opacity: 0.75; }
.bcjit .bar .t2 { background: var(--edge); opacity: 0.4; }
.bcjit .chip { background: rgb(var(--c) / 0.2); }
  .bcjit .row.in { background: rgb(var(--c) / 0.12); }
DARK_PARTS
}
"""

STYLE: Final = _parts(_LIGHT_PARTS) + _SHEET.replace("DARK_PARTS", _parts(_DARK_PARTS))
# What a page of its own needs beside it.
PAGE: Final = """
body { margin: 0; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; } }
"""
