package vectors

// JSONCase is a JSON text and its canonical form, or the word for refusing it.
type JSONCase struct {
	Entry
	Text         string  `json:"input"`
	Hex          string  `json:"input_hex"` // instead of Text, when it is not UTF-8
	Expected     string  `json:"expected"`
	Error        string  `json:"error"`
	OursExpected *string `json:"ours_expected"` // when Ours differs
	OursError    string  `json:"ours_error"`
}

// Input returns the text to canonicalise.
func (c JSONCase) Input() []byte { return textOrHex(c.Text, c.Hex) }

// Want returns what Refrain makes of the input: its canonical form, or the
// reason for refusing it.
func (c JSONCase) Want() (canonical, refused string) {
	switch {
	case c.Ours != Differs:
		return c.Expected, c.Error
	case c.OursExpected != nil:
		return *c.OursExpected, ""
	}
	return "", c.OursError
}

// JCS returns texts with their canonical form under RFC 8785.
func JCS() []JSONCase { return load[JSONCase]("jcs.json") }

// CanonicalJSON returns texts with their json-exact/1 form.
func CanonicalJSON() []JSONCase { return load[JSONCase]("json_canonical.json") }

// Double is an IEEE 754 double and its text under RFC 8785.
type Double struct {
	Entry
	Bits         string `json:"ieee754"` // 16 hexadecimal digits
	Expected     string `json:"expected"`
	Error        string `json:"error"`
	OursExpected string `json:"ours_expected"`
}

// Want returns Refrain's text of the double's RFC 8785 text; "" when it has none.
func (d Double) Want() string {
	if d.Ours == Differs {
		return d.OursExpected
	}
	return d.Expected
}

// JCSNumbers returns the doubles of RFC 8785 Appendix B and a few more.
func JCSNumbers() []Double { return load[Double]("jcs_numbers.json") }

// NumberStream names the digests of a published stream of double texts.
type NumberStream struct {
	Entry
	SHA256 map[string]string `json:"sha256"` // number of lines → digest
}

// JCSNumberStream returns the one stream.
func JCSNumberStream() []NumberStream { return load[NumberStream]("jcs_number_stream.json") }

// NumberClass lists spellings of one value. No two classes share a value.
type NumberClass struct {
	Entry
	Spellings []string `json:"spellings"`
	Expected  string   `json:"expected"` // json-exact/1 text; empty: every spelling is refused
	Error     string   `json:"error"`
}

// JSONNumbers returns classes of equal numbers.
func JSONNumbers() []NumberClass { return load[NumberClass]("json_numbers.json") }
