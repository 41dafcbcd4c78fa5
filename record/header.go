package record

import (
	"encoding/binary"
	"errors"
)

// EncodeHeader is the stored form of kept header fields: length-prefixed names
// and values in order, nil for none. Values are bytes and need not be UTF-8.
func EncodeHeader(fields [][2]string) []byte {
	var b []byte
	for _, f := range fields {
		for _, s := range f {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

var errHeader = errors.New("kept header fields are malformed")

// DecodeHeader is the inverse of EncodeHeader.
func DecodeHeader(b []byte) ([][2]string, error) {
	var fields [][2]string
	for len(b) > 0 {
		var f [2]string
		for i := range f {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > uint64(len(b)-size) {
				return nil, errHeader
			}
			f[i] = string(b[size : size+int(n)])
			b = b[size+int(n):]
		}
		fields = append(fields, f)
	}
	return fields, nil
}
