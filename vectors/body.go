package vectors

import "cmp"

// BodyPair is a first request's body and a retry's: the same request, another
// one, or (Error) a first body that is refused.
type BodyPair struct {
	Entry
	ContentType      string `json:"content_type"`
	RetryContentType string `json:"retry_content_type"` // empty: as the first
	FirstText        string `json:"first"`
	RetryText        string `json:"retry"`
	Equal            bool   `json:"equal"`
	Error            string `json:"error"`
}

// First returns media type and bytes of the first request.
func (p BodyPair) First() (contentType string, body []byte) {
	return p.ContentType, []byte(p.FirstText)
}

// Retry returns media type and bytes of the second request.
func (p BodyPair) Retry() (contentType string, body []byte) {
	return cmp.Or(p.RetryContentType, p.ContentType), []byte(p.RetryText)
}

// JSONBodies returns pairs of JSON bodies.
func JSONBodies() []BodyPair { return load[BodyPair]("json_bodies.json") }

// Forms returns pairs of application/x-www-form-urlencoded bodies.
func Forms() []BodyPair { return load[BodyPair]("form.json") }

// Multiparts returns pairs of multipart/form-data bodies.
func Multiparts() []BodyPair { return load[BodyPair]("multipart.json") }
