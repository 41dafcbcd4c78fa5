module github.com/refrain-dev/refrain/sqlite

go 1.26.0

require (
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/refrain-dev/refrain v0.0.0
)

replace github.com/refrain-dev/refrain => ../
