package fleet

import (
	"strings"
	"testing"
	"time"
)

// later is what a later linerate may ask by.
type later struct {
	Entry
	Wish string `json:"wish"`
}

func TestNewcomersThatAreNotBelieved(t *testing.T) {
	m, err := NewMaterial("lab", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Issue(Newcomer, "any", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Keys()
	if err != nil {
		t.Fatal(err)
	}
	host, other := newTestKeys(t), newTestKeys(t)
	good, err := Entry{Name: "nas1"}.ask("lab", token, host)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := openEntry(good, "lab", token.ID()); err != nil || e.ID() != host.ID() || e.Name != "nas1" {
		t.Fatalf("%+v, %v", e, err)
	}
	stolen, err := Entry{Name: "nas1"}.ask("lab", other, host) // signed by another key than the token's
	if err != nil {
		t.Fatal(err)
	}
	user, err := host.User()
	if err != nil {
		t.Fatal(err)
	}
	unproven := Entry{V: 1, Site: "lab", Token: token.Public(), Key: host.Public(), User: user, Name: "nas1"}
	unproven.Proof = other.sig(forEnrol, unproven.proven())
	lent, err := seal(token, forEnrol, unproven, nil)
	if err != nil {
		t.Fatal(err)
	}
	future, err := seal(token, forEnrol, later{Entry{V: 2, Site: "lab", Token: token.Public(), Key: host.Public()}, "more"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		msg        []byte
		site, want string
	}{
		"another token":           {stolen, "lab", "not signed by the token"},
		"another site":            {good, "far", "not signed by the token"},
		"a key of somebody else":  {lent, "lab", "not signed by the host's own key"},
		"an agent of the future":  {future, "lab", "speaks version 2 of the fleet's messages, and this site 1: upgrade the site's"},
		"what is no message":      {[]byte("x"), "lab", "not one of linerate's fleet"},
		"a message that was bent": {append([]byte{0, 9}, good[2:]...), "lab", "not one of linerate's fleet"},
	} {
		if _, err := openEntry(c.msg, c.site, token.ID()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func newTestKeys(t *testing.T) *Keys {
	t.Helper()
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTokensThatAreNone(t *testing.T) {
	m, err := NewMaterial("lab", []string{"nats://127.0.0.1:4222"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Issue(Newcomer, "any", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Token()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseToken(" " + text + "\n"); err != nil || got.Site != "lab" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "secret", text[:len(text)-1], text + strings.Repeat("A", maxToken), tokenPrefix + "e30", tokenPrefix + "!"} {
		if _, err := ParseToken(bad); err == nil {
			t.Errorf("%.40q was taken for a token", bad)
		}
	}
}
