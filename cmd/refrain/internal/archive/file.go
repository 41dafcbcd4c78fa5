package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/refrain-dev/refrain/record"
)

// File is an archive that is written to. Each batch is a frame of its own behind
// the others, so what was written before is never touched.
type File struct {
	file *os.File
	path string
	size int64 // of whole frames
}

// Append opens the archive at path, or makes it, readable by its owner alone. What a
// batch that was cut off left behind the last whole one is cut off, too.
func Append(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	a := &File{file: f, path: path}
	if err = lock(f); err == nil {
		a.size, err = whole(f)
	}
	if err == nil {
		err = f.Truncate(a.size)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("archive %s: %w", path, err), f.Close())
	}
	return a, nil
}

// Keep appends records and returns when they are durable and were read back as
// they are. After an error the archive is as it was.
func (a *File) Keep(_ context.Context, records []record.Record) error {
	if len(records) == 0 {
		return nil
	}
	var lines []byte
	for _, rec := range records {
		text, err := encode(rec)
		if err != nil {
			return err
		}
		lines = append(lines, text...)
	}
	if err := a.same(); err != nil {
		return err
	}
	frame, err := compress(lines)
	if err == nil {
		err = a.write(frame, lines)
	}
	if err != nil {
		return fmt.Errorf("archive %s: %w", a.file.Name(), errors.Join(err, a.file.Truncate(a.size)))
	}
	a.size += int64(len(frame))
	return nil
}

// same checks that the file is the one at its path, and as it was left.
func (a *File) same() error {
	here, err := a.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(a.path)
	switch {
	case err != nil:
		return fmt.Errorf("archive %s is not there any more: %w", a.path, err)
	case !os.SameFile(here, there) || here.Size() != a.size:
		return fmt.Errorf("archive %s was changed by somebody else; open it again", a.path)
	}
	return nil
}

// Close closes the archive.
func (a *File) Close() error { return a.file.Close() }

// write writes a frame and reads it back.
func (a *File) write(frame, lines []byte) error {
	if _, err := a.file.WriteAt(frame, a.size); err != nil {
		return err
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	back := make([]byte, len(frame))
	if _, err := a.file.ReadAt(back, a.size); err != nil {
		return err
	}
	read, err := decompress(back)
	if err != nil || !bytes.Equal(read, lines) {
		return errors.Join(errors.New("what was written is not what is read"), err)
	}
	return nil
}

// A frame is preceded by a skippable frame (RFC 8878 §3.1.2) with its length and a
// checksum of that, so that the end of the last whole one is found without reading
// the others, and a damaged length is not taken for the end.
const (
	skippable = 0x184D2A50
	preface   = 16
)

func compress(lines []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	frame := w.EncodeAll(lines, make([]byte, preface))
	size := uint32(len(frame) - preface)
	if uint64(size) != uint64(len(frame)-preface) {
		return nil, errors.New("a batch of 4 GiB")
	}
	binary.LittleEndian.PutUint32(frame, skippable)
	binary.LittleEndian.PutUint32(frame[4:], preface-8)
	binary.LittleEndian.PutUint32(frame[8:], size)
	binary.LittleEndian.PutUint32(frame[12:], crc32.ChecksumIEEE(frame[8:12]))
	return frame, nil
}

func length(head []byte) (int64, bool) {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[i:]) }
	return int64(word(8)), word(0) == skippable && word(4) == preface-8 && word(12) == crc32.ChecksumIEEE(head[8:12])
}

func decompress(frame []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(frame, nil)
}

// whole is the size of the whole frames of f.
func whole(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	head := make([]byte, preface)
	for at := int64(0); ; {
		if at == info.Size() {
			return at, nil
		}
		if n, err := f.ReadAt(head, at); errors.Is(err, io.EOF) {
			begins := binary.LittleEndian.AppendUint32(nil, skippable)
			if begins = binary.LittleEndian.AppendUint32(begins, preface-8); !bytes.HasPrefix(head[:n], begins[:min(n, len(begins))]) {
				return 0, fmt.Errorf("at byte %d: it is not an archive of refrain's, or damaged", at)
			}
			return at, nil // cut off
		} else if err != nil {
			return 0, err
		}
		n, ok := length(head)
		if !ok {
			return 0, fmt.Errorf("at byte %d: it is not an archive of refrain's, or damaged", at)
		}
		if at+preface+n > info.Size() {
			return at, nil
		}
		at += preface + n
	}
}

// syncDir makes the name of a new file durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, fs.ErrInvalid) {
		err = nil // a file system that has none of it
	}
	return errors.Join(err, d.Close())
}
