# Two commands do everything: `make preflight` judges a node, `make test` tests the collection.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help preflight test test-all unit check quick mutate robust damage kube-proxy real-node incidents fixes lint sanity molecule bench docs golden build release slow link clean clean-cache venv venv-dev

PYTHON ?= python3
INVENTORY ?=
LIMIT ?=
ARGS ?=
SMOKE ?=
QUICK ?=
CHECK ?=
SITE ?=
KUBE_PROXY ?=
KUBERNETES ?=
# Asked for on the command line alone: names as short as these may be in anybody's environment.
T =
K =
SEED =
COUNT =
ID =
BASE =
ONLY =
VERSION =
# Of `make test` in the environment, too.
KERNEL ?=
SCENARIO ?=
SHORT ?=
export INVENTORY LIMIT T K ID BASE KERNEL SCENARIO

TOOLS := tests/tools
RUN := .venv/bin/python

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  make preflight INVENTORY=hosts.yml LIMIT=workers ARGS='-v --forks 50'"

preflight: venv ## Judge this machine, or the nodes of INVENTORY=... (LIMIT=..., ARGS=...); changes nothing
	@$(TOOLS)/preflight.sh $(ARGS)

test: venv-dev ## Tests of a change, in about 20 minutes on two cores (KERNEL=6.1 SCENARIO=hooks: on that node); installs Debian packages when root
	@$(RUN) $(TOOLS)/test_all.py

test-all: venv-dev ## All tests: the whole matrix of Pythons, ansible-cores, kernels and scenarios, for nights and releases
	@$(RUN) $(TOOLS)/test_all.py --all

unit: venv-dev link ## Unit tests, on Pythons from 3.6 on and two ansible-cores (SHORT=1: as in make test); T=path K=word: some of them, on one Python, in seconds
ifneq ($(T)$(K),)
	@$(RUN) $(TOOLS)/unit_some.py
else
	@$(TOOLS)/need_packages.sh kmod iptables ipset nftables strace util-linux iproute2 systemd conntrack chromium
	@$(RUN) $(TOOLS)/unit.py $(if $(SHORT),--short)
endif

check: venv-dev link ## One check, ID=CTRACK015: its cases, and what a user reads of each
	@$(RUN) $(TOOLS)/check.py

quick: venv-dev link ## Tests of what changed against main (BASE=branch), and the linters: below two minutes
	@$(RUN) $(TOOLS)/quick.py

mutate: venv-dev link ## Small mistakes in a copy of the code (COUNT=80, SEED=2026): prints how many the tests notice, and the lines they do not
	@$(RUN) $(TOOLS)/mutate.py $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(ARGS)

robust: venv-dev link ## Long versions of the tests with damage, errors and kills (ten minutes); prints a table of counts
	@$(TOOLS)/need_packages.sh kmod iptables ipset nftables strace util-linux iproute2 systemd conntrack
	@$(RUN) $(TOOLS)/robust.py

damage: venv-dev link ## All scenarios of damaged live rules; prints how many are judged right and writes docs/damage.md (as root; ten minutes, QUICK=1: four)
	@$(TOOLS)/need_packages.sh kmod iptables ipset nftables util-linux iproute2
	@$(RUN) $(TOOLS)/damage.py $(if $(QUICK),--quick)

kube-proxy: venv-dev link ## Real kube-proxies (KUBE_PROXY="path ..."; none: builds 1.20.2 of Debian) in healthy and broken states, ipvs mode on virtual machines; writes docs/kube-proxy.md (as root; an hour, ONLY=word: some, ARGS=--no-vm: without ipvs mode)
	@$(TOOLS)/need_packages.sh iptables nftables util-linux iproute2
	@$(RUN) tests/kube_proxy/run.py --only "$(ONLY)" $(ARGS) $(or $(KUBE_PROXY),$$(tests/kube_proxy/debian_build.sh))

real-node: venv-dev link ## A real cluster of one node (KUBERNETES=folder with kubelet, kube-proxy, kube-apiserver, kube-controller-manager) in broken states, each mended as printed; writes docs/real-node.md (as root; 20 minutes, ONLY=word: some)
	@$(TOOLS)/need_packages.sh iptables nftables util-linux iproute2 openssl mmdebstrap debian-archive-keyring
	@$(RUN) tests/real_node/run.py --only "$(ONLY)" $(ARGS) "$(KUBERNETES)"

incidents: venv-dev link ## Incidents on a virtual machine, each mended as the screen prints; writes docs/tried-incidents.md (as root; half an hour, ONLY=word: some, ARGS=--keep: leave it running)
	@$(RUN) tests/incidents/on_vm.py --only "$(ONLY)" $(ARGS)

fixes: venv-dev link ## Tries the fix that each check of severity high prints on the state that it is for (KUBE_PROXY=path; none: builds 1.20.2 of Debian); writes docs/fixes.md (as root; 20 minutes, ONLY=CHAIN: some, ARGS=--page: the page alone)
	@$(TOOLS)/need_packages.sh iptables nftables util-linux iproute2 psmisc jq containernetworking-plugins
	@$(RUN) tests/fixes/run.py --only "$(ONLY)" $(or $(ARGS),$(KUBE_PROXY),$$(tests/kube_proxy/debian_build.sh))

lint: venv-dev ## ansible-lint, yamllint, vermin, ruff, shellcheck
	@$(RUN) $(TOOLS)/lint.py

sanity: venv-dev ## ansible-test sanity, on two ansible-cores (SHORT=1: the newest)
	@$(RUN) $(TOOLS)/sanity.py $(if $(SHORT),--short)

molecule: link ## Real nodes: virtual machines, kernels and reboots (KERNEL=6.1 SCENARIO=hooks: everything and hooks on that node)
	@PYTHON=$(PYTHON) tests/testbed/run_molecule.sh

bench: venv-dev link ## Benchmarks (SMOKE=1: small numbers, one of each kind; SMOKE=all: every one)
	@$(RUN) tests/benchmarks/run.py $(if $(SMOKE),--smoke) $(if $(filter all,$(SMOKE)),--all)

docs: venv-dev link ## Write generated pages, the guides of the site and the changelog (CHECK=1: compare), render every page (SITE=1: build the site, too; two minutes)
	@$(RUN) $(TOOLS)/docs.py $(if $(CHECK),--check) $(if $(SITE),--site)

golden: venv-dev link ## Write the golden files of the report formats anew; read the difference before you commit it
	@$(RUN) $(TOOLS)/golden.py

build: venv-dev ## Build the tarball, look into it, install it and use it
	@$(RUN) $(TOOLS)/build.py

release: venv-dev ## Release VERSION=0.1.0 where make test-all passed on this tree: version, changelog, tarball with checksum, commit, tag; publishes nothing
	@VERSION="$(VERSION)" $(RUN) $(TOOLS)/release.py

slow: venv-dev link ## Measure the unit tests and write tests/unit/slow.txt anew (20 minutes)
	@$(RUN) $(TOOLS)/slow.py

link: ## Make the collection path that leads to this checkout
	@$(TOOLS)/link_collection.sh

clean: ## Remove what make made in this checkout, except what is costly to make again (.cache)
	rm -rf .build .venv .pytest_cache .hypothesis .ansible kubenode-netfilter-report
	find . -name __pycache__ -not -path './.cache/*' -prune -exec rm -rf {} +

clean-cache: ## Remove what all checkouts of this user share: images, QEMU, wheels, virtual environments
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/kubenode-netfilter"

venv:
	@$(TOOLS)/venv.sh .venv $(PYTHON) -r requirements.txt

venv-dev:
	@$(TOOLS)/venv.sh .venv $(PYTHON) -r requirements-dev.txt
