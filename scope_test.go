package refrain_test

import (
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
)

// scopeOf gives every named dimension a value; nil is a tenant alone.
func scopeOf(dims []string) refrain.Scope {
	if dims == nil {
		dims = []string{"tenant"}
	}
	var s refrain.Scope
	for _, name := range dims {
		s = s.With(name, "some "+name)
	}
	return s
}

func TestScopeString(t *testing.T) {
	t.Parallel()
	tests := map[string]refrain.Scope{
		"tenant=north":                 refrain.Tenant("north"),
		"tenant=north&subject=u1":      refrain.Tenant("north").Subject("u1"),
		"tenant=a%26b%3Dc%25+":         refrain.Tenant("a&b=c% "),
		"tenant=%C3%A9%00":             refrain.Tenant("é\x00"),
		"tenant=north&region=eu-west1": refrain.Tenant("north").With("region", "eu-west1"),
		"":                             {},
	}
	for want, scope := range tests {
		if got := scope.String(); got != want {
			t.Errorf("%q is encoded, want %q", got, want)
		}
	}
	s := refrain.Tenant("a&b=c% ").Subject("ü")
	if s.Get("tenant") != "a&b=c% " || s.Get("subject") != "ü" || s.Get("region") != "" {
		t.Errorf("dimensions read back as %q, %q, %q", s.Get("tenant"), s.Get("subject"), s.Get("region"))
	}
	// Adding to a scope leaves the scope it was added to.
	base := refrain.Tenant("north")
	a, b := base.Subject("a"), base.Subject("b")
	if base.String() != "tenant=north" || a.String() == b.String() {
		t.Errorf("scopes share their text: %s, %s, %s", base, a, b)
	}
}

// FuzzScope holds that two different lists of dimensions never encode equal,
// and that each is read back as it was written.
func FuzzScope(f *testing.F) {
	f.Add("tenant", "a", "subject", "b", "tenant", "a&subject=b", "", "", uint8(0x21))
	f.Add("tenant", "a", "", "", "tenant", "a", "", "", uint8(0x12))
	f.Add("tenant", "%26", "a", "b", "tenant", "&", "a", "b", uint8(0x22))
	f.Add("ten=ant", "a", "x", "y", "ten", "ant=a", "x", "y", uint8(0x22))
	f.Add("", "", "", "", "", "", "", "", uint8(0x12))
	f.Add("tenant", "a+b", "", "", "tenant", "a b", "", "", uint8(0x11))
	f.Add("tenant", "\xff", "", "", "tenant", "\xfe", "", "", uint8(0x11))
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, m1, w1, m2, w2 string, sizes uint8) {
		list := func(n int, all ...string) (scope refrain.Scope, pairs []string) {
			pairs = all[:2*min(n, 2)]
			for i := 0; i < len(pairs); i += 2 {
				scope = scope.With(pairs[i], pairs[i+1])
			}
			return scope, pairs
		}
		a, as := list(int(sizes&15), n1, v1, n2, v2)
		b, bs := list(int(sizes>>4), m1, w1, m2, w2)
		same := len(as) == len(bs)
		for i := 0; same && i < len(as); i++ {
			same = as[i] == bs[i]
		}
		if same != (a.String() == b.String()) {
			t.Fatalf("%q is %q, %q is %q", as, a, bs, b)
		}
		if len(as) == 4 && as[0] != as[2] && (a.Get(as[0]) != as[1] || a.Get(as[2]) != as[3]) {
			t.Fatalf("%q reads back as %q, %q", as, a.Get(as[0]), a.Get(as[2]))
		}
	})
}

func TestScopeAgainstContract(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	tests := []struct {
		name  string
		dims  []string
		scope refrain.Scope
		want  string // part of the error, "" for none
	}{
		{"tenant", nil, refrain.Tenant("north"), ""},
		{"tenant and subject", nil, refrain.Tenant("north").Subject("u"), ""},
		{"longest value", nil, refrain.Tenant(long), ""},
		{"longest escaped value", nil, refrain.Tenant(strings.Repeat("&", 255)), ""},
		{"declared", []string{"tenant", "region"}, refrain.Tenant("north").With("region", "eu"), ""},
		{"declared tenant alone", []string{"tenant"}, refrain.Tenant("north"), ""},
		{"empty scope", nil, refrain.Scope{}, "the scope is empty"},
		{"empty tenant", nil, refrain.Tenant(""), `dimension "tenant" needs 1 to 255 bytes`},
		{"empty subject", nil, refrain.Tenant("north").Subject(""), `dimension "subject" needs 1 to 255 bytes`},
		{"value too long", nil, refrain.Tenant(long + "x"), `dimension "tenant" needs 1 to 255 bytes`},
		{"subject alone", nil, refrain.Scope{}.Subject("u"), `has dimensions ["subject"], the contract declares ["tenant"]`},
		{"order", nil, refrain.Scope{}.Subject("u").With("tenant", "n"), `declares ["tenant" "subject"]`},
		{"undeclared", nil, refrain.Tenant("north").With("region", "eu"), `has dimensions ["tenant" "region"]`},
		{"two tenants", nil, refrain.Tenant("a").With("tenant", "b"), `has dimensions ["tenant" "tenant"]`},
		{"one missing", []string{"tenant", "region"}, refrain.Tenant("north"), `declares ["tenant" "region"]`},
		{"one too many", []string{"tenant"}, refrain.Tenant("north").Subject("u"), `declares ["tenant"]`},
		{"a comma is no separator", []string{"tenant", "a", "b"}, refrain.Tenant("north").With("a,b", "x"), `has dimensions ["tenant" "a,b"]`},
	}
	for _, tt := range tests {
		c := minimal()
		c.Dimensions = tt.dims
		claim, err := refrain.Call{Contract: c, Scope: tt.scope, Key: "k"}.Claim()
		if tt.want == "" {
			if err != nil || claim.Identity.Scope != tt.scope.String() {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "refrain: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
