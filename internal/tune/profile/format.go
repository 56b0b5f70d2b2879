package profile

import (
	"fmt"
	"strings"
)

// Format writes a profile in the format of Parse, with the lines of its bases included, so that
// the file needs no other.
func Format(p Profile) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "v: %d\nname: %s\ntitle: %s\nfor: %s\nlines:\n", Version, p.Name, quoted(p.Title), quoted(p.For))
	for _, l := range p.Lines {
		entry(&b, [][2]string{
			{"setting", l.Setting}, {"value", l.Value}, {"at_least", l.AtLeast}, {"cap", l.Cap}, {"when", l.When},
			{"finding", l.Finding}, {"reason", l.Reason}, {"source", l.Source}, {"risk", l.Risk}, {"needs", l.Needs},
		})
	}
	if len(p.Rejected) > 0 {
		b.WriteString("rejected:\n")
	}
	for _, r := range p.Rejected {
		entry(&b, [][2]string{{"setting", r.Setting}, {"value", r.Value}, {"guide", r.Guide}, {"why", r.Why}, {"source", r.Source}})
	}
	return []byte(b.String())
}

// entry writes one mapping of a list, without empty values.
func entry(b *strings.Builder, pairs [][2]string) {
	lead := "  - "
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		fmt.Fprintf(b, "%s%s: %s\n", lead, p[0], quoted(p[1]))
		lead = "    "
	}
}

// quoted is a YAML scalar, in double quotes if a plain one could be parsed as something else.
func quoted(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" &&
		strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && s[0] >= 'a' && s[0] <= 'z'
	switch s {
	case "on", "off", "yes", "no", "true", "false", "null", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
