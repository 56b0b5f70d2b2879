package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Role is what somebody may do in a site.
type Role string

// The roles. Brokers enforce them by subject, and agents again by signature.
const (
	Agent      Role = "agent"      // a host
	Viewer     Role = "viewer"     // sees what hosts report about themselves
	Reader     Role = "reader"     // asks hosts, and changes nothing
	Controller Role = "controller" // changes hosts too
	Desk       Role = "desk"       // enrols hosts, and does what a controller does
	Newcomer   Role = "newcomer"   // has a token, and can ask to be enrolled by it
)

// Grant is what the site's root states about a key, under its signature.
type Grant struct {
	V       int               `json:"v"`
	Site    string            `json:"site"`
	Role    Role              `json:"role"`
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	Key     []byte            `json:"key"`
	Expires time.Time         `json:"expires,omitzero"` // zero: never
}

// vouched is a signed Grant as it is sent.
type vouched struct {
	Grant []byte `json:"grant"` // JSON, exactly as it was signed
	Sig   []byte `json:"sig"`
}

func vouch(root *Keys, g Grant) (json.RawMessage, error) {
	g.V = 1
	text, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("write grant: %w", err)
	}
	return json.Marshal(vouched{text, root.sig(forGrant, text)})
}

// openGrant reads a grant that the root with this key has signed for the site.
func openGrant(text json.RawMessage, root []byte, site string) (Grant, error) {
	var v vouched
	if err := strict(text, &v); err != nil {
		return Grant{}, fmt.Errorf("read grant: %s", printable(err.Error()))
	}
	if !verify(root, forGrant, v.Grant, v.Sig) {
		return Grant{}, fmt.Errorf("read grant: it is not signed by the root of site %s", site)
	}
	var g Grant
	if err := strict(v.Grant, &g); err != nil {
		return g, fmt.Errorf("read grant: %s", printable(err.Error()))
	}
	if g.V != 1 || g.Site != site {
		return g, fmt.Errorf("read grant: it is for site %q, not %q", printable(g.Site), site)
	}
	return g, nil
}

// CheckHost refuses what cannot be the name or the labels of a host.
func CheckHost(name string, labels map[string]string) error {
	if !hostName().MatchString(name) {
		return fmt.Errorf("host %q: want up to 63 letters, digits, dots, hyphens and underscores", name)
	}
	if len(labels) > 16 {
		return fmt.Errorf("host %s: %d labels, and at most 16 are kept", name, len(labels))
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if !labelKey().MatchString(k) || !labelValue().MatchString(labels[k]) {
			return fmt.Errorf("label %q of host %s: want key=value, such as role=dtn", k+"="+labels[k], name)
		}
	}
	return nil
}

// Selector chooses hosts of a site.
type Selector struct {
	names []string // none: any
	label map[string]string
}

var listed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*,\s*`) })

// ParseSelector reads "all", names ("nas1,nas2") and labels ("role=dtn,rack=4"). A host is
// chosen if it has all the labels, and one of the names if there are any.
func ParseSelector(text string) (Selector, error) {
	s := Selector{label: map[string]string{}}
	if text == "all" {
		return s, nil
	}
	for _, part := range listed().Split(strings.TrimSpace(text), -1) {
		k, v, isLabel := strings.Cut(part, "=")
		switch {
		case isLabel && (!labelKey().MatchString(k) || !labelValue().MatchString(v)):
			return s, fmt.Errorf("select %q: %q is no label, such as role=dtn", text, part)
		case isLabel && s.label[k] != "" && s.label[k] != v:
			return s, fmt.Errorf("select %q: no host has two values of %s", text, k)
		case isLabel:
			s.label[k] = v
		case !hostName().MatchString(part):
			return s, fmt.Errorf("select %q: want all, names (nas1,nas2) or labels (role=dtn)", text)
		default:
			s.names = append(s.names, part)
		}
	}
	return s, nil
}

// Has tells whether a host is chosen.
func (s Selector) Has(name string, labels map[string]string) bool {
	for k, v := range s.label {
		if labels[k] != v {
			return false
		}
	}
	return len(s.names) == 0 || slices.Contains(s.names, name)
}

// Missing are the names in the selector that no host has.
func (s Selector) Missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(n string) bool { return slices.Contains(names, n) })
}
