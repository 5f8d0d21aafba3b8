# make demo    all set-up, then the main job on real patients
# make paper   all set-up, then the paper's experiments, figures and claims (minutes)
# make test    all set-up, then every test
# make test-spark   fits on a Spark master with two workers; installs pyspark, and Java where it may
# make studies   long statistical studies, with a table of what was expected and seen
# make check   lint, format, types, tests, documentation
# make docs    the documentation as a site, in docs/_build/html
# make house   size of the source, its imports and what one fit passes
# make bench   timings, as ratios measured side by side
# make test-oldest   every test, with the oldest versions that pyproject.toml allows
# make release-check   source archive and wheels, tried in fresh environments on every Python found
# make predictions   predicted errors against simulated ones (about ten minutes)
PYTHON ?= python3
BIN := .venv/bin
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# Compiled modules are kept: every test of a command starts an interpreter.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo paper test test-spark studies check lint docs house bench predictions test-oldest release-check clean

demo: .venv/demo
	$(BIN)/pairscore demo

paper: .venv/run
	$(BIN)/pairscore reproduce

test: .venv/dev .venv/browser .venv/database .venv/object-store
	$(ONE_THREAD) $(BIN)/pytest -q -n 2 --dist worksteal

test-spark: .venv/spark
	$(ONE_THREAD) PYTHONPATH=$(CURDIR) $(BIN)/pytest -q tests/streaming/spark_cluster.py

studies: .venv/docs .venv/browser
	$(ONE_THREAD) $(BIN)/pytest -q -n 2 --dist worksteal studies

check: lint test docs

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32
	$(BIN)/mypy --platform darwin

docs: .venv/docs
	$(ONE_THREAD) $(BIN)/sphinx-build -E -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

house: .venv/dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks.house

bench: .venv/dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks
	$(ONE_THREAD) $(BIN)/python -m benchmarks.item_effects speed

# The oldest versions are derived from pyproject.toml, and installed for the same Python.
OLDEST ?= build/oldest
test-oldest: .venv/dev .venv/browser .venv/database .venv/object-store
	rm -rf $(OLDEST)
	$(BIN)/python -m venv $(OLDEST)
	$(BIN)/python -m release.oldest > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/pip install --quiet --upgrade pip
	$(OLDEST)/bin/pip install --quiet -r $(OLDEST)/requirements.txt
	$(OLDEST)/bin/pip install --quiet --no-deps -e .
	$(ONE_THREAD) $(OLDEST)/bin/pytest -q -n 2 --dist worksteal

# Pythons are looked for on PATH and in the folders that PAIRSCORE_PYTHONS names;
# PYTHONS="3.12 --all" and the like are words for the check.
release-check: .venv/dev .venv/database
	$(BIN)/python -u -m release.check $(PYTHONS)

predictions: .venv/dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks.predictions

.venv/run: requirements.txt pyproject.toml setup.py src/pairscore/core/_kernels.pyx
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

.venv/demo: .venv/run requirements-demo.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-demo.txt
	touch $@

.venv/dev: .venv/run requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

.venv/docs: .venv/dev requirements-docs.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

.venv/spark: .venv/dev requirements-spark.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-spark.txt
	command -v java > .venv/java.log \
	  || { apt-get update -qq && apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless; } > .venv/java.log 2>&1 \
	  || { echo "Java could not be installed (see .venv/java.log)"; exit 1; }
	touch $@

# A browser looks at the pages. Where none is installed and none can be, its tests are skipped and say so.
.venv/browser: .venv/run
	for name in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$name && break; done \
	  || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } > .venv/browser.log 2>&1 \
	  || echo "no browser could be installed (see .venv/browser.log)"
	touch $@

# A database server and an S3 server for tests, which start and stop them. Where one cannot be installed,
# its tests are skipped and say so.
.venv/database: .venv/run
	command -v initdb || ls /usr/lib/postgresql/*/bin/initdb \
	  || { apt-get update -qq && apt-get install -qq -y --no-install-recommends postgresql; } > .venv/database.log 2>&1 \
	  || echo "no PostgreSQL server could be installed (see .venv/database.log)"
	touch $@

.venv/object-store: .venv/run requirements-s3.txt
	{ test -x .venv/s3/bin/python || $(PYTHON) -m venv .venv/s3; } \
	  && .venv/s3/bin/pip install --quiet --disable-pip-version-check -r requirements-s3.txt > .venv/object-store.log 2>&1 \
	  || echo "no S3 server could be installed (see .venv/object-store.log)"
	touch $@

clean:
	rm -rf .venv docs/_build build/oldest build/release
