package operation

import "errors"

// ErrAccepted means that the action has an operation with this step already.
var ErrAccepted = errors.New("operation: this step of the action is accepted already")
