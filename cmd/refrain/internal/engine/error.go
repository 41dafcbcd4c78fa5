package engine

import "fmt"

// Error is why a place or its database cannot be used, and what helps.
type Error struct {
	Usage bool // the name is wrong, not the database
	Err   error
	Hint  string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func misnamed(hint, format string, args ...any) error {
	return &Error{Usage: true, Err: fmt.Errorf(format, args...), Hint: hint}
}

func unusable(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint}
}
