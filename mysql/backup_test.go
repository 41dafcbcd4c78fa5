package mysql

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// A dump that is taken while orders come and records are forgotten restores to a
// store in which every order has its record and every record its order.
func TestBackupUnderLoad(t *testing.T) {
	dump, load := tool(t, "mariadb-dump", "mysqldump"), tool(t, "mariadb", "mysql")
	a := newAged(t)
	const settled = 300
	fill(t, a.shop, settled, a.now)
	must(t, a.raw, "INSERT INTO effects SELECT `key` FROM refrain_record")
	if err := a.db.Register(t.Context(), order("").Contract); err != nil {
		t.Fatal(err)
	}
	a.now = a.now.Add(25 * time.Hour) // the settled ones are past their memory
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	under := make(chan struct{}) // way
	for worker := range 3 {
		db := []*DB{a.db, a.another}[worker%2]
		busy.Go(func() {
			defer stop()
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d of %d", n, worker)
				if err := run(db, key, buys(key)); err != nil {
					t.Error(err)
				}
				if n == 20 && worker == 0 {
					close(under)
				}
			}
		})
	}
	busy.Go(func() {
		defer stop()
		for ctx.Err() == nil {
			if _, err := a.another.Reap(t.Context(), upkeep.Reap{Limit: 10}); err != nil {
				t.Error(err)
			}
		}
	})
	await(t, under, "orders")
	text := invoke(t, a.cfg, nil, dump, "--single-transaction", "--hex-blob", "--skip-lock-tables", "--no-tablespaces", a.cfg.DBName)
	stop()
	busy.Wait()

	restored := &aged{now: a.now}
	restored.cfg = database(t)
	restored.raw = poolOf(t, restored.cfg)
	invoke(t, restored.cfg, text, load, restored.cfg.DBName)
	restored.db = opened(t, restored.cfg, Options{Now: func() time.Time { return restored.now }})
	orders, records := column(t, restored.raw, `SELECT id FROM effects WHERE id LIKE '% of %' ORDER BY id`), column(t, restored.raw, "SELECT `key` FROM refrain_record WHERE `key` LIKE '% of %' ORDER BY `key`")
	if len(orders) < 20 || !slices.Equal(orders, records) {
		t.Errorf("%d orders and %d records", len(orders), len(records))
	}
	all := len(column(t, restored.raw, `SELECT n FROM refrain_record`))
	restored.sound(t, all)
	for _, key := range orders {
		if out := mustBuy(t, restored.db, order(key)); !out.Replayed || string(out.Body) != key {
			t.Errorf("%s: %+v", key, out)
		}
	}
	walked, err := restored.db.Walk(t.Context(), "", 1)
	if err != nil || len(walked.Records) != 1 || walked.Records[0].State != record.Confirmed {
		t.Errorf("%+v, %v", walked, err)
	}
}

// tool is a program of the server's.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
		t.Fatalf("none of %q is installed", names)
	}
	t.Skipf("skipped: none of %q is installed", names)
	return ""
}

// invoke runs a tool on the server of cfg.
func invoke(t *testing.T, cfg *driverlib.Config, input []byte, tool string, args ...string) []byte {
	t.Helper()
	where := []string{"--no-defaults", "--user=" + cfg.User}
	if host, port, err := net.SplitHostPort(cfg.Addr); err == nil {
		where = append(where, "--protocol=TCP", "--host="+host, "--port="+port)
	} else {
		where = append(where, "--socket="+cfg.Addr)
	}
	cmd := exec.CommandContext(t.Context(), tool, append(where, args...)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+cfg.Passwd)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, errs.Bytes())
	}
	return out.Bytes()
}
