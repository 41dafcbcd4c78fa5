//go:build race

package refrainhttp_test

const raced = true
