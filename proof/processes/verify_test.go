package processes

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

// TestVerifyFindsPlantedFaults breaks a sound file in each way Verify knows.
func TestVerifyFindsPlantedFaults(t *testing.T) {
	dir := t.TempDir()
	sound := filepath.Join(dir, "sound.db")
	demo, client := Start(t, sound), NewClient(1)
	defer client.Close()
	for _, o := range []Order{{"one", "BOOK-1", 1}, {"two", "BOOK-2", 2}, {"refused", "SOLD-OUT", 1}} {
		if _, err := client.Post(t.Context(), demo.URL, o); err != nil {
			t.Fatal(err)
		}
	}
	demo.Stop(t)
	if census, err := Verify(t.Context(), sound); err != nil || census != (Census{Orders: 2, Receipts: 2, Refusals: 1, Operations: 3}) {
		t.Fatalf("the sound file: %+v, %v", census, err)
	}

	// The copies have no unique indexes, so that even what those prevent can be planted.
	const north = `(SELECT ref FROM refrain_record WHERE key = CAST('one' AS BLOB))`
	for i, fault := range []struct{ plant, found string }{
		{`DELETE FROM refrain_record WHERE ref = ` + north, "order without its receipt"},
		{`DELETE FROM demo_order WHERE quantity = 1`, "receipt without its order"},
		{`INSERT INTO demo_order (order_id, tenant, sku, quantity, refrain_ref) SELECT 'ord_2', tenant, sku, quantity, refrain_ref FROM demo_order WHERE quantity = 1`, "ref on two orders"},
		{`INSERT INTO demo_order (order_id, tenant, sku, quantity, refrain_ref) VALUES ('ord_3', 'north', 'BOOK-1', 1, 'op_none')`, "3 orders and 2 confirmed receipts"},
		{`UPDATE refrain_record SET effect = '/v1/orders/ord_4' WHERE ref = ` + north, "order without its receipt"},
		{`UPDATE refrain_record SET key = CAST('two' AS BLOB) WHERE ref = ` + north, "identity recorded twice"},
		{`UPDATE refrain_record SET key = CAST('three' AS BLOB) WHERE ref = ` + north, "record under another identity's hash"},
		{`UPDATE refrain_record SET hash = (SELECT max(hash) FROM refrain_record)`, "hash of two records"},
		{`UPDATE refrain_record SET ref = 'op_same'`, "ref of two records"},
		{`UPDATE refrain_record SET state = 2, final = NULL WHERE ref = ` + north, "half-done local action"},
		{`UPDATE refrain_record SET body = NULL WHERE ref = ` + north, "final record without its result"},
		{`UPDATE refrain_record SET remember_until = NULL WHERE ref = ` + north, "final record without its deadlines"},
		{`UPDATE refrain_record SET body = replace(body, 'BOOK-1', 'BOOK-2') WHERE ref = ` + north, "receipt of another order"},
		{`INSERT INTO demo_order (order_id, tenant, sku, quantity, refrain_ref) SELECT 'ord_5', 'north', 'SOLD-OUT', 1, ref FROM refrain_record WHERE state = 5`, "refusal with an order"},
		{`DELETE FROM refrain_operation`, "record of an unknown operation"},
	} {
		broken := filepath.Join(dir, fmt.Sprintf("broken-%d.db", i))
		db, err := driver.Open("file:" + sound)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`VACUUM INTO ?`, broken)
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		plant(t, broken, fault.plant)
		if _, err := Verify(t.Context(), broken); err == nil || !strings.Contains(err.Error(), fault.found) {
			t.Errorf("%s\nwas found as: %v\nwant: %s", fault.plant, err, fault.found)
		}
	}
}

// plant takes away the unique constraints of the file and runs the statement.
func plant(t *testing.T, path, statement string) {
	t.Helper()
	db, err := driver.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`DROP INDEX refrain_record_hash`, `DROP INDEX refrain_record_ref`,
		`CREATE TABLE bare AS SELECT * FROM demo_order`, `DROP TABLE demo_order`, `ALTER TABLE bare RENAME TO demo_order`,
		statement,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}
