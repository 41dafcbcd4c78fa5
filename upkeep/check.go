package upkeep

// Check is one setting that decides what an engine can promise.
type Check struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Want    string `json:"want"`
	OK      bool   `json:"ok"`
	Why     string `json:"why"`
	Fix     string `json:"fix"`

	Vital bool `json:"-"` // an engine refuses to work on a database that fails it
}
