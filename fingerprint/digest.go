package fingerprint

import (
	"crypto/sha256"
	"encoding/binary"
)

// preimage collects the parts of a digest. Each text is preceded by its length
// and each list by its count, in eight bytes, so the parts cannot run into
// each other.
type preimage []byte

func (p *preimage) count(n int) {
	*p = binary.BigEndian.AppendUint64(*p, uint64(n))
}

func (p *preimage) text(parts ...string) {
	for _, part := range parts {
		p.count(len(part))
		*p = append(*p, part...)
	}
}

func (p *preimage) pairs(list [][2]string) {
	p.count(len(list))
	for _, pair := range list {
		p.text(pair[0], pair[1])
	}
}

// digest appends the digest of something too large to copy.
func (p *preimage) digest(sum [sha256.Size]byte) {
	*p = append(*p, sum[:]...)
}

func (p *preimage) sum() [sha256.Size]byte { return sha256.Sum256(*p) }
