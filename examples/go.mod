module github.com/refrain-dev/refrain/examples

go 1.26.0

require (
	github.com/refrain-dev/refrain v0.0.0
	github.com/refrain-dev/refrain/sqlite v0.0.0
)

replace (
	github.com/refrain-dev/refrain => ../
	github.com/refrain-dev/refrain/sqlite => ../sqlite
)
