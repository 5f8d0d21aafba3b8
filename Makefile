# make demo    all set-up, then the main job on real patients
# make test    all set-up, then every test
# make check   lint, format, types, tests
# make bench   timings, as ratios measured side by side
# make predictions   predicted errors against simulated ones (about ten minutes)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check lint bench predictions clean

demo: .venv/run
	$(BIN)/pairscore demo

test: .venv/dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2

check: lint test

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

predictions: .venv/dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.predictions

.venv/run: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

.venv/dev: .venv/run requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf .venv
