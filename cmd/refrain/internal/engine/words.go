package engine

import "strings"

// words are what the engines call differently in the statements of the shop and
// the tour.
type words struct {
	serial  string // {serial}: a primary key that counts up
	options string // {options}: what follows a table's columns
	quotes  string // {quotes}: the shop's table of quotes
}

func (w words) in(statement string) string {
	return strings.NewReplacer("{serial}", w.serial, "{options}", w.options, "{quotes}", w.quotes).Replace(statement)
}
