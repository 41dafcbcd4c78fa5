package trials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/upkeep"

	refrainmysql "github.com/refrain-dev/refrain/mysql"
)

// onServers are the engines on servers that trials run over.
var onServers = []engines.Kind{engines.Pgx, engines.SQL, engines.MySQL}

// session is how an engine on a server is opened.
type session struct {
	now       func() time.Time
	addr      string            // of a proxy before the server; "" is the server itself
	params    map[string]string // settings of its sessions
	busy      time.Duration
	isolation pgx.TxIsoLevel // "" is the engine's own
}

// server is an engine on a shop of a server.
type server struct {
	upkeep.Keeper
	shop *engines.Shop
	with session
	over func(g refrainhttp.Guard, c refrain.Contract, h func(w http.ResponseWriter, r *http.Request, run statement) error) http.Handler
}

var levels = map[pgx.TxIsoLevel]sql.IsolationLevel{pgx.RepeatableRead: sql.LevelRepeatableRead, pgx.Serializable: sql.LevelSerializable}

// statement runs one in the transaction of the effect.
type statement = func(ctx context.Context, query string) error

// connect opens the engine; it is closed with the test.
func connect(t testing.TB, shop *engines.Shop, with session) *server {
	t.Helper()
	s := &server{shop: shop, with: with}
	closed := func() error { return nil }
	var err error
	switch schema := shop.Place().Name; shop.Name {
	case engines.Pgx.Name:
		var db *postgres.DB
		db, err = postgres.Open(t.Context(), with.dsn(shop)+"&pool_max_conns=8", postgres.Options{Schema: schema, Now: with.now, Busy: with.busy, Isolation: with.isolation})
		if s.Keeper = db; err == nil {
			s.over = guarding(db, func(ctx context.Context, tx postgres.Tx, query string) error {
				_, err := tx.Exec(ctx, query)
				return err
			})
		}
	case engines.SQL.Name:
		var cfg *pgx.ConnConfig
		if cfg, err = pgx.ParseConfig(with.dsn(shop)); err != nil {
			t.Fatal(err)
		}
		postgres.ConfigureSQL(cfg)
		handle := stdlib.OpenDB(*cfg)
		handle.SetMaxOpenConns(8)
		closed = handle.Close
		var db *postgres.SQL
		db, err = postgres.NewSQL(handle, postgres.Options{Schema: schema, Now: with.now, Busy: with.busy, Isolation: with.isolation})
		if s.Keeper = db; err == nil {
			s.over = guarding(db, execSQL)
		}
	default:
		var db *refrainmysql.DB
		db, err = refrainmysql.Open(with.dsn(shop), refrainmysql.Options{Connections: 8, Now: with.now, Busy: with.busy, Isolation: levels[with.isolation]})
		if s.Keeper = db; err == nil {
			s.over = guarding(db, execSQL)
		}
	}
	if err != nil {
		t.Fatal(errors.Join(err, closed()))
	}
	t.Cleanup(func() {
		err := errors.Join(s.Close(context.Background()), closed())
		if err != nil && with.addr == "" { // a cable may have cut them
			t.Error(err)
		}
	})
	return s
}

// dsn is the shop's with what the session is given.
func (w session) dsn(shop *engines.Shop) string {
	if shop.MySQL {
		cfg, err := mysql.ParseDSN(shop.DSN(w.addr))
		if err != nil {
			panic(err) // it was parsed before
		}
		cfg.Params = w.params
		return cfg.FormatDSN()
	}
	u, err := url.Parse(shop.DSN(w.addr))
	if err != nil {
		panic(err) // it was parsed before
	}
	query := u.Query()
	for name, value := range w.params {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func execSQL(ctx context.Context, tx refrain.SQLTx, query string) error {
	_, err := tx.ExecContext(ctx, query)
	return err
}

func guarding[T any](executor refrain.Executor[T], run func(context.Context, T, string) error) func(refrainhttp.Guard, refrain.Contract, func(http.ResponseWriter, *http.Request, statement) error) http.Handler {
	return func(g refrainhttp.Guard, c refrain.Contract, h func(http.ResponseWriter, *http.Request, statement) error) http.Handler {
		return refrainhttp.Handle(g, executor, c, func(w http.ResponseWriter, r *http.Request, tx T) error {
			return h(w, r, func(ctx context.Context, query string) error { return run(ctx, tx, query) })
		})
	}
}

func (s *server) guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler {
	return s.over(g, c, func(w http.ResponseWriter, r *http.Request, run statement) error {
		return h(w, r, func() error { return run(r.Context(), s.insert()) })
	})
}

// insert is one business row.
func (s *server) insert() string {
	return "INSERT INTO " + s.shop.Table("orders") + " (client_key, ref, token) VALUES ('', '', '')"
}

func (s *server) rows(t *testing.T) (n int) {
	t.Helper()
	if err := s.shop.Ints(context.WithoutCancel(t.Context()), "SELECT count(*) FROM "+s.shop.Table("orders"), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *server) again(t *testing.T) engine { return connect(t, s.shop, s.with) }

// refuse is a user's session whose right to write records is taken away.
func (s *server) refusing(t *testing.T) (engine, func() func()) {
	t.Helper()
	his, allow, forbid := clerk(t, s.shop)
	allow()
	return connect(t, his, s.with), func() func() { forbid(); return allow }
}

// keeps is the longest body the server takes in one packet of MySQL's protocol,
// with room for what stands beside it; elsewhere it is more than any trial sends.
func (s *server) keeps(t *testing.T) int {
	t.Helper()
	if !s.shop.MySQL {
		return 1 << 30
	}
	var packet int
	if err := s.shop.Ints(t.Context(), "SELECT @@max_allowed_packet", &packet); err != nil {
		t.Fatal(err)
	}
	return packet - 64<<10
}

// sell starts a web server over an engine whose handler sends statements of its
// own, under the orders' contract.
func (s *server) sell(t *testing.T, c refrain.Contract, h func(w http.ResponseWriter, r *http.Request, run statement) error) *shop {
	t.Helper()
	sh := &shop{t: t, store: s, log: new(safeBuffer)}
	sh.mount(s.over(guard, c, h))
	return sh
}

// created is the answer of the handler's n-th run.
func created(w http.ResponseWriter, n int32) error {
	w.WriteHeader(http.StatusCreated)
	_, err := fmt.Fprintf(w, "created by run %d", n)
	return err
}

// wantRun demands the first answer of the handler's n-th run.
func wantRun(t *testing.T, a answer, n int32) {
	t.Helper()
	wantFresh(t, a, http.StatusCreated)
	if want := fmt.Sprintf("created by run %d", n); a.body != want {
		t.Errorf("answer = %q, want %q", a.body, want)
	}
}
