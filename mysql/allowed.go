package mysql

import (
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain"
)

// verbs an effect may begin a statement with. Those that end or nest a
// transaction, that commit by the way (every change of the schema does), that
// prepare texts on the server or change the session are not among them.
var verbs = map[string]bool{
	"select": true, "insert": true, "update": true, "delete": true, "replace": true, "with": true, "values": true, "table": true,
	"call": true, "do": true, "set": true, "show": true, "explain": true, "describe": true, "desc": true, "load": true,
}

var lockFunctions = map[string]bool{"get_lock": true, "release_lock": true, "release_all_locks": true}

// ownTables are Refrain's.
var ownTables = map[string]bool{
	"refrain_migration": true, "refrain_store": true, "refrain_operation": true, "refrain_record": true, "refrain_later": true,
	"refrain_fence": true, "refrain_allow": true, "refrain_review": true, "refrain_audit": true, "refrain_external": true, "refrain_span": true,
	"refrain_once": true,
}

// allowed refuses what an effect may not do, by keyword. It is a guard rail, not
// a proof: what a stored procedure or function does it cannot see. A transaction
// that ended that way is noticed by its marker; a guarded connection proves the
// single statement by preparing it.
func allowed(query string, guarded bool) error {
	all, executable := words(query)
	for len(all) > 0 && all[0].text == "(" {
		all = all[1:]
	}
	denied := ""
	switch {
	case len(all) == 0:
		return nil
	case executable:
		denied = "begin a statement with an executable comment"
	case !verbs[all[0].text]:
		denied = strings.ToUpper(all[0].text)
	case all[0].text == "set" && !userVariables(all[1:]):
		denied = "SET anything but @variables"
	default:
		denied = deniedLater(all, guarded)
	}
	if denied == "" {
		return nil
	}
	return fmt.Errorf("%w: mysql: an effect may not %s", refrain.ErrOwned, denied)
}

func deniedLater(all []word, guarded bool) string {
	reading := reading(all)
	for i, w := range all[1:] {
		next := ""
		if i+2 < len(all) {
			next = all[i+2].text
		}
		switch {
		case !w.quoted && next == "(" && lockFunctions[w.text]:
			return "call " + strings.ToUpper(w.text)
		case ownTables[w.text] && !reading:
			return "write to " + w.text
		case w.text == ";" && next != "" && !guarded:
			return "send several statements at once"
		}
	}
	return ""
}

// userVariables reports that a SET assigns to @variables alone.
func userVariables(all []word) bool {
	depth, target := 0, true // target: the next word is what is assigned to
	for i, w := range all {
		if target && (w.text != "@" || i+1 < len(all) && all[i+1].text == "@") {
			return false
		}
		target = false
		switch w.text {
		case "(":
			depth++
		case ")":
			depth--
		case ",":
			target = depth == 0
		}
	}
	return !target
}

// reading reports a statement that writes nothing by itself.
func reading(all []word) bool {
	if len(all) == 0 {
		return true
	}
	switch all[0].text {
	case "select", "show", "explain", "describe", "desc", "values", "table":
		return true
	case "with":
		for _, w := range all {
			if !w.quoted && (w.text == "update" || w.text == "delete" || w.text == "insert" || w.text == "replace") {
				return false
			}
		}
		return true
	}
	return false
}

func reads(query string) bool {
	all, _ := words(query)
	for len(all) > 0 && all[0].text == "(" {
		all = all[1:]
	}
	return reading(all)
}

// calls reports a statement whose count of rows tells nothing.
func calls(query string) bool {
	all, _ := words(query)
	return len(all) > 0 && (all[0].text == "call" || all[0].text == "do")
}
