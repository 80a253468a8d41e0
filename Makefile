# Every target works first on a fresh clone: it needs Python 3.11, pip and make, and sets up the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
PAGES  := src/gristmill/serve/dashboard/static/built
PARTS  := tools/pages.py $(wildcard dashboard/*.json dashboard/*.html dashboard/src/* dashboard/src/*/*)

# Byte code is kept, whatever the shell says: tests start hundreds of processes, and each would compile what it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test unit servers check docs attack bench bench-search bench-tokens clean

help:    ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) $(PAGES)    ## create .venv, install the package and what the repo needs, build the dashboard

$(STAMP): pyproject.toml
	$(PYTHON) tools/setup.py $(VENV)
	@touch $@

$(PAGES): $(PARTS) | $(STAMP)
	$(BIN)/python tools/pages.py
	@touch $@

demo: setup    ## answer questions over the example apps live: code, nested calls, answer, tokens three ways
	@$(BIN)/gristmill demo --app all

test: check unit attack    ## checks, tests and attack tests: what CI runs

unit: setup servers    ## unit, integration and end-to-end tests
	$(BIN)/python -m pytest tests examples --ignore=tests/attack -q -n 3 --dist loadfile

servers: setup    ## install the real tool servers that the tests talk to, into .tools
	@$(BIN)/python -m tests.servers

check: setup    ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tools/reference.py --check

docs: setup    ## write docs/reference from the code
	$(BIN)/python tools/reference.py

attack: setup    ## attack tests, as root (where we are root) and as an unprivileged user
	$(BIN)/python tools/attack.py

bench: setup    ## measure against peers and floors; writes bench/out/*.json
	$(BIN)/python -m bench.run

bench-search: setup    ## search quality and cost on the dev sets, against baselines; needs the benchmark data
	$(BIN)/python bench/search.py

bench-tokens: setup    ## tokens of all tasks, three ways; with GRISTMILL_IDLE_TOOLS=FILE beside 500 idle tools
	$(BIN)/python -m bench.tokens

clean:    ## remove what the targets made
	rm -rf $(VENV) .tools dashboard/node_modules $(dir $(PAGES)) bench/out tests/artifacts .pytest_cache .ruff_cache .hypothesis
