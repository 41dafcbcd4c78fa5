package postgres

import (
	"encoding/base32"
	"strings"
)

// refEncoding is record's; a ref is stored as the 18 bytes it stands for.
var refEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const (
	refPrefix = "op_"
	refSize   = 18 // bytes it stands for
)

// packRef is a valid ref as it is stored; nil for anything else.
func packRef(ref string) []byte {
	body, ok := strings.CutPrefix(ref, refPrefix)
	if !ok {
		return nil
	}
	b, err := refEncoding.DecodeString(body)
	if err != nil {
		return nil
	}
	return b
}

func unpackRef(b []byte) string { return refPrefix + refEncoding.EncodeToString(b) }
