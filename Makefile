# `make demo` and `make test` do all set-up themselves; python3 (3.11 or newer) and make are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help setup demo test test-long check bench bench-many bench-eddy bench-shapes bench-revisions bench-tags bench-joins clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "eddyline needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP) ## create .venv with everything in it

demo: $(STAMP) ## run the examples of the papers
	@$(BIN)/python examples/demo.py

test: $(STAMP) ## run the tests (an hour on two cores)
	$(BIN)/python -m pytest -n 2 -m "not long"

test-long: $(STAMP) ## run all tests, the long ones too
	EDDYLINE_TEST_EXAMPLES=40 $(BIN)/python -m pytest -n 2

check: $(STAMP) ## ruff, mypy, doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --doctest-modules src

bench: $(STAMP) ## measure against hand-written Structured Streaming (minutes; BENCH=--long for more)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.run $(BENCH)

bench-many: $(STAMP) ## measure a million standing queries beside Structured Streaming and PyFlink (40 minutes; BENCH=… for less)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.many $(BENCH)

bench-eddy: $(STAMP) ## measure the eddy beside every fixed order of conditions, while selectivities flip (minutes)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.eddy $(BENCH)

bench-shapes: $(STAMP) ## measure queries of different shapes on small pushes (a minute)
	@$(BIN)/python -m bench.shapes $(BENCH)

bench-revisions: $(STAMP) ## measure corrections: upstream, downstream, auto, and beside plain Spark (an hour; BENCH=… for less)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.revisions $(BENCH)

bench-tags: $(STAMP) ## measure tags: the tag paper's experiments on moving objects (25 minutes; BENCH=… for less)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.tags $(BENCH)

bench-joins: $(STAMP) ## measure multi-way joins: planners, estimates, joins that run, changes, and beside others (long; BENCH=… for less)
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m bench.joins $(BENCH)

clean: ## remove what set-up and tests made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
