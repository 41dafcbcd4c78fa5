package refrainhttp

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"os"
)

// spool keeps what is written to it: in memory up to limit bytes, beyond that
// in a temporary file, so one large body does not become one large allocation.
type spool struct {
	limit int64
	size  int64
	mem   []byte
	file  *os.File
	sum   hash.Hash // of the whole, from the first byte that went to the file
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > s.limit {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	n := len(p)
	if s.file == nil {
		s.mem = append(s.mem, p...)
	} else {
		var err error
		if n, err = s.file.Write(p); err != nil {
			return n, err
		}
		s.sum.Write(p)
	}
	s.size += int64(n)
	return n, nil
}

func (s *spool) spill() error {
	file, err := os.CreateTemp("", "refrain-*")
	if err != nil {
		return err
	}
	s.file, s.sum = file, sha256.New()
	if _, err := file.Write(s.mem); err != nil {
		return err
	}
	s.sum.Write(s.mem)
	s.mem = nil
	return nil
}

// inFile reports that the body outgrew its limit.
func (s *spool) inFile() bool { return s.file != nil }

// digest is the SHA-256 of a body in a file.
func (s *spool) digest() []byte { return s.sum.Sum(nil) }

// reader reads the whole from its start. The spool must not be written after.
func (s *spool) reader() io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return bytes.NewReader(s.mem)
}

// head is the beginning, as much as a guess at the media type needs.
func (s *spool) head() []byte {
	if s.file == nil {
		return s.mem[:min(len(s.mem), 512)]
	}
	head := make([]byte, 512)
	n, _ := s.file.ReadAt(head, 0)
	return head[:n]
}

// writeTo writes the whole to w.
func (s *spool) writeTo(w io.Writer) error {
	if s.file == nil {
		_, err := w.Write(s.mem)
		return err
	}
	_, err := io.Copy(w, s.reader())
	return err
}

// close removes the file. Nothing of it is left after that.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
	s.mem = nil
}
