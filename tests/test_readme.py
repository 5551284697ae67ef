"""The example of README.md prints what README.md says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.report_kit import timeless

README = Path(__file__).parent.parent / "README.md"


def test_example_prints_what_the_readme_says(tmp_path):
    text = README.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    (tmp_path / "example.py").write_text(program)
    done = subprocess.run(
        [sys.executable, tmp_path / "example.py"], capture_output=True, text=True, check=False
    )
    assert (timeless(done.stdout), done.stderr) == (timeless(expected), "")
