package external

import (
	"context"
	"errors"
	"io"
	"net"
)

// errMalformed stands for what the transport says of an answer it cannot read:
// that quotes the answer, which may repeat the key.
var errMalformed = errors.New("external: the connection broke, or the answer is no HTTP")

// unquoted is err if it tells nothing that the provider has sent.
func unquoted(err error) error {
	if _, network := errors.AsType[net.Error](err); network {
		return err
	}
	for _, plain := range []error{
		io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, ErrStopped,
		errSecond, errOver, errNobody, errUnasked, errSwitched,
	} {
		if errors.Is(err, plain) {
			return err
		}
	}
	return errMalformed
}
