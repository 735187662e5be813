# Each target is a line or two that a person could type; `make demo` and `make test` set up all they need in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
WORKERS ?= 2
# Signals and delays are real in some tests: what fails beside busy neighbours must pass alone, one test at a time.
AGAIN = $(BIN)/python -m pytest -m "not slow" --last-failed --last-failed-no-failures none

.PHONY: demo test lint bench cases trust docs clean

demo: .venv/stamp-demo  ## train on MNIST under unslow; the verdict, and where report.html is
	$(BIN)/unslow run examples/mnist_torch.py

test: .venv/stamp-test  ## the fast, fixed set
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --ignore tests/planted --ignore tests/docs || $(AGAIN)
	$(BIN)/python -m pytest -m "not slow" tests/planted tests/docs || $(AGAIN)

trust: .venv/stamp-test  ## all that must hold before a release, the slow tests too
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: .venv/stamp-test  ## format, style, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

docs: .venv/stamp-test  ## what the documents say still holds
	$(BIN)/python -m pytest tests/conformance/test_documents.py

bench: .venv/stamp-test  ## what unslow itself costs, as ratios of interleaved runs (half an hour; keep the machine quiet)
	for part in unexplained startup overhead rivals; do $(BIN)/python -m benchmarks.$$part || exit 1; done

cases: .venv/stamp-test  ## a collection of slow trainings: make cases CASES=folder SCORE=program
	$(BIN)/python $(SCORE) $(CASES) --unslow $(abspath $(BIN))/unslow

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/stamp-demo .venv/stamp-test: .venv/stamp-%: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[$*]'
	touch $@
