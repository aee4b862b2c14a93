# Every target sets up what it needs: a machine with Python 3.11 or newer and make is enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
# One more than two cores: much of the suite waits for processes that wait for a lease.
PYTEST_WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/ready ## Send a campaign to 5,000 people of a simulated provider and keep serving (ARGS="--exit --recipients 500")
	@DEBUG=1 $(BIN)/python manage.py demo $(ARGS)

test: $(VENV)/ready ## Run the whole test suite (ARGS="tests/contacts -k import")
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(ARGS)

lint: $(VENV)/ready ## Run every gate but the tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@PATH="$(BIN):$$PATH" $(BIN)/lint-imports
	@DEBUG=1 $(BIN)/python manage.py makemigrations --check --dry-run

format: $(VENV)/ready ## Format the code and mend what ruff can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/ready ## Measure speed and memory, print JSON (takes some minutes)
	@DEBUG=1 $(BIN)/python -m tests.benchmarks $(ARGS)

$(VENV)/ready: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Mail Koenig needs Python 3.11 or newer: install it, or run make with PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up $(VENV) ($$($(PYTHON) --version)) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing: on Debian, apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[embedded,dev]'
	@touch $@
