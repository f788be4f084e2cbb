# Gatepost: `make up` starts everything, `make help` lists the rest.
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY := .venv/bin/python
HOST ?= 127.0.0.1
PORT ?= 8000
DATA ?= .gatepost
WORKERS ?= 2
ROWS ?= 1,2,3,4,5,6,7,8,9,10,14
STAGE ?= 1
PICK ?=
# Three lanes side by side, each with servers of its own: tests that start the product and wait for
# it, tests of what people and programs call, and the rest, which is all that lies beside them.
PROCESSES := tests/hazards tests/embedded tests/acceptance tests/browser
CALLS := tests/dashboard tests/contract
LANES := test-processes test-calls test-rest
PYTEST := MAKEFLAGS= MFLAGS= GATEPOST_REQUIRE_BROWSER=1 $(PY) -m pytest
# Gives way to those that wait: a starved worker loses its lease.
PYTEST_NICE := MAKEFLAGS= MFLAGS= GATEPOST_REQUIRE_BROWSER=1 nice -n 10 $(PY) -m pytest

# An environment that is there looks after itself; the first one needs a Python of the system.
BRING := python=$(PY); [ -x $(PY) ] || python=$$(tools/find-python) || exit 1; "$$python" tools/install.py

.DEFAULT_GOAL := help
.PHONY: help up test test-all test-processes test-calls test-rest check lint format demo bench bench-peers bench-log bench-inbox bench-files bench-wasted chaos mutants requirements pictures reset size lock install install-dev

help:  ## list what can be called
	@echo "make up            start Gatepost (PORT=8000 HOST=127.0.0.1 DATA=.gatepost WORKERS=2 ARGS=...)"
	@echo "make demo          the same with demo logins and threads, in a data folder of its own"
	@echo "make test          all tests; those in a browser where a chromium is (PICK='-k words')"
	@echo "make check         everything CI does: lock, style, types, floors, migrations, tests, browser"
	@echo "make lint          the parts of check that take seconds"
	@echo "make format        put Python and templates into form"
	@echo "make bench         measure rows of the budget (ROWS=1,2,3)"
	@echo "make bench-peers   the same task on LangGraph and DBOS beside ours (ARGS=--json)"
	@echo "make bench-log     a log of 1,000,000 events: size, queries, verification (ARGS='--events N')"
	@echo "make bench-inbox   decisions per second, the inbox with 100,000 requests (ARGS='--requests N')"
	@echo "make bench-files   loading a checkpoint beside files of 1 KB, 10 MB and 1 GiB"
	@echo "make bench-wasted  what resuming spares of what faults cost, beside restarting (ARGS='--scale 0.2')"
	@echo "make chaos         1,000 threads, 200 kills and more, a verdict from outside (ARGS='--minutes 2')"
	@echo "make mutants       break each promise on purpose; a test must turn red (ARGS='--promise 3,8')"
	@echo "make requirements  prove the promises of a stage (STAGE=1)"
	@echo "make pictures      take docs/pictures anew from the working product"
	@echo "make lock          write the lock files anew from pyproject.toml"
	@echo "make size          lines and files of each room, circles of imports"
	@echo "make reset         delete the data folder (asks first)"

install:
	@$(BRING) requirements.lock

install-dev:
	@$(BRING) requirements-dev.lock

up: install  ## start everything and stay until Ctrl-C
	@exec $(PY) manage.py up --host $(HOST) --port $(PORT) --data-dir $(DATA) --workers $(WORKERS) $(ARGS)

demo: install
	@exec $(PY) manage.py up --host 127.0.0.1 --port $(PORT) --data-dir .gatepost/demo --workers $(WORKERS) $(ARGS)

test: install-dev
	@$(PY) -m pytest $(PICK)

lint: install-dev
	@$(PY) tools/lock.py --check
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@git ls-files -z '*.html' | xargs -0 -r .venv/bin/djade --check --target-version 6.1
	@.venv/bin/lint-imports
	@nice -n 10 $(PY) -m mypy
	@GATEPOST_DATA=$$(mktemp -d) $(PY) -W ignore manage.py makemigrations --check --dry-run

check: install-dev  # side by side: real processes are waited for, all other tests compute
	@$(MAKE) -j4 lint $(LANES)

test-all: install-dev
	@$(MAKE) -j3 $(LANES)

test-processes: install-dev
	@$(PYTEST) $(PROCESSES)

test-calls: install-dev
	@$(PYTEST_NICE) $(CALLS)

test-rest: install-dev
	@$(PYTEST_NICE) $(PROCESSES:%=--ignore=%) $(CALLS:%=--ignore=%)

format: install-dev
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .
	@git ls-files -z '*.html' | xargs -0 -r .venv/bin/djade --target-version 6.1

bench: install-dev
	@$(PY) -m benchmarks --rows $(ROWS)

bench-peers: install-dev
	@$(PY) -m benchmarks.peers $(ARGS)

bench-log: install-dev
	@$(PY) -m benchmarks.log $(ARGS)

bench-inbox: install-dev
	@$(PY) -m benchmarks.inbox $(ARGS)

bench-files: install-dev
	@$(PY) -m benchmarks.artifacts

bench-wasted: install-dev
	@$(PY) -m benchmarks.wasted_work $(ARGS)

chaos: install-dev
	@$(PY) -m tests.chaos $(ARGS)

mutants: install-dev
	@$(PY) -m tests.mutants $(ARGS)

requirements: install-dev
	@$(PY) -m tests.requirements --stage $(STAGE)

pictures: install-dev
	@$(PY) docs/pictures/make.py

lock:
	@$(PY) tools/lock.py

size:
	@$(PY) tools/size.py

reset:
	@$(PY) manage.py reset --data-dir $(DATA)
