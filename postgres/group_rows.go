package postgres

import (
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// batchAnswer is what one statement answered, copied off the connection, so that
// each caller reads its own on its own goroutine.
type batchAnswer struct {
	fields []pgconn.FieldDescription
	rows   [][][]byte
	tag    pgconn.CommandTag
}

// readAnswer takes the whole result off the connection.
func readAnswer(rows pgx.Rows) (*batchAnswer, error) {
	a := new(batchAnswer)
	for rows.Next() {
		if a.fields == nil {
			a.fields = append(a.fields, rows.FieldDescriptions()...)
		}
		a.rows = append(a.rows, copyRow(rows.RawValues()))
	}
	if a.fields == nil {
		a.fields = append(a.fields, rows.FieldDescriptions()...)
	}
	rows.Close()
	a.tag = rows.CommandTag()
	return a, rows.Err()
}

func copyRow(raw [][]byte) [][]byte {
	size := 0
	for _, v := range raw {
		size += len(v)
	}
	row, buf := make([][]byte, len(raw)), make([]byte, 0, size)
	for i, v := range raw {
		if v != nil {
			from := len(buf)
			buf = append(buf, v...)
			row[i] = buf[from:len(buf):len(buf)]
		}
	}
	return row
}

// decoder is the connection's type map, which takes one user at a time, while
// the transaction stands.
type decoder struct {
	mu    sync.Mutex
	types *pgtype.Map // nil once the transaction has ended
}

func (d *decoder) use(read func(*pgtype.Map) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.types == nil {
		return errAgain
	}
	return read(d.types)
}

func (d *decoder) begin(types *pgtype.Map) {
	d.mu.Lock()
	d.types = types
	d.mu.Unlock()
}

func (d *decoder) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.types == nil
}

func (d *decoder) end() {
	d.mu.Lock()
	d.types = nil
	d.mu.Unlock()
}

// replies gives the answer of one statement to its callback.
type replies struct {
	*batchAnswer
	decoder *decoder
}

var _ pgx.BatchResults = replies{}

func (r replies) Exec() (pgconn.CommandTag, error) { return r.tag, nil }
func (r replies) Query() (pgx.Rows, error) {
	return &memoryRows{batchAnswer: r.batchAnswer, decoder: r.decoder, at: -1}, nil
}
func (r replies) QueryRow() pgx.Row {
	return memoryRow{&memoryRows{batchAnswer: r.batchAnswer, decoder: r.decoder, at: -1}}
}
func (r replies) Close() error { return nil }
func (r replies) Tx() pgx.Tx   { return nil }

// memoryRows are [pgx.Rows] over an answer.
type memoryRows struct {
	*batchAnswer
	decoder *decoder
	at      int
	closed  bool
	err     error
}

var _ pgx.Rows = (*memoryRows)(nil)

func (r *memoryRows) Close()                                       { r.closed = true }
func (r *memoryRows) Err() error                                   { return r.err }
func (r *memoryRows) CommandTag() pgconn.CommandTag                { return r.tag }
func (r *memoryRows) FieldDescriptions() []pgconn.FieldDescription { return r.fields }
func (r *memoryRows) Conn() *pgx.Conn                              { return nil }

func (r *memoryRows) Next() bool {
	if r.closed || r.at+1 >= len(r.rows) {
		r.closed = true
		return false
	}
	r.at++
	return true
}

func (r *memoryRows) RawValues() [][]byte {
	if r.at < 0 || r.at >= len(r.rows) {
		return nil
	}
	return r.rows[r.at]
}

// TypeMap is a copy: the connection's own takes one user at a time.
func (r *memoryRows) TypeMap() (m *pgtype.Map) {
	_ = r.decoder.use(func(types *pgtype.Map) error {
		m = types.Copy()
		return nil
	})
	return m
}

// fatal ends the rows, as an error of a scan does in pgx.
func (r *memoryRows) fatal(err error) error {
	if err != nil {
		r.closed = true
		if r.err == nil {
			r.err = err
		}
	}
	return err
}

var errNoRow = errors.New("postgres: no row to read: call Next first")

func (r *memoryRows) Scan(dest ...any) error {
	if len(dest) == 1 {
		if whole, ok := dest[0].(pgx.RowScanner); ok {
			return r.fatal(whole.ScanRow(r))
		}
	}
	values := r.RawValues()
	if values == nil {
		return r.fatal(errNoRow)
	}
	return r.fatal(r.decoder.use(func(types *pgtype.Map) error {
		return pgx.ScanRow(types, r.fields, values, dest...)
	}))
}

func (r *memoryRows) Values() ([]any, error) {
	raw := r.RawValues()
	if raw == nil {
		return nil, r.fatal(errNoRow)
	}
	values := make([]any, len(raw))
	err := r.decoder.use(func(types *pgtype.Map) (err error) {
		for i, field := range r.fields {
			known, ok := types.TypeForOID(field.DataTypeOID)
			switch {
			case raw[i] == nil:
			case ok:
				values[i], err = known.Codec.DecodeValue(types, field.DataTypeOID, field.Format, raw[i])
			case field.Format == pgx.TextFormatCode:
				values[i] = string(raw[i])
			default:
				values[i] = append([]byte(nil), raw[i]...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, r.fatal(err)
	}
	return values, nil
}

// memoryRow is [pgx.Row] over an answer.
type memoryRow struct{ rows *memoryRows }

func (r memoryRow) Scan(dest ...any) error {
	if !r.rows.Next() {
		return pgx.ErrNoRows
	}
	return r.rows.Scan(dest...)
}
