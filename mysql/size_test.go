package mysql

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// A record that the server would not take, or not give back, is refused before
// the effect commits.
func TestResultOverPacket(t *testing.T) {
	s := newShop(t)
	packet, err := strconv.ParseInt(column(t, s.raw, `SELECT @@max_allowed_packet`)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if packet > 16<<20 {
		const why = "the server takes %d bytes in one piece, and the results would be as large; start it with max_allowed_packet=16M"
		if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
			t.Fatalf(why, packet)
		}
		t.Skipf("skipped: "+why, packet)
	}
	answers := func(n int64) effect {
		return func(ctx context.Context, tx Tx) (refrain.Result, error) {
			result, err := buys("x")(ctx, tx)
			result.Body = bytes.Repeat([]byte{'\''}, int(n)) // twice as long in a text
			return result, err
		}
	}
	for name, open := range kinds {
		db := open(t, s.cfg, Options{Busy: time.Minute}) // of 32 MiB of text on a slow machine
		c := order(name)
		c.Contract.MaxResponse = 100 << 20
		beside := int64(fixedBytes + len(c.Scope.String()) + len(c.Contract.Operation) + len(c.Key) + len(c.Contract.Schema))
		claim, err := c.Claim()
		if err != nil {
			t.Fatal(err)
		}
		beside += int64(len(claim.Request.Print.Rule) + len(claim.IdentityVersion))
		limit := packet - beside
		for _, n := range []int64{17 << 20, 70 << 20, limit + 1} {
			_, err := db.Execute(context.Background(), c, answers(n))
			wantRow(t, err, "15", refrain.ErrResultTooLarge)
			s.wants(t)
		}
		for i, n := range []int64{limit, limit - 1, packet/2 + 1, packet / 2, packet/2 - 8<<10, packet/2 - 10<<10} {
			c.Key = name[1:] + strconv.Itoa(i) // as long as before
			out, err := db.Execute(context.Background(), c, answers(n))
			if err != nil || out.Replayed {
				t.Errorf("%s: %d bytes: %v", name, n, err)
				continue
			}
			again, err := db.Execute(context.Background(), c, answers(1))
			if err != nil || !again.Replayed || !bytes.Equal(again.Body, out.Body) {
				t.Errorf("%s: %d bytes: replayed %d, %v", name, n, len(again.Body), err)
			}
		}
		must(t, s.raw, `DELETE FROM effects`)
		c.Key, c.Contract.KeepDigest = "digest", true
		out, err := db.Execute(context.Background(), c, answers(17<<20))
		if err != nil || len(out.Digest) != 32 {
			t.Errorf("%s: a digest: %v", name, err)
		}
		must(t, s.raw, `DELETE FROM effects`, `DELETE FROM refrain_record`)
		c.Key = "header"
		_, err = db.Execute(context.Background(), c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			result, err := buys("x")(ctx, tx)
			result.Header = [][2]string{{"X", string(make([]byte, 17<<20))}}
			return result, err
		})
		wantRow(t, err, "15", refrain.ErrResultTooLarge)
		s.wants(t)
		usable(t, db)
		must(t, s.raw, `DELETE FROM refrain_record`)
	}
}

// A column may hold less than the server takes in one piece.
func TestHeaderOverColumn(t *testing.T) {
	claim, err := order("k").Claim()
	if err != nil {
		t.Fatal(err)
	}
	header := func(n int) [][2]string { return [][2]string{{"X", strings.Repeat("x", n)}} }
	const near = 1<<24 - 100
	beside := len(record.EncodeHeader(header(near))) - near
	for size, fits := range map[int]bool{1<<24 - 1: true, 1 << 24: false} {
		_, err := keep(claim, refrain.Result{Header: header(size - beside)}, 64<<20)
		if large := errors.Is(err, refrain.ErrResultTooLarge); large == fits || err != nil && !large {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
