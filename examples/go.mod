module github.com/refrain-dev/refrain/examples

go 1.26.0

require (
	github.com/refrain-dev/refrain v0.0.0
	github.com/refrain-dev/refrain/sqlite v0.0.0
)

require (
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/refrain-dev/refrain => ../
	github.com/refrain-dev/refrain/sqlite => ../sqlite
)
