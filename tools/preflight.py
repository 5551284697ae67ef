"""Says in one sentence what is missing before bcjit can be built with this Python; installs and changes nothing.

Must parse on Pythons far too old for bcjit, so that they get the sentence and not a syntax error.
"""

import os
import sys

OLDEST = (3, 11)


def missing():
    """Return the sentence, or None when everything is there."""
    found = "%d.%d.%d (%s)" % (sys.version_info[:3] + (sys.executable,))
    if sys.version_info[:2] < OLDEST:
        return (
            "bcjit needs CPython 3.11 or newer and this is %s; run make PYTHON=/path/to/python3.12."
            % found
        )

    import importlib.util
    import shutil
    import sysconfig

    if sys.implementation.name != "cpython":
        return "bcjit works through CPython's frame-evaluation hook and this is %s %s." % (
            sys.implementation.name,
            found,
        )
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        return (
            "Python %s lacks the modules venv and ensurepip; install its venv package (Debian: python3-venv)."
            % found
        )
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.exists(header):
        return (
            "the C headers of Python %s are not installed (no %s); install its development package (Debian: python3-dev)."
            % (found, header)
        )
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return (
            "bcjit has a C extension and there is no C compiler (%r is not found); install gcc or clang, or set CC."
            % compiler
        )
    return None


if __name__ == "__main__":
    sentence = missing()
    if sentence is not None:
        sys.stderr.write("error: " + sentence + "\n")
        sys.exit(1)
