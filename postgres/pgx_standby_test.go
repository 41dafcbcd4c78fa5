package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// lone is a server of the test's own, whose COMMITs wait for a standby that only
// the test starts.
type lone struct {
	dir string
	url string
}

func newLone(t *testing.T) *lone {
	t.Helper()
	bin, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(bin) == 0 {
		unmet(t, "no initdb under /usr/lib/postgresql")
	}
	dir, err := os.MkdirTemp("/tmp", "lone")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &lone{dir: dir, url: "host=" + dir + " user=postgres dbname=postgres"}
	if id := l.identity(t); id != nil {
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := l.command(t, "initdb", "-D", dir+"/data", "-U", "postgres", "-A", "trust", "-N", "--no-instructions").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := l.command(t, "postgres", "-D", dir+"/data", "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "synchronous_standby_names=tape", "-c", "max_wal_senders=3", "-c", "wal_sender_timeout=60s")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	eventually(t, "the server answers", func() bool {
		conn, err := pgx.Connect(t.Context(), l.url)
		if err != nil {
			return false
		}
		return conn.Close(t.Context()) == nil
	})
	return l
}

// identity is whom the server runs as: it refuses to be root.
func (l *lone) identity(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		unmet(t, "no user to run a server as: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (l *lone) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	cmd := exec.Command(all[0], args...)
	cmd.Dir = l.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.identity(t), Pdeathsig: syscall.SIGKILL}
	return cmd
}

// standby confirms COMMITs until stop is called.
func (l *lone) standby(t *testing.T) (stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp(l.dir, "tape")
	if err != nil {
		t.Fatal(err)
	}
	if id := l.identity(t); id != nil {
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	tape := l.command(t, "pg_receivewal", "-D", dir, "--synchronous", "-d", "host="+l.dir+" user=postgres application_name=tape")
	if err := tape.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = tape.Process.Kill()
		_ = tape.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// shop is an engine there; its tables are made while a standby confirms.
func (l *lone) shop(t *testing.T, opts Options, dress ...func(*pgxpool.Config)) *shop {
	t.Helper()
	s := openShop(t, l.url, opts, dress...)
	s.raw = rawPool(t, l.url+" synchronous_commit=local")
	return s
}

// waiting counts COMMITs that wait for the standby, and cancel gives up their
// waits.
func (s *shop) waiting(t *testing.T, cancel bool) (n int) {
	t.Helper()
	query := `WITH w AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep') SELECT count(*) FROM w`
	if cancel {
		query += ` WHERE pg_cancel_backend(pid)`
	}
	if err := s.raw.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func emits(db *DB) *atomic.Int64 {
	var n atomic.Int64
	emit := db.acks.emit
	db.acks.emit = func(ctx context.Context) (seen, error) {
		n.Add(1)
		return emit(ctx)
	}
	return &n
}

// TestStandby: what no synchronous standby has confirmed is not acknowledged,
// neither as an outcome nor as a repeat.
func TestStandby(t *testing.T) {
	l := newLone(t)
	stop := l.standby(t)
	s := l.shop(t, Options{})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sql0(t, `CREATE TABLE {schema}.orders (item text NOT NULL)`)
	ctx := t.Context()
	soon := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, time.Second) }

	// With the standby: no barrier, whoever asks this engine.
	own := emits(s.DB)
	if err := s.run(keeperCall("confirmed"), s.put("confirmed")); err != nil {
		t.Fatal(err)
	}
	if err := s.run(keeperCall("later"), s.put("later")); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Execute(ctx, keeperCall("confirmed"), s.put("again")); err != nil || !out.Replayed {
		t.Errorf("a repeat = %+v, %v", out, err)
	}
	same(t, "barriers for what later COMMITs have confirmed", own.Load(), int64(0))

	// Another process knows of nothing and needs one, shared by all.
	other := l.shop(t, Options{})
	barriers := emits(other.DB)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if out, err := other.Execute(ctx, keeperCall("later"), other.put("again")); err != nil || !out.Replayed {
				t.Errorf("a repeat elsewhere = %+v, %v", out, err)
			}
		})
	}
	wg.Wait()
	if n := barriers.Load(); n < 1 || n > 3 {
		t.Errorf("%d barriers for eight repeats", n)
	}

	// Without it: the caller is released, nothing is told of the record.
	stop()
	call := keeperCall("down")
	call.Contract.CommitWait = 50 * time.Millisecond
	wantRow(t, s.run(call, s.put("down")), "10", refrain.ErrCommitUnknown)
	eventually(t, "COMMIT waits", func() bool { return s.waiting(t, false) == 1 })

	// Somebody gives its wait up: the row can be seen now, and is not safe.
	cancelled := keeperCall("cancelled")
	wg.Go(func() {
		eventually(t, "both COMMITs wait", func() bool { return s.waiting(t, false) == 2 })
		s.waiting(t, true)
	})
	wantRow(t, s.run(cancelled, s.put("cancelled")), "10", refrain.ErrCommitUnknown)
	wg.Wait()
	for _, db := range []*shop{s, other} {
		ctx, cancel := soon()
		_, err := db.Execute(ctx, cancelled, s.put("again"))
		cancel()
		wantRow(t, err, "10", refrain.ErrCommitUnknown)
		_, _, err = db.Load(cancelSoon(t), claimOf(t, cancelled).Identity)
		if !errors.Is(err, refrain.ErrCommitUnknown) {
			t.Errorf("Load: %v", err)
		}
	}
	if out, err := s.Execute(ctx, keeperCall("confirmed"), s.put("again")); err != nil || !out.Replayed {
		t.Errorf("a repeat of what is confirmed = %+v, %v", out, err)
	}

	// Inside a caller's transaction the caller's own COMMIT waits instead.
	joined, end := context.WithTimeout(ctx, time.Second)
	err := pgx.BeginFunc(joined, s.raw, func(tx pgx.Tx) error {
		out, err := s.ExecuteIn(joined, tx, cancelled, s.put("again"))
		if err != nil || !out.Replayed {
			t.Errorf("ExecuteIn = %+v, %v", out, err)
		}
		return err
	})
	end()
	if !pgconn.Timeout(err) {
		t.Errorf("the caller's COMMIT was answered: %v", err)
	}

	// An effect that lets its own COMMIT not wait vouches for nobody else's.
	if err := s.run(keeperCall("local"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = local`)
		return done, err
	}); err != nil {
		t.Error(err)
	}
	_, _, err = s.Load(cancelSoon(t), claimOf(t, cancelled).Identity)
	wantRow(t, err, "10", refrain.ErrCommitUnknown)

	// Back again: everything is told.
	l.standby(t)
	eventually(t, "the COMMITs are confirmed", func() bool { return s.waiting(t, false) == 0 })
	for _, c := range []refrain.Call{call, cancelled} {
		for _, db := range []*shop{s, other} {
			if out, err := db.Execute(ctx, c, s.put("again")); err != nil || !out.Replayed {
				t.Errorf("%s: a repeat = %+v, %v", c.Key, out, err)
			}
		}
	}
	s.wantItems(t, "confirmed", "later", "down", "cancelled")
	s.wantIdle(t)
	other.wantIdle(t)

	// A pool that hears nothing follows each COMMIT by a barrier.
	deafShop := l.shop(t, Options{}, unconfigured)
	followed := emits(deafShop.DB)
	if err := deafShop.run(keeperCall("unheard"), s.put("unheard")); err != nil {
		t.Error(err)
	}
	same(t, "barriers after a COMMIT nobody hears", followed.Load(), int64(1))
}

// cancelSoon is a context that ends soon.
func cancelSoon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestUnconfirmedInAnyLanguage: the warning is known by the routine that gives it,
// or by its text.
func TestUnconfirmedInAnyLanguage(t *testing.T) {
	for _, n := range []pgconn.Notice{
		{Message: "canceling wait for synchronous replication due to user request"},
		{Message: "canceling the wait for synchronous replication and terminating connection due to administrator command"},
		{Message: "storniere Warten auf synchrone Replikation wegen Benutzeraufforderung", Routine: "SyncRepWaitForLSN"},
	} {
		same(t, n.Message, unconfirmed(&n), true)
	}
	same(t, "another notice", unconfirmed(&pgconn.Notice{Message: "there is no transaction in progress", Routine: "EndTransactionBlock"}), false)
}
