"""Declares the C extension ``bcjit._core``; everything else about the package is in pyproject.toml.

The extension knows the frames of CPython 3.11 to 3.15. On other Pythons, and on free-threaded builds, it
is left out: the package still installs, and compiled functions run as plain Python.
"""

import glob
import sys
import sysconfig

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, CompileError, ExecError, PlatformError

KNOWN_PYTHONS = ((3, 11), (3, 15))


class BuildExt(build_ext):
    """Build with one clear sentence in place of a traceback when there is no working C compiler."""

    def run(self) -> None:
        """Build the extension.

        Raises
        ------
        SystemExit
            The compiler is missing or failed.
        """
        try:
            super().run()
        except (CCompilerError, CompileError, ExecError, PlatformError, FileNotFoundError) as error:
            message = (
                "bcjit needs a working C compiler (such as gcc or clang) and the Python headers to "
                f"build its extension bcjit._core: {error}"
            )
            raise SystemExit(message) from error


def _extensions() -> list[Extension]:
    known = KNOWN_PYTHONS[0] <= sys.version_info[:2] <= KNOWN_PYTHONS[1]
    if not known or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return []
    msvc = sys.platform == "win32"
    return [
        Extension(
            "bcjit._core",
            sources=sorted(glob.glob("bcjit/csrc/*.c")),
            depends=sorted(glob.glob("bcjit/csrc/*.h")),
            include_dirs=["bcjit/csrc", np.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=["/std:c11"] if msvc else ["-std=c11", "-O2", "-fvisibility=hidden"],
            extra_link_args=[] if msvc else ["-pthread"],
            optional=False,
        )
    ]


setup(ext_modules=_extensions(), cmdclass={"build_ext": BuildExt})
