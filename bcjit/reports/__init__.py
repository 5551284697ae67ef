"""What was captured and why, for people: reads the code cache, changes nothing and runs nothing.

``words`` (explanations of one call and reports of all calls, as text and as plain data).
"""

from bcjit.reports.words import (
    Explanation,
    RecompileReport,
    explanation_of,
    graphs_of,
    report_of,
)

__all__ = ["Explanation", "RecompileReport", "explanation_of", "graphs_of", "report_of"]
