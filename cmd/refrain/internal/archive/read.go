package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/refrain-dev/refrain/record"
)

// Read yields the records of archives, in the order they were written; a record
// may come twice, where a batch was written again. It ends with the first error.
func Read(paths ...string) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for _, path := range paths {
			for rec, err := range read(path) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

func read(path string) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(record.Record{}, err)
			return
		}
		defer f.Close()
		size, err := whole(f)
		if err != nil {
			yield(record.Record{}, fmt.Errorf("archive %s: %w", path, err))
			return
		}
		z, err := zstd.NewReader(io.NewSectionReader(f, 0, size), zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(record.Record{}, err)
			return
		}
		defer z.Close()
		lines := bufio.NewReader(z)
		for n := 1; ; n++ {
			text, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			var rec record.Record
			if err == nil {
				rec, err = decode(text)
			}
			if err != nil {
				yield(record.Record{}, fmt.Errorf("archive %s: line %d: %w", path, n, err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}
