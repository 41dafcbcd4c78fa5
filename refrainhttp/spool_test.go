package refrainhttp

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"testing"
)

// TestSpool: up to the limit in memory, beyond it all of it in a file.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 9, 10, 11, 2000} {
		s := spool{limit: 10}
		want := bytes.Repeat([]byte("0123456789abcdef"), 200)[:size]
		for rest := want; len(rest) > 0; {
			n, err := s.Write(rest[:min(3, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if large := size > 10; s.inFile() != large || large && s.mem != nil || s.size != int64(size) {
			t.Errorf("size %d: in a file %t, %d bytes in memory, size %d", size, s.inFile(), len(s.mem), s.size)
		}
		var out bytes.Buffer
		if err := s.writeTo(&out); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("size %d: written %q, %v", size, out.Bytes(), err)
		}
		if read, err := io.ReadAll(s.reader()); err != nil || !bytes.Equal(read, want) {
			t.Errorf("size %d: read %q, %v", size, read, err)
		}
		if !bytes.Equal(s.head(), want[:min(size, 512)]) {
			t.Errorf("size %d: head %q", size, s.head())
		}
		if !s.inFile() {
			continue
		}
		if sum := sha256.Sum256(want); !bytes.Equal(s.digest(), sum[:]) {
			t.Errorf("size %d: digest %x", size, s.digest())
		}
		name := s.file.Name()
		s.close()
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}
