# Everything a user or a developer needs, from a clean clone with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?= 300
# One process for each core; each one is handed a run of tests, and takes over half of another's when its own are done.
# So tests of a file, which share what is fitted once for it, mostly stay together. With a process on each core, threads of
# BLAS would only wait for one another.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test test-slow bench fuzz lint clean

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per set of extras: reinstalled when pyproject.toml changes.
$(VENV)/.run: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli]"
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench,cli]"
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run  ## the main job on data made here
	$(BIN)/thresher demo

lint: $(VENV)/.test  ## style, layers and types
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

test: lint  ## lint, layers, tests, doctests of README and docs
	$(PYTEST)

test-slow: $(VENV)/.test  ## the long runs
	$(PYTEST) -m slow

bench: $(VENV)/.bench  ## benchmarks; writes the tables of docs/benchmarks.md
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.test  ## random bytes for every reader, SECONDS for each
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	cd $(VENV) && for kind in svmlight csv npz model checkpoint; do \
	  bin/python ../tests/fuzz/fuzz_readers.py $$kind -max_total_time=$(SECONDS) -max_len=4096 || exit 1; done

clean:
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
