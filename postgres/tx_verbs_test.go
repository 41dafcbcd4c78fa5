package postgres

import "testing"

func TestVerb(t *testing.T) {
	for text, want := range map[string]string{
		"COMMIT":                                 "COMMIT",
		"  commit work":                          "COMMIT",
		"/* a /* nested */ COMMIT */ select 1":   "",
		"/* a /* nested */ */ COMMIT":            "COMMIT",
		"-- COMMIT\nend":                         "END",
		"-- select 1;\n-- COMMIT":                "",
		"select 1; ; rollback":                   "ROLLBACK",
		"ROLLBACK TO SAVEPOINT a":                "",
		"rollback work to a":                     "",
		"ROLLBACK TRANSACTION TO a":              "",
		"ROLLBACK/**/TO a; ABORT":                "ABORT",
		"ROLLBACK AND CHAIN":                     "ROLLBACK",
		"SAVEPOINT a; RELEASE a":                 "",
		"start transaction":                      "START TRANSACTION",
		"BEGIN ISOLATION LEVEL SERIALIZABLE":     "BEGIN",
		"begin":                                  "BEGIN",
		"BEGINNING":                              "",
		"prepare transaction 'x'":                "PREPARE TRANSACTION",
		"PREPARE q AS SELECT 1":                  "",
		"PREPARE transaction_log AS SELECT 1":    "",
		"insert into t values ('; COMMIT')":      "",
		"insert into t values ('a''; COMMIT')":   "",
		`insert into t values (E'a\'; COMMIT')`:  "",
		`insert into t values ('a\'); COMMIT`:    "COMMIT",
		`select ";COMMIT" from t`:                "",
		"select $$; COMMIT$$":                    "",
		"select $a$; $$ COMMIT; $a$; COMMIT":     "COMMIT",
		"select $1; COMMIT":                      "COMMIT",
		"update a$b$ set c = 1; COMMIT":          "COMMIT",
		"update commit set begin = 1":            "",
		"(select 1); COMMIT":                     "COMMIT",
		"select 'unterminated; COMMIT":           "",
		"/* unterminated; COMMIT":                "",
		"":                                       "",
		";":                                      "",
		"select e'x'; commit":                    "COMMIT",
		"do $x$ begin commit; end $x$":           "",
		"\u00a0COMMIT":                           "",
		"\v\f\r\n\t COMMIT":                      "COMMIT",
		"select 1 -- ; \n ; COMMIT":              "COMMIT",
		"select 1/*;*/;/*;*/abort/*;*/":          "ABORT",
		"with commit as (select 1) select 1 + 1": "",
	} {
		if got := verb(text); got != want {
			t.Errorf("verb(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzVerb(f *testing.F) {
	f.Add("select 1; COMMIT")
	f.Fuzz(func(t *testing.T, text string) {
		if verb(text+"\n*/'\n--\n") == "" && verb("COMMIT;"+text) != "COMMIT" {
			t.Errorf("%q hides the verb before it", text)
		}
	})
}
