# What a newcomer needs: `make run` and `make test`. `make help` lists the rest.

# The first Python that is new enough; PYTHON=… chooses another one.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
WORKERS ?= 4

.DEFAULT_GOAL := help
# Kept even where the environment says otherwise: else each of the many processes of the tests would
# compile everything again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run setup web test test-repeat check format lock dist test-dist test-deploy test-faults docs-run bench bench-capacity bench-clicks bench-create bench-growth bench-jobs bench-list bench-overload bench-peers bench-portable bench-reaper bench-redirect bench-screening bench-sign-in bench-space bench-start bench-stats bench-transfer soak openapi clean need-python browser

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: need-python ## Set up what is needed and serve on http://127.0.0.1:8080
	@$(PYTHON) scripts/setup.py run
	@$(BIN)/python scripts/web.py build
	@exec $(BIN)/kurz serve

setup: need-python ## Set up all that running and developing need; `make test` adds a browser
	@$(PYTHON) scripts/setup.py dev

web: setup ## Build the dashboard, if its sources have changed
	@$(BIN)/python scripts/web.py build

test: web browser ## Run the tests, on real PostgreSQL and Redis servers and a real browser
	@$(BIN)/python scripts/web.py test
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not long"

test-repeat: web browser ## Run the tests N times and list what failed; BUSY=1: on a busy machine
	@$(BIN)/python scripts/repeat_tests.py $(if $(BUSY),--busy) $(or $(N),10) -- -n $(WORKERS) --dist worksteal -m "not long"

check: web ## Check format, lint, types, layers and guards
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/web.py check
	@$(BIN)/pytest -q tests/guards

format: setup ## Format the code and mend what can be mended by machine
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix
	@$(BIN)/python scripts/web.py format

test-faults: web browser ## Run the long proofs: kills and outages, many rounds
	@KURZ_TEST_DEADLINES=strict $(BIN)/pytest -n 1 -m "long or deadlines"

dist: web ## Build the wheel, the source archive and their bills of materials into dist/
	@$(BIN)/python scripts/dist.py

test-dist: web ## Install what `make dist` builds with pip, uv and pipx, and use it (needs the network)
	@$(BIN)/pytest tests/packages

test-deploy: web ## Try the files in deploy/ with the real programs (as root, on Debian)
	@$(BIN)/python scripts/deploy_needs.py
	@$(BIN)/pytest tests/deploy

docs-run: setup ## Run every command of an install page: PAGE=pip, container or cluster (needs the network)
	@PYTHONPATH=tests $(BIN)/python scripts/docs_run.py $(PAGE)

bench: bench-redirect bench-clicks bench-create bench-start bench-list bench-stats bench-sign-in bench-transfer bench-reaper bench-screening bench-jobs bench-overload bench-space bench-portable bench-growth ## Run every benchmark, except bench-peers and bench-capacity

bench-capacity: setup ## How much space links and clicks take, and what several instances cost PostgreSQL (needs a C compiler)
	@$(BIN)/python benchmarks/capacity.py
	@$(BIN)/python benchmarks/click_loaders.py

bench-clicks: setup ## How fast clicks are counted, and what visitors notice of it (needs a C compiler)
	@$(BIN)/python benchmarks/clicks.py
	@$(BIN)/python benchmarks/clicks_beside.py
	@$(BIN)/python benchmarks/click_copies.py

bench-create: setup ## What an acknowledged create costs in each process, compared with an empty FastAPI route
	@$(BIN)/python benchmarks/create.py

bench-growth: setup ## Which operations take longer the more links there are; QUICK=1: up to 100,000 links
	@$(BIN)/python benchmarks/growth.py $(if $(QUICK),--quick)

bench-sign-in: setup ## Can sign-ins be told apart by time; do they slow redirects down
	@$(BIN)/python benchmarks/sign_in.py

bench-jobs: setup ## What the jobs process takes during and after an import of a million links
	@$(BIN)/python benchmarks/jobs.py

bench-list: setup ## How long a page takes in a list of a million links
	@$(BIN)/python benchmarks/list.py

bench-overload: setup ## What creates and redirects get at three times the load that saturates creates
	@$(BIN)/python benchmarks/overload.py

bench-peers: setup ## Redirects of other URL shorteners that you run: PEERS="--chhoto ADDRESS …"
	@$(BIN)/python benchmarks/peers.py $(PEERS)

bench-portable: setup ## How long portable backups and restores take; LINKS=1000000 for a large database
	@$(BIN)/python benchmarks/portable.py $(if $(LINKS),--links $(LINKS))

bench-reaper: setup ## How fast expired links are ended, and what visitors notice of it (needs a C compiler)
	@$(BIN)/python benchmarks/reaper.py

bench-redirect: setup ## What a redirect costs beside nginx's `return 302` (needs nginx and a C compiler)
	@$(BIN)/python benchmarks/redirect.py

bench-screening: setup ## What a list of a million hosts costs
	@$(BIN)/python benchmarks/screening.py

bench-start: setup ## How fast it starts, and what it takes while idle
	@$(BIN)/python benchmarks/start.py

bench-space: setup ## How much space clicks take, before and after old days are folded
	@$(BIN)/python benchmarks/space.py

bench-stats: setup ## How long reports take with ten million clicks
	@$(BIN)/python benchmarks/stats.py

bench-transfer: setup ## How fast links are imported and exported, and what visitors notice of it
	@$(BIN)/python benchmarks/transfer.py
	@$(BIN)/python benchmarks/import_beside.py

soak: setup ## Whether memory, descriptors or backlogs grow under 15 min of mixed load; OPTIONS="--engines …" (needs a C compiler)
	@$(BIN)/python benchmarks/soak.py $(OPTIONS)

openapi: setup ## Write the OpenAPI document into the docs, and the dashboard's types from it
	@$(BIN)/python scripts/openapi.py
	@$(BIN)/python scripts/web.py api

lock: setup ## Renew the locks from pyproject.toml (they name no registry)
	@$(BIN)/uv pip compile --group setup $(LOCK_OPTIONS) -o requirements/setup.lock
	@$(BIN)/uv pip compile pyproject.toml --group build $(LOCK_OPTIONS) -o requirements/run.lock
	@$(BIN)/uv pip compile pyproject.toml --group build --group dev -c requirements/run.lock $(LOCK_OPTIONS) -o requirements/dev.lock

LOCK_OPTIONS := --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade

clean: ## Remove what set-up and tests made (not your data)
	@rm -rf web/node_modules src/kurz/dashboard/files
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

browser: setup # only the tests need one
	@$(BIN)/python scripts/browser.py

need-python:
	@test -n "$(PYTHON)" || { echo "kurz needs Python 3.11 or newer. Debian and Ubuntu: apt install python3 python3-venv" >&2; exit 1; }
