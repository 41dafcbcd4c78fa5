package refrain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
)

func TestSupersedes(t *testing.T) {
	t.Parallel()
	stored, err := minimal().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	identity := minimal().IdentityVersion()
	for name, tt := range map[string]struct {
		identity  string
		published []byte
		change    func(*refrain.Contract)
		want      error
		tells     string
	}{
		"the same":           {identity, stored, func(*refrain.Contract) {}, nil, ""},
		"a longer memory":    {identity, stored, func(c *refrain.Contract) { c.RememberFor++ }, nil, ""},
		"a shorter replay":   {identity, stored, func(c *refrain.Contract) { c.ReplayFor /= 2 }, nil, ""},
		"another rule":       {identity, stored, func(c *refrain.Contract) { c.Schema, c.Rule = "0", fingerprint.RuleRaw }, nil, ""},
		"nothing published":  {identity, nil, func(c *refrain.Contract) { c.RememberFor = time.Hour }, nil, ""},
		"a shorter memory":   {identity, stored, func(c *refrain.Contract) { c.RememberFor-- }, refrain.ErrShorterMemory, "refrain contract register --yes FILE"},
		"other dimensions":   {"tenant", stored, func(*refrain.Contract) {}, refrain.ErrContractChanged, "refrain contract rekey --operation orders.create"},
		"identity is first":  {"tenant", stored, func(c *refrain.Contract) { c.RememberFor-- }, refrain.ErrContractChanged, ""},
		"a moved operation":  {"moved to orders.place", nil, func(*refrain.Contract) {}, refrain.ErrContractChanged, `"moved to orders.place"`},
		"no JSON":            {identity, []byte("{"), func(*refrain.Contract) {}, errors.ErrUnsupported, "stored contract"},
		"no readable memory": {identity, []byte(`{"remember_for":"P1M"}`), func(*refrain.Contract) {}, errors.ErrUnsupported, "remember_for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal()
			tt.change(&c)
			err := c.Supersedes(tt.identity, tt.published)
			switch {
			case tt.want == errors.ErrUnsupported: // any error that is neither of the two
				if err == nil || errors.Is(err, refrain.ErrShorterMemory) || errors.Is(err, refrain.ErrContractChanged) {
					t.Fatalf("error %v", err)
				}
			case !errors.Is(err, tt.want):
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.tells) {
				t.Errorf("%q does not tell %q", err, tt.tells)
			}
		})
	}
}
