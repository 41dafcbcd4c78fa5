package engine

import (
	"net/url"
	"strings"
)

// Schemes are what --db may name.
const Schemes = "sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE"

// places are the engines by the scheme of what names them.
var places = map[string]func(from, url string) (Place, error){
	"sqlite":     sqliteAt,
	"postgres":   postgresAt,
	"postgresql": postgresAt,
	"mysql":      mysqlAt,
	"mariadb":    mysqlAt,
}

// Names reports whether text names a database, rather than a file or a service.
func Names(text string) bool {
	scheme, _, found := strings.Cut(text, ":")
	return found && places[scheme] != nil
}

// Parse reads what names a database; from says where it was given, for errors.
// None of them repeats more of it than its scheme, unless it has no secrets.
func Parse(from, text string) (Place, error) {
	scheme, _, found := strings.Cut(text, ":")
	known := places[scheme]
	switch {
	case found && known != nil:
		return known(from, text)
	case found && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-") == "":
		return nil, misnamed("known are: "+Schemes, "%s has the unknown scheme %q", from, scheme)
	case strings.ContainsAny(text, "=@:"): // may be a driver's way to write it, with a password
		return nil, misnamed("known are: "+Schemes, "%s has no scheme", from)
	}
	return nil, misnamed("known are: "+Schemes, "%s %q has no scheme", from, text)
}

// serverURL reads the URL of a server's database. What a parser says of a wrong
// one is not repeated: it quotes the piece that is wrong, a password as well.
func serverURL(from, text, example string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, misnamed("write it like "+example+"; %-encode what a password has of :/?#[]@%", "%s is not a URL", from)
	}
	return u, nil
}

// public is a URL without its password and without what may be one.
func public(u *url.URL) string {
	shown := *u
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	kept := u.Query()
	for name := range kept {
		if low := strings.ToLower(name); strings.Contains(low, "pass") || strings.Contains(low, "secret") || strings.Contains(low, "token") {
			kept.Del(name)
		}
	}
	shown.RawQuery = kept.Encode()
	return shown.String()
}
