# make check is what a change must pass before it is proposed; .ci/run adds the
# long tests, the race detector, cross-builds and the demos.
.PHONY: build check test fmt golden bench dist

build:
	go run ./release/build -o linerate
	go run ./release/build -program linerate-broker -o linerate-broker

check: fmt
	go vet ./...
	cd tools && go build -o ../dist/ honnef.co/go/tools/cmd/staticcheck
	dist/staticcheck ./...
	go mod tidy -diff
	go test ./...

fmt:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not gofmt-ed: $$bad"; exit 1; fi

test:
	go test ./...

golden:
	go test ./internal/explain ./internal/facts ./internal/kernel ./internal/measure ./internal/report ./internal/report/chart ./internal/rules ./internal/store ./internal/lab/topology ./internal/lab/fault ./bench/diagnosis -update
	go test ./internal/cli -run 'Published|Size|Compare' -update

bench:
	go run ./bench/demo -n 20

# All of a release, in dist/; see docs/install.md.
dist:
	cd tools && go run ./release -o ../dist
