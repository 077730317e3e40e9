PYTHON ?= python3
BIN := .venv/bin
# two processes test: threads of their own would only wait for each other; those that they start read bytecode, not source
SINGLE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
TIMES ?= 20
SECONDS_EACH ?= 120
FAST := tests/algorithms tests/conformance/test_laws_bite.py tests/conformance/test_method_laws.py tests/directions tests/golden tests/mutants tests/run/test_session.py \
	tests/sets tests/theory tests/test_atoms.py tests/test_differences.py tests/test_registry.py \
	--ignore=tests/algorithms/test_explore_correct.py --ignore=tests/algorithms/test_interpolation.py
DATA := $(abspath ../shared/data)
ifneq ($(wildcard $(DATA)),)
export ZOFW_DATA ?= $(DATA)
endif

.PHONY: demo golden test-fast test-oldest lock history mutants reproduce reproduce-full reproduce-all test cover test-slow fuzz attack lint bench docs package clean

demo: .venv/demo.stamp
	$(BIN)/python -m zofw demo

reproduce: .venv/dev.stamp
	$(BIN)/python -m zofw_paper reproduce all --profile quick

reproduce-full: .venv/dev.stamp
	$(BIN)/python -m zofw_paper reproduce all ablation forgetting readings --profile full --publish docs/reproduction

reproduce-all: .venv/dev.stamp
	$(BIN)/python -m zofw_paper reproduce fig1 fig2 fig3 --profile all --publish docs/reproduction

test: lint
	$(SINGLE) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow"

cover: .venv/dev.stamp
	$(SINGLE) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" --cov --cov-report=term:skip-covered --cov-fail-under=95

test-fast: .venv/dev.stamp
	$(SINGLE) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" $(FAST)

test-oldest: .venv-oldest/stamp
	$(SINGLE) .venv-oldest/bin/python -m pytest -n 2 --dist worksteal -q -m "not slow" tests

mutants: .venv/dev.stamp
	$(BIN)/python tests/mutants/kill.py

test-slow: .venv/dev.stamp
	$(BIN)/python -m pytest -m slow

golden: .venv/dev.stamp
	ZOFW_GOLDEN=write $(BIN)/python -m pytest -q "tests/golden/test_golden.py$(if $(NAME),::test_golden[$(NAME)])"

fuzz: .venv/dev.stamp
	-$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[fuzz]'
	ZOFW_FUZZ=$(TIMES) $(BIN)/python -m pytest -n 2 --dist worksteal tests/fuzz tests/run/test_fuzz.py paper/tests/test_lab_fuzz.py paper/tests/data tests/test_atoms.py tests/sets/test_sets_laws.py
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS_EACH)

attack: .venv/dev.stamp
	$(BIN)/python -m attacks --write

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev.stamp
	$(BIN)/python -m benchmarks.run

history: .venv/dev.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check asv
	$(BIN)/asv machine --yes
	$(BIN)/asv run --python=same --set-commit-hash "$$(git rev-parse HEAD)"
	$(BIN)/asv publish

lock: .venv/dev.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	head -1 requirements-dev.lock > .venv/lock
	$(BIN)/uv pip compile -q --universal --prerelease disallow --no-annotate --no-header --extra dev pyproject.toml \
		| sed -E '/^(nvidia-|cuda-|triton)/d; s/^torch==([0-9.]+).*/torch==\1/' | uniq >> .venv/lock
	mv .venv/lock requirements-dev.lock

docs: .venv/dev.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

package: .venv/dev.stamp
	$(BIN)/python -m pytest -m slow tests/docs/test_package.py

.venv/demo.stamp: pyproject.toml paper/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[cli,plot,frame,report,data]' -e paper
	touch $@

.venv/dev.stamp: pyproject.toml paper/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]' -e paper
	touch $@ .venv/demo.stamp

.venv-oldest/stamp: pyproject.toml .github/oldest.txt
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install -q --disable-pip-version-check -c .github/oldest.txt -e '.[test]'
	.venv-oldest/bin/python -m pip install -q --disable-pip-version-check --no-deps -e paper
	touch $@

clean:
	rm -rf .venv .venv-oldest .asv build dist docs/_build docs/gallery docs/api/generated .coverage* .mypy_cache .ruff_cache
