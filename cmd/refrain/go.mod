module github.com/refrain-dev/refrain/cmd/refrain

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/jackc/pgx/v5 v5.13.0
	github.com/klauspost/compress v1.20.4
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/refrain-dev/refrain v0.0.0
	github.com/refrain-dev/refrain/mysql v0.0.0
	github.com/refrain-dev/refrain/postgres v0.0.0
	github.com/refrain-dev/refrain/sqlite v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace (
	github.com/refrain-dev/refrain => ../../
	github.com/refrain-dev/refrain/mysql => ../../mysql
	github.com/refrain-dev/refrain/postgres => ../../postgres
	github.com/refrain-dev/refrain/sqlite => ../../sqlite
)
