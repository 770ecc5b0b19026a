# Everything runs from a virtual environment that make creates: `make help` lists the commands.
# VENV=<dir> puts it elsewhere; PYTHON=<interpreter> chooses the Python it is made from.

VENV ?= .venv
PYTHON ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.headway-installed
DEMO := examples/collision_warning
CPP_FILES := find src tests examples benchmarks '(' -name '*.hpp' -o -name '*.cpp' ')' -print0

# make explore: how many times as many examples as make test, from which seed, in which tests
TIMES ?= 20
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
TESTS ?= tests

# make mutate: how many mistakes are planted, which ones, in which subjects (all; python -m
# tests.mutation --help names them), processor seconds of tests for each
MUTANTS ?= 50
MUTATION_SEED ?= 1
SUBJECTS ?=
LIMIT ?= 30

# A candidate counts only if it runs (a version manager's shim may not), is new enough, and
# can make a virtual environment (Debian ships venv and ensurepip in a package of their own).
PYTHON_CHECK := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.12 python3.11 python3 python3.13 python)

.DEFAULT_GOAL := help
.PHONY: help venv install demo test explore mutate lint format bench docs clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(BIN)/python ## make the virtual environment

install: $(STAMP) ## install Headway, its studies and all its tools in it

$(BIN)/python:
	@chosen=; \
	for candidate in $(CANDIDATES); do \
	  if $$candidate -c '$(PYTHON_CHECK)' >/dev/null 2>&1; then chosen=$$candidate; break; fi; \
	done; \
	if [ -z "$$chosen" ]; then \
	  echo "Headway needs Python 3.11 or newer with the venv and ensurepip modules; tried:" >&2; \
	  for candidate in $(CANDIDATES); do \
	    version=$$($$candidate --version 2>/dev/null | head -n 1); \
    echo "  $$candidate: $${version:-cannot be run}" >&2; \
	  done; \
	  echo "Install one (on Debian or Ubuntu: apt install python3 python3-venv), or name one: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with $$chosen ($$($$chosen --version))"; \
	$$chosen -m venv "$(VENV)"

$(STAMP): pyproject.toml studies/pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[spark,connect,tables,plot,optimal,native,can,mdf,mcap,kafka,mqtt,zenoh,cbor,protobuf,sumo,cam,simulation,dev]' \
	  --editable ./studies
	@touch $@

demo: $(STAMP) ## compile the collision warning, drive through a city, and compare with Spark
	@echo "== On fast ECUs and CAN FD every deadline can be promised:"
	$(BIN)/headway compile $(DEMO)/query.yaml --vehicle $(DEMO)/vehicle_modern.yaml --out build/demo/modern
	@echo
	@echo "== On the paper's ECUs and CAN two cannot; whom to blame, and what would help:"
	$(BIN)/headway compile $(DEMO)/query.yaml --vehicle $(DEMO)/vehicle.yaml --out build/demo/paper; \
	code=$$?; test $$code -eq 1 || { echo "expected exit code 1, got $$code" >&2; exit 1; }
	@echo
	@echo "== A drive through a city where six cars would hit ours, under S-EDF and FIFO+, with and without V2V:"
	$(BIN)/headway drive --v2v both --out build/demo/drive --keep --force
	@echo
	@echo "== The same query over that drive on Spark gives the same tuples as the vehicle engine:"
	$(BIN)/headway compare $(DEMO)/query.yaml --input build/demo/drive/recordings/trial0000
	@echo
	@echo "Open build/demo/drive/replay.html and build/demo/modern/plan.html in a browser."
	@echo "A run live: start the first, then the second in another terminal, and open the address it prints:"
	@echo "  $(BIN)/headway run $(DEMO)/query.yaml --engine vehicle --clock wall --vehicle $(DEMO)/vehicle_modern.yaml \\"
	@echo "      --input build/demo/drive/recordings/trial0000 --output build/demo/live --force"
	@echo "  $(BIN)/headway watch build/demo/live"
	@echo "Or a car of several nodes; kill one (pkill -9 -f node1.pyz) and see it go and come back:"
	@echo "  $(BIN)/headway build $(DEMO)/query.yaml --vehicle $(DEMO)/vehicle_modern.yaml --out build/demo/car"
	@echo "  $(BIN)/headway launch build/demo/car --input build/demo/drive/recordings/trial0000 --restart-after 5s"
	@echo "  $(BIN)/headway watch build/demo/car-run"

test: $(STAMP) ## run the whole test suite, in two processes; the Spark tests share one of them
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

explore: $(STAMP) ## draw TIMES (20) as many new examples in the property tests, from SEED (random)
	@seed=$(SEED); set -x; HEADWAY_EXPLORE=$(TIMES) $(BIN)/python -m pytest -n 2 --timeout=0 \
	  -m "hypothesis and not spark" --hypothesis-seed=$$seed $(TESTS)

mutate: $(STAMP) ## plant MUTANTS (50) small mistakes in modules that matter; which ones the tests miss
	$(BIN)/python -m tests.mutation --count $(MUTANTS) --seed $(MUTATION_SEED) --limit $(LIMIT) \
	  $(foreach subject,$(SUBJECTS),--subject $(subject))

lint: $(STAMP) ## check style, types and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CPP_FILES) | xargs -0 $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy --strict src studies/src tests
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CPP_FILES) | xargs -0 $(BIN)/clang-format -i

bench: $(STAMP) ## run every benchmarks/bench_*.py, one after another
	@set -e; for script in benchmarks/bench_*.py; do \
	  [ -e "$$script" ] || { echo "No benchmarks/bench_*.py to run."; break; }; \
	  echo "== $$script"; $(BIN)/python "$$script"; \
	done

docs: $(STAMP) ## build the documentation as a site, build/site/index.html; broken links fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

clean: ## remove the virtual environment, build results and caches
	rm -rf "$(VENV)" build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
