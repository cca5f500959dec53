# make demo: the embedded demo.  make check: while you work.  make test: before you hand in.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
TORCH := torch==2.13.0
unexport PYTHONDONTWRITEBYTECODE
# Modules are compiled once, not by each of the hundreds of commands that the tests start.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2)
# Tests that wait for a server or another process leave their core to others.
BENCHMARKS := startup overhead samples kappa perturb procedure_time claims store

.PHONY: demo check fast test everything lint docs papers servers bench dist clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	$(BIN)/surefoot demo --out .

# Less than two minutes on two cores, without torch: the types are checked beside the tests.
check: $(VENV)/.check
	$(MAKE) --jobs=2 --output-sync=target lint fast

fast: $(VENV)/.check
	$(BIN)/pytest --fast -n auto --dist worksteal

# Everything, 17 to 23 minutes on two cores with installation: packages of both kinds are installed side by side.
test:
	$(MAKE) --jobs=2 $(VENV)/.dev servers
	$(MAKE) --jobs=2 everything lint docs

# First one process compiles, beside the linters, what each worker would compile for itself.
everything: $(VENV)/.dev
	-$(BIN)/pytest --collect-only > /dev/null
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file benchmarks/mypy.ini benchmarks/*.py
	$(BIN)/lint-imports

# Half a minute: a broken link, a page without a place and a public name without a docstring are errors.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open site/index.html in a browser"

# A minute: every table and figure of the five papers, small, on the embedded networks.
papers: $(VENV)/.core
	mkdir -p exhibits
	for name in bu-sun mu-lim roma sigma asap; do $(BIN)/python -m papers $$name --quick \
	  --store exhibits/papers.db --report exhibits/$$name.html > exhibits/$$name.txt || exit 1; done
	@echo "open exhibits/*.html in a browser"

# What is uploaded, see docs/release.md; scripts/try-wheel.sh tries it in a fresh environment.
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

servers:
	@scripts/get-browser.sh
	@scripts/get-postgres.sh

bench: $(VENV)/.bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

PACKAGE := pyproject.toml hatch_build.py scripts/compile_library.py $(wildcard src/surefoot/compiled/*.c)

$(VENV)/.core: $(PACKAGE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[verify]'
	@touch $@

$(VENV)/.check: $(VENV)/.core
	$(PIP) --editable '.[check]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.release: $(VENV)/.core
	$(PIP) --editable '.[release]'
	@touch $@

# One call: it holds what the others hold, but for what a release needs.
$(VENV)/.dev: $(PACKAGE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH) --editable '.[dev]'
	@touch $(VENV)/.core $(VENV)/.check $(VENV)/.docs $@

$(VENV)/.bench: $(VENV)/.core
	$(PIP) $(TORCH)
	$(PIP) --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) site exhibits dist .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html surefoot.db*
