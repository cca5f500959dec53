# make demo: set up and run the embedded demo.  make test: set up and run every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0

.PHONY: demo test check browser bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	$(BIN)/surefoot demo --out .

test: check browser
	$(BIN)/pytest -n auto --dist worksteal

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser:
	@scripts/get-browser.sh

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/samples.py
	$(BIN)/python benchmarks/kappa.py
	$(BIN)/python benchmarks/perturb.py
	$(BIN)/python benchmarks/telling.py
	$(BIN)/python benchmarks/claims.py

$(VENV)/.core: pyproject.toml hatch_build.py scripts/compile_sampler.py src/surefoot/perturb/_ops/sampler.c
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html surefoot.db*
