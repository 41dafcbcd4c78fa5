# make         prints this list
# make test    what the README says: every module's tests
# make race    the same under the race detector
# make lint    gofmt, go vet and staticcheck over every module (checks and reasons: scripts/lint)
# make fuzz    every fuzz target for FUZZTIME (10s) each
# make mutants breaks every guarantee on purpose; ONLY=id for some of them
# make proof   the heavy proofs too: crash, simulation, release rehearsal
# make bench   every benchmark, as ratios in one run
# make api     rewrites api.txt after an intended change of exported names
# make release VERSION=v0.1.0 tags all modules on a commit beside main; pushes nothing

FUZZTIME ?= 10s
ONLY ?=

.PHONY: help test race lint fuzz mutants proof bench api release

help:
	@sed -n 's/^# make/make/p' Makefile

test:
	go test work

race:
	go test -race work

lint:
	scripts/lint
	scripts/lint-planted

fuzz:
	scripts/fuzz $(FUZZTIME)

mutants:
	go run ./proof/mutants -only "$(ONLY)"
	go run ./proof/mutants -only "$(ONLY)" -file proof/mutants-servers.txt

proof:
	REFRAIN_PROOF=full go test -count=1 -timeout 90m work

bench:
	cd proof && go run ./bench

api:
	go test -run '^TestAPI$$' -update .

release:
	scripts/release "$(VERSION)"
