#!/bin/sh
# Runs the C extension under valgrind and fails when an error has a frame of it on the stack.
#
#   tests/valgrind_core.sh [python]
#
# Suppression is by origin, not by list: CPython, NumPy and the loader report errors of their own that
# differ between versions and builds. Of all reports only those count in which a function of bcjit/_core
# takes part: invalid reads and writes, uses of undefined values, and memory that it allocated itself and
# that is definitely lost. PYTHONMALLOC=malloc, or valgrind sees arenas instead of objects.
set -eu
python=${1:-python}
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
PYTHONMALLOC=malloc PYTHONPATH=.:tests PYTHONDONTWRITEBYTECODE=1 \
  valgrind --leak-check=full --show-leak-kinds=definite --num-callers=30 --error-limit=no \
  --fullpath-after= --log-file="$log" "$python" -X faulthandler tests/valgrind_core.py || { tail -50 "$log"; exit 1; }
# Reports are paragraphs; a line of only "==pid==" ends one.
sed 's/^==[0-9]*== \{0,1\}//' "$log" | awk -v RS='' '
  /bcjit\/csrc\/|bcjit\/_core[^ ]*\.so/ { print; print ""; found++ }
  END { printf "reports with bcjit._core on the stack: %d\n", found + 0; exit found > 0 }'
