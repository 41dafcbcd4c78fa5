package main

import "testing"

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"two\r\nlines": "two  lines", "/c/\x1b[31m17\x07": "/c/\uFFFD[31m17\uFFFD", "\u009b2K\u202e": "\uFFFD2K\uFFFD", "Zürich 東京": "Zürich 東京",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
}
