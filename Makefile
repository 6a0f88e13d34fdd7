# Fugu on a fresh machine: `make demo` shows it, `make test` proves it.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo bikes city clickstream commute heart-rate household patients quick test test-clients acceptance chaos bench figures docs lint style clean need-python need-browser need-kafka

# Without cached bytecode each of the hundreds of processes that tests start would compile Python anew.
unexport PYTHONDONTWRITEBYTECODE

# Tests start a Kafka of their own, unless FUGU_TEST_BOOTSTRAP names a running one.
KAFKA := $(if $(FUGU_TEST_BOOTSTRAP),,kafka)

# Tests that need no Kafka share all cores. Those that do run in four processes, each with a Kafka of
# its own, and one file stays in one process: tests stop, kill and refill their Kafka.
# No test takes minutes; one that hangs fails, and says where it stood.
PARALLEL := --numprocesses=logical --dist=worksteal --timeout=600
PARALLEL_WITH_KAFKA := --numprocesses=4 --dist=loadfile --timeout=600

# Every process collects all tests that it is told to look at: tests/conftest.py holds that those
# with Kafka are nowhere else.
WITH_KAFKA := tests/chaos tests/faults tests/kafka

# What pages of the site are made of, or link to.
PAGES := README.md CONTRIBUTING.md CHANGELOG.md docs examples deploy bench operators dataflows \
	tests/acceptance/results

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: need-python .venv/demo ## run a pipeline on an embedded broker and show what it does
	@.venv/bin/fugu demo

clickstream: need-python .venv/dev ## find the most read of 5,000 pages in a sanitized clickstream
	@mkdir -p build
	@.venv/bin/python -m examples.clickstream --plot build/clickstream.png

heart-rate: need-python .venv/dev ## displace a day of heart rates in time, and recover averages
	@mkdir -p build
	@.venv/bin/python -m examples.heart_rate --plot build/heart-rate.png

city: need-python .venv/dev ## count people by zone, and draw two strategies beside the truth
	@mkdir -p build
	@.venv/bin/python -m examples.city --plot build/city.png

commute: need-python .venv/dev ## report and count the same riders, and draw what both tell together
	@mkdir -p build
	@.venv/bin/python -m examples.commute --plot build/commute.png

bikes: need-python .venv/dev ## count rentals by district and hour, until the budget is spent
	@mkdir -p build
	@.venv/bin/python -m examples.bike_share --plot build/bikes.png

household: need-python .venv/dev ## sum the power of households, and hide what their policies say
	@mkdir -p build
	@.venv/bin/python -m examples.household --plot build/household.png

patients: need-python .venv/dev ## anonymise ways of patients, and attack what is left of them
	@mkdir -p build
	@.venv/bin/python -m examples.patients --plot build/patients.png

quick: need-python .venv/dev ## run the fast tests that need no Kafka, one example of each kind (2 minutes)
	@.venv/bin/pytest $(PARALLEL) -m "not (kafka or slow or acceptance)" --ignore=tests/examples --ignore=tests/test_wheel.py

# A failure without Kafka is told before Kafka is started. On a fresh machine mypy takes one
# processor for minutes, so it runs beside the rest, and says at once what it finds. Code is compiled
# first: processes of tests would compile the same at the same time.
test: need-kafka style ## run the linters and every test, at last those on a real Kafka
	@.venv/bin/mypy & types=$$!; \
		.venv/bin/fugu compile >/dev/null; \
		.venv/bin/pytest $(PARALLEL) -m "not (kafka or acceptance)"; tests=$$?; \
		wait $$types && exit $$tests
	@.venv/bin/pytest $(PARALLEL_WITH_KAFKA) -m "kafka and not acceptance" $(WITH_KAFKA)

test-clients: need-kafka .venv/dev ## run the tests that use Kafka on kafka-python, too
	@FUGU_TEST_CLIENT=kafka-python .venv/bin/pytest tests/kafka tests/faults

acceptance: need-kafka need-browser .venv/dev ## check the long tables of the specifications
	@.venv/bin/pytest -m acceptance

# For example: make chaos ROUNDS=200 SEED=7 STORE=disk LOAD=streams
ROUNDS := 20
SEED := 1
STORE := kafka
LOAD := city
chaos: need-kafka .venv/dev ## play rounds of faults on three brokers: ROUNDS=20 SEED=1 STORE=kafka LOAD=city
	@.venv/bin/python -m tests.chaos --rounds $(ROUNDS) --seed $(SEED) --store $(STORE) --load $(LOAD)

bench: need-kafka .venv/bench ## measure throughput beside peers on a real Kafka (half an hour)
	@.venv/bin/python -m bench

figures: need-python .venv/dev ## compute figures of the papers anew, and say what holds of them
	@.venv/bin/python -m bench.figures

# The site has the tree of the repository, so that links between pages and files are the same in both.
docs: need-python .venv/docs ## build the pages into a site in build/site, and check every link
	@rm -rf build/pages && mkdir -p build/pages
	@tar -cf - --exclude=__pycache__ --exclude=deploy/analysis $(PAGES) | tar -xf - -C build/pages
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	@echo "fugu: build/site/index.html"

lint: style ## check style and types
	.venv/bin/mypy

style: need-python .venv/dev
	.venv/bin/ruff check
	.venv/bin/ruff format --check

clean: ## remove the environment, Kafka and all caches
	rm -rf .venv .venv-peers .kafka .prometheus .buildah .kubernetes .registry build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache

need-python:
	@deploy/prerequisites python >/dev/null

need-browser:
	@deploy/prerequisites browser

need-kafka:
	@deploy/prerequisites python openssl promtool $(KAFKA) >/dev/null
	@(promtool --version >/dev/null 2>&1 || deploy/prometheus/fetch) & first=$$!; \
		deploy/registry/fetch & second=$$!; \
		$(if $(KAFKA),deploy/kafka/fetch,true) && wait $$first && wait $$second

# A file in .venv for each installed extra (bench contains dev, dev contains demo, docs stands alone),
# made anew when pyproject.toml changes.
.venv/demo .venv/dev .venv/bench .venv/docs: .venv/%: pyproject.toml
	@echo "fugu: installing into .venv (extra: $*)"
	@"$$(deploy/prerequisites python)" -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@ $(if $(filter-out demo docs,$*),.venv/demo .venv/dev)
