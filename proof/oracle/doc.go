// Package oracle holds Refrain's own parsers against independent ones: the
// canonical JSON of fingerprint against go-json-experiment and gowebpki, the key
// header of refrainhttp against httpsfv.
package oracle
