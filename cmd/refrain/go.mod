module github.com/refrain-dev/refrain/cmd/refrain

go 1.26.0

require (
	github.com/refrain-dev/refrain v0.0.0
	github.com/refrain-dev/refrain/sqlite v0.0.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
)

replace (
	github.com/refrain-dev/refrain => ../../
	github.com/refrain-dev/refrain/sqlite => ../../sqlite
)
