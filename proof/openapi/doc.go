// Package openapi judges the OpenAPI fragment that the program prints by a
// validator of somebody else's.
package openapi
