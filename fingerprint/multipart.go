package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"
)

// digestMultipart digests a multipart/form-data body (RFC 7578) part by part.
// The boundary, the preamble, the epilogue and other part headers do not count.
func digestMultipart(body []byte, boundary string) (sum [sha256.Size]byte, err error) {
	malformed := &SyntaxError{Rule: RuleMultipart, Reason: ReasonMultipart}
	if boundary == "" {
		return sum, malformed
	}
	var p preimage
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return p.sum(), nil
		}
		if err != nil {
			return sum, malformed
		}
		name, filename, ok := disposition(part.Header)
		if !ok {
			return sum, malformed
		}
		content := sha256.New()
		if _, err := io.Copy(content, part); err != nil {
			return sum, malformed
		}
		p.text(name)
		p.count(len(filename))
		p.text(filename...)
		p.text(strings.Join(part.Header["Content-Type"], ", "),
			strings.ToLower(strings.Join(part.Header["Content-Transfer-Encoding"], ", ")))
		p.digest([sha256.Size]byte(content.Sum(nil)))
	}
}

// disposition reads a part's name and, as a list of at most one, its filename:
// an empty filename is a file without a name, none is a plain value.
func disposition(header textproto.MIMEHeader) (name string, filename []string, ok bool) {
	lines := header["Content-Disposition"]
	if len(lines) != 1 {
		return "", nil, false
	}
	kind, params, err := mime.ParseMediaType(lines[0])
	if err != nil || kind != "form-data" {
		return "", nil, false
	}
	name, ok = params["name"]
	if file, has := params["filename"]; has {
		filename = []string{file}
	}
	return name, filename, ok
}
