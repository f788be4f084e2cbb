# Gatepost: `make up` starts everything, `make help` lists the rest.
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY := .venv/bin/python
HOST ?= 127.0.0.1
PORT ?= 8000
DATA ?= .gatepost
WORKERS ?= 2
MODEL ?=
ROWS ?= 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,18,19,20,21,22,23
STAGE ?= 1
HOSTS = 1
PICK ?=
OUTCOMES ?=
# `make test` leaves out what is marked `slow` or `nightly`, the rules of the code (ARCHITECTURE, in
# `make lint`) and PROCESSES, whose tests start the product and wait for it. `make check` leaves out
# `nightly`. Each process of a run (pytest-xdist) has servers of its own; files stay together and in
# order, so that those in a browser come last.
PROCESSES := tests/faults tests/browser
ARCHITECTURE := tests/house/architecture
OPTIONS := --dist loadfile --no-loadscope-reorder $(OUTCOMES:%=-p tests.house.requirements.outcomes --outcomes=%)
# To rewrite the asserts of all test files takes half a minute in each process: kept for the next.
PYTHON := PYTHONDONTWRITEBYTECODE= MAKEFLAGS= MFLAGS= $(PY)
PYTEST := $(PYTHON) -m pytest $(OPTIONS)
COMPUTING := $(ARCHITECTURE:%=--ignore=%) $(PROCESSES:%=--ignore=%)
# To read all files takes as long as some of their tests: only those that have such tests. (At night it
# does not matter, and parameters of fixtures are marked as well.)
SLOW = $(sort $(shell grep -rl --include='test_*.py' $(PROCESSES:tests/%=--exclude-dir=%) 'mark\.slow' tests))

# An environment that is there looks after itself; the first one needs a Python of the system.
BRING := python=$(PY); [ -x $(PY) ] || python=$$(tools/find-python) || exit 1; "$$python" tools/install.py

.DEFAULT_GOAL := help
.PHONY: help up test test-all test-architecture test-processes test-slow test-nightly check lint format demo bench bench-peers bench-log bench-inbox bench-records bench-files bench-wasted bench-plays bench-turns chaos mutants requirements interop wires rubric pictures reset size lock advisories sbom install install-dev

help:  ## list what can be called
	@echo "make up            start Gatepost (PORT=8000 HOST=127.0.0.1 DATA=.gatepost WORKERS=2 MODEL=auto ARGS=...)"
	@echo "make demo          the same with a fleet of threads in many states, in a data folder of its own"
	@echo "make test          the quick tests (PICK='-k fork')"
	@echo "make check         everything CI does: lock, style, types, floors, migrations, each promise"
	@echo "make test-all      all tests, also the long ones that CI leaves to the night"
	@echo "make lint          the parts of check that need no servers: style, types, rules of the code"
	@echo "make format        put Python and templates into form"
	@echo "make bench         measure rows of the budget (ROWS=1,2,3)"
	@echo "make bench-peers   the same task on LangGraph and DBOS beside ours (ARGS=--json)"
	@echo "make bench-log     a log of 1,000,000 events: size, queries, verification (ARGS='--events N')"
	@echo "make bench-inbox   decisions per second, the inbox with 100,000 requests (ARGS='--requests N')"
	@echo "make bench-records search and export of a record of 10,000,000 events (ARGS='--threads N')"
	@echo "make bench-files   loading a checkpoint beside files of 1 KB, 10 MB and 1 GiB"
	@echo "make bench-plays   plays of the author's Harness: the first and further ones (ARGS='--runs N')"
	@echo "make bench-turns   turns of an ephemeral chat beside an INSERT of their bytes (ARGS='--turns N')"
	@echo "make bench-wasted  what resuming spares of what faults cost, beside restarting (ARGS='--scale 0.2')"
	@echo "make chaos         1,000 threads, 200 kills and more, a verdict from outside (ARGS='--minutes 2', HOSTS=4)"
	@echo "make mutants       break each promise on purpose; a test must turn red (ARGS='--promise 3,8', '--rows A12')"
	@echo "make requirements  prove a stage (STAGE=1, 1,2, all) or rows (ROWS=A14,A29; OUTCOMES=folder of a check)"
	@echo "make interop       each kind of agent: stopped at a gate, killed, edited, resumed elsewhere"
	@echo "make wires         how many recorded answers of model servers are read right, beside other libraries"
	@echo "make rubric        the 30 checks of the pages, in a browser where they need one"
	@echo "make pictures      take docs/pictures anew from the working product"
	@echo "make lock          write the lock files anew from pyproject.toml"
	@echo "make advisories    fetch known vulnerabilities of the locked packages (needs a network)"
	@echo "make sbom          print the bill of materials, CycloneDX JSON (ARGS='--output FILE')"
	@echo "make size          lines and files of each room, circles of imports"
	@echo "make reset         delete the data folder (asks first)"

install:
	@$(BRING) requirements.lock agents

install-dev:
	@$(BRING) requirements-dev.lock agents

up: install  ## start everything and stay until Ctrl-C
	@exec $(PY) manage.py up --host $(HOST) --port $(PORT) --data-dir $(DATA) --workers $(WORKERS) $(MODEL:%=--model %) $(ARGS)

demo: install
	@exec $(PY) manage.py up --host 127.0.0.1 --port $(PORT) --data-dir .gatepost/demo --workers $(WORKERS) --fleet --model $(or $(MODEL),auto) $(ARGS)

test: install-dev
	@$(PYTEST) -n 2 -m "not slow and not nightly" $(COMPUTING) $(PICK)

lint: install-dev
	@$(PY) tools/lock.py --check
	@GATEPOST_DATA=$$(mktemp -d) $(PY) manage.py advisories --lock requirements-dev.lock
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m deptry .
	@cd agents && ../$(PY) -m deptry .
	@git ls-files -z '*.html' | xargs -0 -r .venv/bin/djade --check --target-version 6.1
	@PYTHONPATH=agents .venv/bin/lint-imports
	@cd clients/python/src && ../../../.venv/bin/lint-imports --config ../pyproject.toml
	@nice -n 10 $(PY) -m mypy
	@GATEPOST_DATA=$$(mktemp -d) $(PY) -W ignore manage.py makemigrations --check --dry-run
	@$(MAKE) test-architecture

check: export GATEPOST_REQUIRE_BROWSER := 1
check:  # one lane after another: tests that wait for real processes need the processors to themselves
	@ended=0; $(MAKE) -k -j2 lint test || ended=1; $(MAKE) -k test-slow test-processes && exit $$ended

test-all:
	@$(MAKE) test-architecture
	@$(MAKE) test
	@$(MAKE) test-slow
	@$(MAKE) test-processes
	@$(MAKE) test-nightly

test-architecture: install-dev  # without servers: the rules read files
	@GATEPOST_DATA=$$(mktemp -d) $(PYTEST) --ds=dashboard.settings $(ARCHITECTURE)

test-processes: install-dev
	@$(PYTHON) -m tests.house.lanes.alone $(OPTIONS) -n 3 -m "not nightly" $(PROCESSES)

test-slow: install-dev
	@$(PYTEST) -n 2 -m "slow and not nightly" $(SLOW)

test-nightly: install-dev
	@$(PYTHON) -m tests.house.lanes.alone $(OPTIONS) -n 2 -m nightly

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

bench-records: install-dev
	@$(PY) -m benchmarks.rows.fleet.records $(ARGS)

bench-files: install-dev
	@$(PY) -m benchmarks.artifacts

bench-plays: install-dev
	@$(PY) -m benchmarks.plays $(ARGS)

bench-turns: install-dev
	@$(PY) -m benchmarks.turns $(ARGS)

bench-wasted: install-dev
	@$(PY) -m benchmarks.wasted_work $(ARGS)

chaos: install-dev
	@$(PY) -m tests.faults.chaos --hosts=$(HOSTS) $(ARGS)

mutants: install-dev
	@$(PY) -m tests.house.mutants $(ARGS)

requirements: install-dev
	@$(PYTHON) -m tests.house.requirements $(if $(filter-out file,$(origin ROWS)),--rows=$(ROWS),--stage=$(STAGE)) $(OUTCOMES:%=--outcomes=%)

interop: install-dev
	@$(PY) -m tests.contract.interop

wires: install-dev
	@$(PY) -m tests.unit.wires

rubric: install-dev
	@$(PY) -m tests.house.rubric $(OUTCOMES:%=--outcomes=%) $(ARGS)

pictures: install-dev
	@$(PY) docs/pictures/make.py

lock:
	@$(PY) tools/lock.py

advisories: install-dev
	@$(PY) manage.py advisories --refresh --lock requirements-dev.lock --file dashboard/operate/packages/advisories.json

sbom: install
	@$(PY) manage.py sbom $(ARGS)

size:
	@$(PY) tools/size.py

reset:
	@$(PY) manage.py reset --data-dir $(DATA)
