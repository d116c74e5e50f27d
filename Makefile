# Only python3 (3.11 or newer) and make are needed; everything else goes into .venv.
#
#   make demo       compare every model on a bundled data set, and write report.html
#   make test       the tests            make test-slow   the long ones
#   make lint       style, types, layers make format      apply the style
#   make docs       the site, in build/docs
#   make fuzz       random inputs for every law, for MINUTES=30
#   make coverage   which lines of families, kernels, stats and solvers the tests reach
#   make bench      the race against other libraries; WORKLOAD=name for one of them
#   make audit      known vulnerabilities of the versions in constraints.txt (needs the network)
#   make constraints  write constraints.txt anew with the newest versions
#   make dist       wheel and source archive; make smoke tries the wheel in an empty environment
#   make clean      remove .venv and caches

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# every environment gets the versions of constraints.txt, for building too; make CONSTRAINTS= … takes the newest
CONSTRAINTS := constraints.txt
PIP := -m pip --quiet --disable-pip-version-check
INSTALL := PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) $(BIN)/python $(PIP) install --editable

# without bytecode, each program that a test starts would read all sources anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow lint format docs fuzz coverage bench audit constraints dist smoke clean
.DEFAULT_GOAL := demo

demo: $(VENV)/demo.installed
	$(BIN)/mercer compare breast-cancer --report report.html

# one file per worker: the laws of a file share what its loops compiled
test: $(VENV)/test.installed $(VENV)/chromium.tried
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

test-slow: $(VENV)/test.installed
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m slow

lint: $(VENV)/lint.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/lint.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# random inputs for every law of tests/fuzz; counts and finds go to build/fuzz.json. SEED=number draws the same again
MINUTES ?= 30
SEED ?=
fuzz: $(VENV)/test.installed
	MERCER_FUZZ_MINUTES=$(MINUTES) $(if $(SEED),MERCER_FUZZ_SEED=$(SEED)) $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/fuzz

# the lines of four packages that tests reach, with loops as plain Python
COVERED := families kernels stats optim
coverage: $(VENV)/test.installed
	rm -rf build/coverage && mkdir -p build/coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q -n 2 -m "not slow" \
	  $(COVERED:%=tests/%) tests/testing tests/linear_model/test_linear_threshold.py tests/kernel_ridge/test_perceptron.py \
	  $(COVERED:%=src/mercer/%)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

docs: $(VENV)/docs.installed
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs
	@echo "open build/docs/index.html"

bench: $(VENV)/bench.installed
	$(BIN)/python -m bench $(WORKLOAD)

# asks the database of advisories, so it is not part of .ci/run
audit: | $(BIN)/python
	$(BIN)/python $(PIP) install pip-audit
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

# without torch's build (2.13.0+cpu): indexes differ in what they call it
constraints:
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/python $(PIP) install --editable '.[test,lint]'
	build/constraints/bin/python $(PIP) freeze --exclude mercer | sed 's/+.*//' > constraints.txt

dist: $(VENV)/release.installed
	rm -rf dist
	$(BIN)/hatchling build

# from build/, where no sources are to be found; what is compiled goes there too, as on a machine that never saw mercer
smoke: dist
	rm -rf build/smoke && $(PYTHON) -m venv build/smoke
	build/smoke/bin/python $(PIP) install dist/*.whl
	cd build && NUMBA_CACHE_DIR=smoke/numba smoke/bin/python ../tests/release/smoke.py

clean:
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +

# The stamps are remade when pyproject.toml or the versions change; the installation is editable, so that sources need none.
$(VENV)/demo.installed: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) .
	@touch $@

$(VENV)/%.installed: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) '.[$*]'
	@touch $@

# The page of a comparison is tested in a browser. Where it may be installed it is, once; elsewhere those tests are skipped.
$(VENV)/chromium.tried: | $(BIN)/python
	@if [ -z "$$(command -v chromium)" ] && [ "$$(id -u)" = 0 ] && [ -n "$$(command -v apt-get)" ]; then \
	  export DEBIAN_FRONTEND=noninteractive; quick="-qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20"; \
	  { apt-get $$quick update && apt-get $$quick install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
	    || echo "chromium could not be installed; the tests of the page in a browser are skipped"; \
	fi
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "mercer needs Python 3.11 or newer; point to one with: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
