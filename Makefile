# make demo: the embedded demo.  make check: while you work.  make test: before you hand in.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TORCH := torch==2.13.0
BENCHMARKS := startup overhead samples kappa perturb procedure_time claims store

.PHONY: demo check fast test lint browser postgres bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	$(BIN)/surefoot demo --out .

# Less than two minutes on two cores, without torch: the types are checked beside the tests.
check: $(VENV)/.check
	$(MAKE) --jobs=2 --output-sync=target lint fast

fast: $(VENV)/.check
	$(BIN)/pytest --fast -n auto --dist worksteal

# Everything, about seventeen minutes on two cores.
test: $(VENV)/.dev lint browser postgres
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser:
	@scripts/get-browser.sh

postgres:
	@scripts/get-postgres.sh

bench: $(VENV)/.bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

$(VENV)/.core: pyproject.toml hatch_build.py scripts/compile_sampler.py src/surefoot/perturb/_ops/sampler.c src/surefoot/perturb/_ops/noise.c
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[verify]'
	@touch $@

$(VENV)/.check: $(VENV)/.core
	$(PIP) --editable '.[check]'
	@touch $@

$(VENV)/.dev: $(VENV)/.check
	$(PIP) $(TORCH)
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	$(PIP) $(TORCH)
	$(PIP) --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html surefoot.db*
