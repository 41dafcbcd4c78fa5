package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/refrain-dev/refrain/record"
)

// ErrCutOff means that an archive ends within a batch. A writer that is killed leaves
// that, before it forgets anything of the batch; so does a copy that is not whole.
var ErrCutOff = errors.New("its end is cut off")

// Read yields the records of archives, in the order they were written; a record
// may come twice, where a batch was written again. A batch that is damaged hides
// none beside it: behind what can be read of an archive comes one error about the
// first that cannot, or [ErrCutOff], and then the next archive.
func Read(paths ...string) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for _, path := range paths {
			for rec, err := range read(path) {
				if !yield(rec, err) {
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
		info, err := f.Stat()
		if err != nil {
			yield(record.Record{}, err)
			return
		}
		var damage error
		for at, frame := range frames(f, info.Size()) {
			records, err := batch(frame)
			for _, rec := range records {
				if !yield(rec, nil) {
					return
				}
			}
			if err != nil {
				damage = cmp.Or(damage, fmt.Errorf("the batch at byte %d: %w", at, err))
			}
		}
		size, err := whole(f)
		if err == nil && size < info.Size() {
			err = ErrCutOff
		}
		if err := cmp.Or(damage, err); err != nil {
			yield(record.Record{}, fmt.Errorf("archive %s: %w", path, err))
		}
	}
}

// frames yields the whole frames of f and where they begin, until one whose length
// is not known: whole says why.
func frames(f *os.File, size int64) iter.Seq2[int64, io.Reader] {
	return func(yield func(int64, io.Reader) bool) {
		head := make([]byte, preface)
		for at := int64(0); ; {
			if _, err := f.ReadAt(head, at); err != nil {
				return
			}
			n, ok := length(head)
			if !ok || at+preface+n > size || !yield(at, io.NewSectionReader(f, at+preface, n)) {
				return
			}
			at += preface + n
		}
	}
}

// batch is what a frame holds, none of it where its checksum is wrong, else all that
// stands before a line which cannot be read.
func batch(frame io.Reader) (records []record.Record, err error) {
	packed, err := io.ReadAll(frame)
	if err != nil {
		return nil, err
	}
	lines, err := decompress(packed)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(lines) {
		rec, err := decode(line)
		if err != nil {
			return records, err
		}
		records = append(records, rec)
	}
	return records, nil
}
