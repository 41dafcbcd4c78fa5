module github.com/refrain-dev/refrain/cmd/refrain

go 1.26.0

require (
	github.com/refrain-dev/refrain v0.0.0
	github.com/refrain-dev/refrain/sqlite v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace (
	github.com/refrain-dev/refrain => ../../
	github.com/refrain-dev/refrain/sqlite => ../../sqlite
)
