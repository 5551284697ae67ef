# One command a task, the same on a laptop and in .ci/run. Set-up happens once, and again when what it depends on changes.
#   make demo        the probes, then four real jobs, compiled and plain, side by side
#   make test        the tests that run in minutes          make test-full   all that run in hours
#   make check       lint, format, types, layers, spelling  make coverage    branch coverage of bcjit/
#   make bench       promised figures beside measured ones  make clean       removes what these made
# PYTHON=... chooses the Python (CPython 3.11 to 3.15) that .venv is made from.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A path entry instead of an import finder, so that a folder named bcjit beside a program (a clone) does not hide the package.
EDITABLE := --config-settings editable_mode=compat
# In the order of the files: the few long tests of some must not come last.
# No second worker for one that crashed: xdist would wait for it for ever.
PYTEST_ARGS ?= -q -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart=0
BUILD_INPUTS := pyproject.toml setup.py tools/preflight.py $(wildcard bcjit/csrc/*.c bcjit/csrc/*.h)

.PHONY: demo test test-full check coverage bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-full: $(VENV)/.installed-dev
	BCJIT_FULL=1 $(BIN)/python -m pytest $(PYTEST_ARGS) --timeout=3600 -o faulthandler_timeout=3600

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

# BCJIT_COVERAGE: frames that are being traced are left alone, save here, or the tests would measure plain Python.
coverage: $(VENV)/.installed-dev
	BCJIT_COVERAGE=1 $(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=term --cov-report=html

bench: $(VENV)/.installed-demo
	$(BIN)/python -m bcjit bench dispatch
	$(BIN)/python -m bcjit bench capture
	$(BIN)/python -m benchmarks
	$(BIN)/python -m bcjit bench suite

$(VENV)/.installed-demo: $(BUILD_INPUTS)
	@$(PYTHON) tools/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) $(EDITABLE) -e '.[demo,native]'
	@touch $@

$(VENV)/.installed-dev: $(BUILD_INPUTS)
	@$(PYTHON) tools/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) $(EDITABLE) -e '.[dev]'
	@touch $@ $(VENV)/.installed-demo

clean:
	rm -rf $(VENV) build dist bcjit.egg-info bcjit/*.so .coverage htmlcov .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
