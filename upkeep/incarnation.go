package upkeep

import "time"

// Incarnation is which store this is, and how far it has come.
type Incarnation struct {
	Store   string    `json:"store"`   // hexadecimal; another one after the tables were made anew
	Epoch   int64     `json:"epoch"`   // rises when somebody declares the store to be a new one
	Counter int64     `json:"counter"` // rises with each save of a witness
	At      time.Time `json:"at"`      // the store's time
}
