"""The table of graph-break reasons, the only place where they are worded; raising one is all it does.

Every row is raised by some test (``tests/test_break_reasons.py``). A break is never an error for the user: the code at
that point runs as plain Python and capture goes on behind it. Codes are stable: rows are added, never renumbered.
"""

from __future__ import annotations

from typing import Final, NoReturn

from bcjit.errors import BreakReason, GraphBreak

__all__ = ["REASONS", "break_graph"]

_NEXT = "The instruction runs as plain Python; capture goes on behind it."

_ROWS: Final = (
    BreakReason(
        "BRK001",
        "data-dependent branch",
        "Which way to go depends on values that are known only when the graph has run, so the graph is cut here; each "
        "side is captured when it is first taken.",
        "np.where(condition, a, b) keeps both sides in one graph.",
    ),
    BreakReason(
        "BRK002",
        "call of an unknown function",
        f"Nothing is known of what this callable does. {_NEXT}",
        "Call it before or after the array work, or write it as a Python function over NumPy.",
    ),
    BreakReason(
        "BRK003",
        "print or other output",
        f"Output is never moved past other work. {_NEXT}",
        "Print after the numeric part, or outside the compiled function.",
    ),
    BreakReason("BRK004", "bcjit.graph_break()", "The program asks for a cut here."),
    BreakReason(
        "BRK005",
        "call of a function excluded by bcjit.disable",
        f"The function is marked to run as plain Python. {_NEXT}",
    ),
    BreakReason(
        "BRK006",
        "call that cannot be inlined",
        f"The callee holds something that cannot be captured as part of its caller. {_NEXT} The callee is captured by "
        "itself.",
        "What keeps it apart stands in brackets, and its own hint with the part that is cut there. A with block (np.errstate, for instance) can be put around the call of the compiled function.",
    ),
    BreakReason(
        "BRK007",
        "inlining depth",
        f"Calls are inlined to a limited depth. {_NEXT}",
        "bcjit.config.inline_depth sets the limit.",
    ),
    BreakReason(
        "BRK008",
        "NumPy call that is not captured",
        f"This NumPy function, or this way of calling it, is not described in the op table (docs/op_support.md). {_NEXT}",
        "Nothing needs to be done: the result is right. Fewer such calls make larger graphs.",
    ),
    BreakReason(
        "BRK009",
        "call that raises",
        "For these arguments NumPy or Python raises here. The instruction runs as plain Python, so that the exception is "
        "the real one.",
    ),
    BreakReason(
        "BRK010",
        "attribute that cannot be read without running code",
        f"Reading this attribute may run code of the program. {_NEXT}",
        "Read it into a local variable before the array work; where it is a module of a package, import it at the top of the file (import numpy.random).",
    ),
    BreakReason(
        "BRK011",
        "change of an object from outside the frame",
        f"The change must be seen by others at this moment. {_NEXT}",
        "Compute into local variables, and assign attributes and items at the end.",
    ),
    BreakReason(
        "BRK012",
        "operation on a value without a rule",
        f"There is no rule for this operation on these types. {_NEXT}",
    ),
    BreakReason(
        "BRK013",
        "value that must be known",
        "Python must know this value here, as a key, an index of a list or a length, and it is not the same each time: it is computed by "
        f"the graph, or another in each call or turn of a loop. {_NEXT}",
        "Collect values in a list or in an array made before the loop, and put them into dicts behind it; compute keys and lengths of "
        "Python numbers, not of arrays.",
    ),
    BreakReason(
        "BRK014",
        "raise",
        "An exception is raised. The instruction runs as plain Python, so that the traceback is the real one.",
    ),
    BreakReason(
        "BRK015",
        "unbound name",
        "The name has no value here. The instruction runs as plain Python, so that the exception is the real one.",
    ),
    BreakReason(
        "BRK016",
        "instruction without a symbolic meaning",
        f"This kind of instruction works on things outside the graph. {_NEXT}",
    ),
    BreakReason(
        "BRK017",
        "turn of a loop",
        "The loop stays in Python and its body is a graph of its own, so that capturing takes as long however many turns "
        "there are.",
        "What keeps the loop in Python is said of the loop itself: where that can be taken out, or whole-array operations can stand in place of the "
        "loop, there is one graph.",
    ),
    BreakReason(
        "BRK018",
        "capture limit",
        f"One capture interprets a limited number of instructions. {_NEXT}",
        "bcjit.config.capture_limit sets the limit.",
    ),
    BreakReason(
        "BRK019",
        "generator or coroutine",
        "A suspended frame cannot be replaced; the function runs as plain Python.",
    ),
    BreakReason(
        "BRK020",
        "array that is not a plain numeric ndarray",
        f"Subclasses, masked, object, text, date and structured arrays run as plain Python. {_NEXT}",
    ),
    BreakReason(
        "BRK021",
        "write or draw that cannot be undone in an inlined call",
        "A failure after a visible write or random draw inside this kind of inlined call could not be resumed. "
        + _NEXT,
    ),
    BreakReason(
        "BRK022",
        "debugger or trace function",
        "The function switches on something that watches its frame, and runs as plain Python so that it is seen as "
        "written.",
        "Take the breakpoint() out to compile it.",
    ),
    BreakReason(
        "BRK023",
        "handling of an exception",
        f"Entering and leaving an except or finally block changes what sys.exc_info() gives. {_NEXT}",
    ),
    BreakReason(
        "BRK024",
        "entering or leaving a with block",
        f"The context manager is called. {_NEXT} The block itself is captured.",
        "Where the block may as well be around the call of the compiled function (np.errstate, for instance), put it there.",
    ),
    BreakReason(
        "BRK025",
        "loop without array work",
        "Nothing was captured in a whole turn of the loop, so it runs as plain Python; capture goes on behind it.",
    ),
    BreakReason(
        "BRK026",
        "function that reads its own frame",
        "What the function takes or changes of its frame (a frame object, the dict of locals) must stay the frame's to the end, so from the part "
        "on that does so the function runs as plain Python.",
        "Name the variables instead: eval with a namespace, a dict of what is needed.",
    ),
)
REASONS: Final[dict[str, BreakReason]] = {row.code: row for row in _ROWS}

DATA_BRANCH: Final = "BRK001"
UNKNOWN_CALL: Final = "BRK002"
OUTPUT: Final = "BRK003"
ASKED: Final = "BRK004"
DISABLED: Final = "BRK005"
NOT_INLINED: Final = "BRK006"
INLINE_DEPTH: Final = "BRK007"
NUMPY_UNSUPPORTED: Final = "BRK008"
WOULD_RAISE: Final = "BRK009"
ATTRIBUTE: Final = "BRK010"
OUTSIDE_WRITE: Final = "BRK011"
NO_RULE: Final = "BRK012"
MUST_KNOW: Final = "BRK013"
RAISE: Final = "BRK014"
UNBOUND_NAME: Final = "BRK015"
INSTRUCTION: Final = "BRK016"
LOOP: Final = "BRK017"
CAPTURE_LIMIT: Final = "BRK018"
SUSPENDS: Final = "BRK019"
NOT_NUMERIC: Final = "BRK020"
WRITE_IN_INLINED: Final = "BRK021"
DEBUGGER: Final = "BRK022"
EXCEPTION: Final = "BRK023"
WITH: Final = "BRK024"
OWN_FRAME: Final = "BRK026"


def break_graph(code: str, context: str = "") -> NoReturn:
    """Cut the graph at the current instruction for the reason `code` of the table.

    Raises
    ------
    GraphBreak
        Always; the interpreter fills in the user's line.
    """
    raise GraphBreak(REASONS[code], context)
