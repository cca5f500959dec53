# make demo: the embedded demo.  make check: while you work.  make test: before you hand in.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TORCH := torch==2.13.0
unexport PYTHONDONTWRITEBYTECODE
# Modules are compiled once, not by each of the hundreds of commands that the tests start.
BENCHMARKS := startup overhead samples kappa perturb procedure_time claims store

.PHONY: demo check fast test everything lint servers bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	$(BIN)/surefoot demo --out .

# Less than two minutes on two cores, without torch: the types are checked beside the tests.
check: $(VENV)/.check
	$(MAKE) --jobs=2 --output-sync=target lint fast

fast: $(VENV)/.check
	$(BIN)/pytest --fast -n auto --dist worksteal

# Everything, about eighteen minutes on two cores: packages of both kinds are installed side by side.
test:
	$(MAKE) --jobs=2 $(VENV)/.dev servers
	$(MAKE) --jobs=2 lint everything

everything: $(VENV)/.dev
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

servers:
	@scripts/get-browser.sh
	@scripts/get-postgres.sh

bench: $(VENV)/.bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

PACKAGE := pyproject.toml hatch_build.py scripts/compile_sampler.py $(wildcard src/surefoot/perturb/_ops/*.c)

$(VENV)/.core: $(PACKAGE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[verify]'
	@touch $@

$(VENV)/.check: $(VENV)/.core
	$(PIP) --editable '.[check]'
	@touch $@

# One call: it holds what the two above hold.
$(VENV)/.dev: $(PACKAGE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH) --editable '.[dev]'
	@touch $(VENV)/.core $(VENV)/.check $@

$(VENV)/.bench: $(VENV)/.core
	$(PIP) $(TORCH)
	$(PIP) --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html surefoot.db*
