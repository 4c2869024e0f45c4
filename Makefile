# Verbs shared with CI; `make` alone prints this help.
.DEFAULT_GOAL := help
VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
SPARK := $(VENV)/.spark
BENCH := $(VENV)/.bench
MUTANTS := $(VENV)/.mutants
SITE := $(VENV)/.site
RELEASE := $(VENV)/.release

.PHONY: help demo pictures test lint unit integration chart e2e e2e-install e2e-java faults trust hostile schedules gitops broker-side static-members campaign spark fit-k8s lab architecture golden-accept mutants up down bench-idle bench-cycle bench-shards bench-react bench-metrics bench-fit bench-decide bench-admission bench-agreement bench-check bench-install bench-folklore bench-verify bench-quality bench-witness bench-watched witness fit-world doctor docs docs-check docs-site release locks clean bench-watched-world fault-campaign soak

help:  ## Print this help
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## / {printf "  make %-28s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## See a real rebalance storm, its explanation and its cure (KEEP=1 keeps it running)
	@$(PYTHON) -m sandbox.demo $(if $(KEEP),--keep)

test: $(INSTALLED) $(SPARK) $(SITE) $(RELEASE)  ## Run everything that CI runs
	@$(PYTHON) tests/rings.py

lint unit integration chart e2e-java faults trust: $(INSTALLED) $(SITE)  ## Run one ring of the tests
	@$(PYTHON) tests/rings.py $@

schedules: $(INSTALLED)  ## Play 50 random schedules of kills, stops and cuts over two replicas, a quarter of an hour
	@$(PYTHON) tests/rings.py all-schedules

fault-campaign: $(INSTALLED)  ## Play 200 random schedules over replicas, sources, webhook, models and persons at once, an hour; build/fault-campaign.json (SEED=1017 for one)
	@$(PYTHON) $(if $(SEED),-m pytest -q --capture=no tests/schedules/test_at_once.py -k seed$(SEED),tests/rings.py fault-campaign)

soak: $(INSTALLED)  ## Run two replicas for 24 simulated hours of change and faults, 40 minutes; build/soak.json (HOURS=3 for a quick look)
	@$(PYTHON) $(if $(HOURS),-m tests.soak --hours $(HOURS),tests/rings.py soak)

gitops: $(INSTALLED)  ## Reapply manifests beside active policies, as Argo CD, Flux and Helm do, for 5 minutes; build/gitops.json
	@$(PYTHON) tests/rings.py $@

broker-side: $(INSTALLED)  ## Raise and lower a session at a real broker and take it back, without a restart, in nine minutes; build/broker-side.json
	@$(PYTHON) -m pytest -q tests/e2e/test_broker_side.py

static-members: $(INSTALLED)  ## Roll, kill, scale and lose static members of both protocols, most of an hour; build/static-members.json
	@$(PYTHON) tests/rings.py $@

spark e2e hostile: $(INSTALLED) $(SPARK)  ## Run one ring that also installs Spark, for the fit
	@$(PYTHON) tests/rings.py $@

e2e-install: $(INSTALLED)  ## Build the images, and live through a release of the chart on a node with real containers (root)
	@$(PYTHON) tests/rings.py install
	@$(PYTHON) -m tests.install.stopwatch

fit-k8s: $(INSTALLED) $(SPARK)  ## Fit with two executors as pods on a node with real containers, as the chart has it (root); build/fit-k8s.json
	@$(PYTHON) tests/rings.py $@

bench-idle: $(INSTALLED)  ## Measure what 200 healthy policies cost the operator in 20 minutes
	@$(PYTHON) -m bench.idle

bench-cycle: $(INSTALLED)  ## Measure what a cycle costs at N=1000 policies on real parts, a quarter of an hour (N="100 300 1000", ARGS=--beside=2)
	@$(PYTHON) -m bench.cycle --policies $(or $(N),1000) $(ARGS)

bench-shards: $(INSTALLED)  ## Measure what a shard of N=1000 policies costs its replica beside what N cost one, in half an hour
	@$(PYTHON) -m bench.shards --policies $(or $(N),1000)

bench-react: $(INSTALLED)  ## Measure how soon a status follows each of 50 edits, and what one look costs of 10,000 policies, in 20 minutes
	@$(PYTHON) -m bench.react

bench-metrics: $(INSTALLED)  ## Measure what reading the metrics of 10,000 consumers costs, in 15 minutes
	@$(PYTHON) -m bench.metrics

bench-fit: $(SPARK) $(BENCH)  ## Measure how fast values become models beside pandas and DuckDB, half an hour and 3 GB of disk
	@$(PYTHON) -m bench.fit

bench-decide: $(INSTALLED)  ## Measure how long deciding for 10,000 groups takes, a minute or two
	@$(PYTHON) -m bench.decide

bench-admission: $(INSTALLED)  ## Measure what admission costs pods with and without a slot, in 6 minutes
	@$(PYTHON) -m bench.admission

bench-agreement: $(INSTALLED)  ## Compare the formulas of the cost with groups played out, in 5 minutes
	@$(PYTHON) -m bench.agreement

bench-check: $(INSTALLED)  ## Compare what `check` finds with verdicts written by hand, in five minutes; build/bench/check.json
	@$(PYTHON) -m bench.check

bench-install: $(INSTALLED)  ## Measure what `pip install heartbeat-tuner` costs in a clean environment; build/bench/install.json
	@$(PYTHON) -m bench.install

bench-verify: $(INSTALLED)  ## Judge the verification of changes on groups whose truth is known, in 10 minutes (N=200 for a quick look)
	@$(PYTHON) -m bench.verify $(N)

bench-folklore: $(INSTALLED)  ## Compare the engine's values with settings that projects chose, and with other ways to choose, in 4 minutes
	@$(PYTHON) -m bench.folklore

bench-quality: $(SPARK)  ## Judge the values on fleets whose truth is known, by the engine alone and as shipped, in half an hour (ARGS="holdout --part shipped --worst 10")
	@$(PYTHON) -m bench.quality $(ARGS)

bench-witness: $(INSTALLED)  ## Measure what the group watcher costs of 1000 groups with 10 members each, in 6 minutes; build/bench/witness.json
	@$(PYTHON) -m bench.group_watch $(ARGS)

bench-watched: $(INSTALLED)  ## How near a fit comes to the eviction rates of 200 groups that only the group watcher shows, and what chance leaves; build/bench/watched-rates.json
	@$(PYTHON) -m bench.watched_rates $(ARGS)

fit-world: $(INSTALLED) $(SPARK)  ## From 14 days of 200 groups in a Prometheus to a policy that names its model
	@$(PYTHON) -m bench.fit_world

bench-watched-world: $(INSTALLED) $(SPARK)  ## The same for 40 groups of 14 days in a real Prometheus, by the command fit; build/bench/watched-world.json
	@$(PYTHON) -m bench.watched_world $(ARGS)

lab: $(INSTALLED)  ## Prove every client's card on real consumers, an hour; writes build/lab.json and docs/lab.md
	@$(PYTHON) -m tests.lab

witness: $(INSTALLED)  ## See and cure evictions of each library without client metrics, a quarter of an hour; build/witness.json (ROWS="sarama kafkajs")
	@$(PYTHON) -m tests.unmetered $(ROWS)

campaign: $(INSTALLED)  ## Run what is too long for CI, four hours; build/campaign.json and docs/campaign.md
	@$(PYTHON) -m tests.campaign

architecture: $(INSTALLED)  ## Measure how the product is built: build/architecture.json (LOWER=1 brings ceilings down)
	@$(PYTHON) -m tests.architecture $(if $(LOWER),--lower)

golden-accept: $(INSTALLED)  ## Accept what is decided now for the cases of tests/golden, and print what changed
	@$(PYTHON) -m tests.golden

mutants: $(INSTALLED) $(MUTANTS)  ## Make N=500 mutants of what decides, and list those that no unit test notices; build/mutants.json (SEED=22, AGAIN=1)
	@$(PYTHON) -m tests.mutants $(if $(N),--mutants $(N)) $(if $(SEED),--seed $(SEED)) $(if $(AGAIN),--again)

up: $(INSTALLED)  ## Start the real parts and return
	@$(PYTHON) -m sandbox up

down: $(INSTALLED)  ## End what `make up` or a kept demo started
	@$(PYTHON) -m sandbox down

doctor: $(INSTALLED)  ## Say what this machine has and lacks
	@$(PYTHON) -m sandbox doctor

pictures: $(INSTALLED)  ## Draw the pictures of `report` and of the dashboard in docs/img with a real browser (root, where it is not installed)
	@$(PYTHON) -m tests.pictures

docs: $(INSTALLED)  ## Generate crds/, the reference pages and the chart's from the code
	$(PYTHON) docs/reference/generate.py
	$(PYTHON) docs/reference/generate_chart.py

docs-site: $(INSTALLED) $(SITE)  ## Build the documentation as a site with a search, without network; build/site
	@$(PYTHON) -m tests.documentation.site

release: $(INSTALLED) $(RELEASE)  ## Make a release of the newest commit in dist/ (PARTS="python plugin chart" without images, which need root; PLATFORMS="linux/amd64" REGISTRY= URL= KEY=)
	@$(PYTHON) -m release $(if $(REGISTRY),--registry $(REGISTRY)) $(if $(URL),--url $(URL)) $(if $(KEY),--key $(KEY)) $(addprefix --platform=,$(PLATFORMS)) $(PARTS)

docs-check: $(INSTALLED)  ## Check words, links and commands of all pages and of what users read elsewhere
	@$(PYTHON) -m tests.documentation

COMPILE := uv pip compile -q --upgrade --generate-hashes --no-header --no-annotate --universal --python-version 3.11

locks:  ## Pin the Python dependencies anew (needs uv)
	$(COMPILE) pyproject.toml --extra operator -o requirements/runtime.lock
	$(COMPILE) pyproject.toml --extra operator --group dev -o requirements/dev.lock
	$(COMPILE) pyproject.toml --extra operator --extra fit -c requirements/dev.lock -o requirements/fit.lock
	printf 'duckdb>=2.0\n' | $(COMPILE) - -o requirements/bench.lock
	printf 'mkdocs-material>=9.8\n' | $(COMPILE) - -c requirements/dev.lock -o requirements/docs.lock
	printf 'cyclonedx-bom>=7.5\n' | $(COMPILE) - -c requirements/dev.lock -o requirements/release.lock
	printf 'cosmic-ray>=8.7\n' | $(COMPILE) - -c requirements/dev.lock -o requirements/mutants.lock
	printf 'hatchling>=1.27\nsetuptools>=80\n' | $(COMPILE) - -o requirements/build.lock

clean:  ## Remove what was made here; the cache of programs stays
	rm -rf $(VENV) build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -r {} +

# Bytecode is made on first use: compiling all of it here would double the time of a first demo.
# A lock is complete, so nothing is resolved (`--no-deps`): pip 23.2 looks past the lock for a package that another asks for
# with an extra, and fails as soon as a newer release of it is out. `pip check` says if a lock misses something.
$(INSTALLED): requirements/dev.lock pyproject.toml sandbox/prerequisites.py
	@python3 -m sandbox.prerequisites
	@echo "installing Python packages into $(VENV) (about 20 s, more on a first download)"
	@python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/dev.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --no-build-isolation -e .
	@$(PYTHON) -m pip --disable-pip-version-check check
	@touch $@

# Spark is 450 MB and comes as source: a first demo does without.
$(SPARK): requirements/fit.lock $(INSTALLED)
	@echo "installing Spark into $(VENV) (about a minute, more on a first download)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/build.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --no-build-isolation \
		-r requirements/fit.lock
	@touch $@

# What the fit is compared with; nothing else needs it.
$(BENCH): requirements/bench.lock $(INSTALLED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/bench.lock
	@touch $@

# What makes a site of the pages; only its test and `make docs-site` need it.
$(SITE): requirements/docs.lock $(INSTALLED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/docs.lock
	@$(PYTHON) -m pip --disable-pip-version-check check
	@touch $@

# What lists the parts of a release, and this platform's wheels for the plugin, so that a release of it needs no network;
# only `make release` and its test need it.
$(RELEASE): requirements/release.lock $(INSTALLED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/release.lock
	@$(PYTHON) -m pip --disable-pip-version-check check
	@$(PYTHON) -m release.wheels
	@touch $@

# What makes mutants; nothing else needs it.
$(MUTANTS): requirements/mutants.lock $(INSTALLED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements/mutants.lock
	@$(PYTHON) -m pip --disable-pip-version-check check
	@touch $@
