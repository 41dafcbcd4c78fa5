package postgres

import "strings"

// verb returns the first transaction verb among the statements of text, "" when
// there is none: what begins or ends a transaction. Savepoints are not meant;
// "ROLLBACK TO" is one. It is a guard rail against a slip; that the transaction
// is still the same one is proven by the record's own statement.
func verb(text string) string {
	for text != "" {
		var words [2]string
		words, text = opening(text)
		switch words[0] {
		case "BEGIN", "COMMIT", "END", "ABORT":
			return words[0]
		case "START":
			return "START TRANSACTION"
		case "ROLLBACK":
			if words[1] != "TO" {
				return "ROLLBACK"
			}
		case "PREPARE":
			if words[1] == "TRANSACTION" {
				return "PREPARE TRANSACTION"
			}
		}
	}
	return ""
}

// opening returns the first two words of the first statement of text, in
// capitals, and what follows its semicolon. ROLLBACK WORK TO counts as
// ROLLBACK TO.
func opening(text string) (words [2]string, rest string) {
	n := 0
	for text != "" {
		if i := skipped(text); i > 0 {
			text = text[i:]
			continue
		}
		if text[0] == ';' {
			return words, text[1:]
		}
		i := 0
		for i < len(text) && (letter(text[i]) || i > 0 && text[i] == '$') {
			i++
		}
		if i == 0 { // an operator, a digit: no verb begins like that
			i, n = 1, len(words)
		} else if word := strings.ToUpper(text[:i]); n < len(words) && !(n == 1 && (word == "WORK" || word == "TRANSACTION" && words[0] == "ROLLBACK")) {
			words[n] = word
			n++
		}
		text = text[i:]
	}
	return words, ""
}

func letter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || '0' <= c && c <= '9' || c >= 0x80
}

// skipped is the length of what text begins with and is no code: white space, a
// comment, a string, a quoted name. 0 when it begins with code.
func skipped(text string) int {
	switch {
	case strings.IndexByte(" \t\r\n\f\v", text[0]) >= 0:
		return 1
	case strings.HasPrefix(text, "--"):
		return until(text, 2, "\n")
	case strings.HasPrefix(text, "/*"):
		return comment(text)
	case text[0] == '\'':
		return until(text, 1, "'") // a doubled quote begins the next one
	case text[0] == '"':
		return until(text, 1, `"`)
	case (text[0] == 'e' || text[0] == 'E') && strings.HasPrefix(text[1:], "'"):
		return escaped(text)
	case text[0] == '$':
		if tag, ok := dollar(text); ok {
			return until(text, len(tag), tag)
		}
	}
	return 0
}

func until(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// comment is the length of a block comment; they nest.
func comment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// escaped is the length of E'…'.
func escaped(text string) int {
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return i + 1
		}
	}
	return len(text)
}

// dollar is the tag of a dollar quote: $$ or $name$, but not $1.
func dollar(text string) (tag string, ok bool) {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$':
			return text[:i+1], true
		case !letter(c) || i == 1 && '0' <= c && c <= '9':
			return "", false
		}
	}
	return "", false
}
