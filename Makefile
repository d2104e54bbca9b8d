# Two commands: `make demo` runs the main job for real, `make test` passes the tests.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
FLOOR  := $(shell sed -n -E 's/.*"(inspect-ai|openai)>=([0-9.]+)".*/\1==\2/p' pyproject.toml)
PYTEST := $(BIN)/pytest -n $(or $(WORKERS),2) --dist worksteal

.PHONY: demo test quick floor check docs bench weights clean
.DELETE_ON_ERROR:

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet torch==2.13.0 # first: an open range can fetch gigabytes
	$(BIN)/pip install --quiet --editable '.[local,openai,pandas,personal,ray,semantic,dev]'
	touch $@

weights: $(READY) ## the models of the demo and the tests, once, checked by SHA-256
	$(BIN)/python scripts/fetch_weights.py \
		qwen2.5-coder-0.5b smollm2-135m all-mpnet-base-v2

demo: weights
	$(BIN)/python scripts/demo.py

test: weights
	$(PYTEST)

quick: $(READY) ## the tests that start no debate and no model: under 90 s on two cores
	$(PYTEST) -m "not slow"

floor: $(READY) ## what meets Inspect, with the oldest release that pyproject allows
	rm -rf .floor
	$(BIN)/pip install --quiet --target .floor $(FLOOR)
	PYTHONPATH=$(CURDIR)/.floor $(PYTEST) tests/test_inspect.py tests/test_providers_openai.py \
		tests/test_quirks.py tests/test_viewer.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/command_reference.py --check
	$(BIN)/python scripts/estimates_schema.py --check
	$(MAKE) docs

docs: $(READY) ## the documentation, into site/; any warning fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: weights
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .floor site .mypy_cache .ruff_cache .pytest_cache .hypothesis
