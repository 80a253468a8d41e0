# Every target works first on a fresh clone: it needs Python 3.11, pip and make, and sets up the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
PAGES  := src/gristmill/serve/dashboard/static/built
PARTS  := tools/pages.py $(wildcard dashboard/package*.json dashboard/tsconfig.json dashboard/*.html dashboard/src/* dashboard/src/*/*)

# Byte code is kept, whatever the shell says: tests start hundreds of processes, and each would compile what it imports.
export PYTHONDONTWRITEBYTECODE :=

COVERAGE ?= --cov --cov-report= --cov-fail-under=93
LOCK   := uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --custom-compile-command "make lock"

.PHONY: help setup lock upgrade dist site demo test test-all test-frameworks unit test-faults coverage servers frameworks check docs attack test-cpython bench bench-search bench-tokens bench-models bench-growth clean

help:    ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) $(PAGES)    ## create .venv, install the package and what the repo needs, build the dashboard

$(STAMP): pyproject.toml requirements-dev.lock requirements-code.lock tools/setup.py
	$(PYTHON) tools/setup.py $(VENV)
	@touch $@

$(PAGES): $(PARTS) | $(STAMP)
	$(BIN)/python tools/pages.py
	@touch $@

demo: setup    ## answer questions over the example apps live: code, nested calls, answer, tokens three ways
	@$(BIN)/gristmill demo --app all

test: check unit attack    ## checks, tests and attack tests: what CI runs

unit: setup servers    ## unit, integration and end-to-end tests, with branch coverage of ground, rooms and hall (COVERAGE= is without)
	$(BIN)/python tools/run_tests.py tests examples --ignore=tests/attack -m "not thorough" -q -n 3 --dist loadfile $(COVERAGE)

test-all: check servers frameworks    ## everything, the heavy matrices included: all tests, attack tests, CPython's own tests
	$(BIN)/python tools/run_tests.py tests examples --ignore=tests/attack -q -n 3 --dist loadfile
	$(BIN)/python tools/attack.py
	$(BIN)/python tools/cpython_tests.py

test-frameworks: frameworks    ## agent frameworks over the service, each in its own environment (1.5 GB in .tools)
	$(BIN)/python -m pytest tests/frameworks tests/e2e/langchain/test_deep_sandbox.py -q

FAULTS := tests/faults tests/e2e/http/test_slow_clients.py tests/deploy/test_small.py tests/integration/upstream/test_large_answers.py \
          $(wildcard tests/integration/test_keep_*.py tests/integration/upstream/test_hostile_*.py tests/integration/store/test_*_faults.py)

test-faults: setup    ## all fault tests: 400 kills, full disk, few descriptors and processes, 256 MB, databases, clocks, slow clients (an hour)
	$(BIN)/python -m pytest $(FAULTS) -q -n 2

coverage:    ## after `make unit`: which lines and branches no test reached
	$(BIN)/coverage report --skip-covered --show-missing --sort=cover

servers: setup    ## install the real tool servers that the tests talk to, into .tools
	@$(BIN)/python -m tests.servers

frameworks: setup
	@$(BIN)/python -m tests.servers frameworks

check: setup    ## format, lint, types, import contracts, generated pages and types, licences, known vulnerabilities; the dashboard too
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/openapi.py --check
	$(BIN)/python tools/check_pages.py
	$(BIN)/bandit -q -c pyproject.toml -r src
	$(BIN)/pip-licenses --from=mixed > /dev/null
	$(BIN)/python tools/audit.py

lock: setup    ## write the lock files from pyproject.toml; versions that still fit stay
	$(BIN)/$(LOCK) $(UPGRADE) pyproject.toml --group dev -o requirements-dev.lock
	$(BIN)/$(LOCK) $(UPGRADE) --group code -o requirements-code.lock

upgrade:    ## the same with the newest versions
	$(MAKE) lock UPGRADE=--upgrade

dist: setup    ## build wheel and sdist, dashboard included, into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

site: setup    ## build the documentation site into site/; broken links fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

docs: setup    ## write docs/reference and the dashboard's API types from the code
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/openapi.py
	$(BIN)/python tools/check_pages.py --write

test-cpython: setup    ## CPython's own tests inside the sandbox, against the same tests outside (ten minutes)
	$(BIN)/python tools/cpython_tests.py

attack: setup    ## attack tests, as root (where we are root) and as an unprivileged user
	$(BIN)/python tools/attack.py

bench: setup    ## measure against peers and floors; writes bench/out/*.json
	$(BIN)/python -m bench.run

bench-search: setup    ## search quality and cost on the dev sets, against baselines; needs the benchmark data
	$(BIN)/python bench/search.py

bench-growth: setup    ## what each answer costs with 1,000 to 100,000 executions on record (ARGS="--sizes 1000,1000000" or --url for PostgreSQL)
	$(BIN)/python -m bench.growth $(ARGS)

bench-tokens: setup    ## tokens of all tasks, three ways; with GRISTMILL_IDLE_TOOLS=FILE beside 500 idle tools
	$(BIN)/python -m bench.tokens

bench-models: setup    ## a real model answers the tasks three ways (GRISTMILL_MODEL_URL, _KEY, _NAME, else a local one; ARGS="--tasks six")
	$(BIN)/python -m bench.models $(ARGS)

clean:    ## remove what the targets made
	rm -rf $(VENV) .tools dist site dashboard/node_modules $(dir $(PAGES)) bench/out tests/artifacts .pytest_cache .ruff_cache .hypothesis
