package mysql

import "strings"

// word is a word, a quoted identifier or a mark of an SQL text, in lower case.
type word struct {
	text   string
	quoted bool // `…`
}

// words splits a text as the server's lexer does, without literals and comments.
// What stands in an executable comment is executed, and so is told; head says
// that the text begins with one.
func words(query string) (all []word, head bool) {
	for i := 0; i < len(query); {
		c := query[i]
		rest := query[i:]
		switch {
		case c <= ' ':
			i++
		case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			i = after(query, i, "\n")
		case strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"):
			head = head || len(all) == 0
			i += strings.IndexByte(rest, '!') + 1
			for i < len(query) && '0' <= query[i] && query[i] <= '9' { // the version it is for
				i++
			}
		case strings.HasPrefix(rest, "*/"): // of an executable one
			i += 2
		case strings.HasPrefix(rest, "/*"):
			i = after(query, i+2, "*/")
		case c == '\'' || c == '"':
			i = literal(query, i)
		case c == '`':
			end := after(query, i+1, "`")
			all = append(all, word{strings.ToLower(strings.Trim(query[i:end], "`")), true})
			i = end
		case letter(c):
			end := i + 1
			for end < len(query) && letter(query[end]) {
				end++
			}
			all = append(all, word{strings.ToLower(query[i:end]), false})
			i = end
		default:
			all = append(all, word{string(rune(c)), false})
			i++
		}
	}
	return all, head
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// after returns the index past the next mark, or the end.
func after(query string, from int, mark string) int {
	if from > len(query) {
		return len(query)
	}
	if n := strings.Index(query[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(query)
}

// literal returns the index past the text that begins at i with a quote.
func literal(query string, i int) int {
	quote := query[i]
	for i++; i < len(query); i++ {
		switch query[i] {
		case '\\':
			i++
		case quote:
			return i + 1 // a doubled quote begins the next literal at once
		}
	}
	return len(query)
}
