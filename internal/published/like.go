package published

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// Facet is one word of a query and the property of a result that it must match.
type Facet struct {
	Kind string `json:"kind"` // link, protocol, direction, metric, mtu, paper, text
	Word string `json:"word"` // as given
	is   func(Result) bool
}

// Query is a parsed list of words.
type Query struct {
	Facets []Facet
	// Link is the link's rate, if a facet names it; 0: none does.
	Link unit.BitRate
}

// Match is a result with the words of the query that it matches and those that it does not.
type Match struct {
	Result
	Matched []string
	Missed  []string
}

var (
	linkWord = regexp.MustCompile(`^([0-9.]+)(gbe|ge|g|gbit|gbit/s|gbps|gb/s)$`)
	// "10 GbE" is one word, as "10GbE" is, and "MTU 9000" as "MTU9000".
	spaced = regexp.MustCompile(`\b([0-9.]+)\s+(gbe|ge|gbit/s|gbit|gbps|gb/s)\b`)
	mtu    = regexp.MustCompile(`\bmtu[ =]+([0-9]+)\b`)
)

// ParseQuery reads words such as "10GbE NFS read": a link's rate, a protocol, a direction, a
// metric, jumbo or MTU9000, a paper's key; any other word is searched for in a result's tool,
// then in its other texts. A query without a usable word is an error.
func ParseQuery(s string) (Query, error) {
	s = spaced.ReplaceAllString(strings.ToLower(s), "$1$2")
	s = mtu.ReplaceAllString(s, "mtu$1")
	var q Query
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' }) {
		if slices.Contains([]string{"a", "and", "at", "from", "in", "of", "on", "over", "the", "to", "via", "with"}, w) {
			continue
		}
		f := facet(w)
		if f.Kind == "link" {
			m := linkWord.FindStringSubmatch(w)
			rate, err := unit.ParseBitRate(m[1] + "Gbit")
			if err != nil || rate == 0 {
				return Query{}, errors.New("parse query: " + w + " is no link's rate; write 10GbE")
			}
			q.Link = rate
			f.is = func(r Result) bool { return r.Link == rate }
		}
		q.Facets = append(q.Facets, f)
	}
	if len(q.Facets) == 0 {
		return Query{}, errors.New(`parse query: no word to look for; write for example "10GbE NFS read"`)
	}
	return q, nil
}

func facet(w string) Facet {
	switch w {
	case "nfs", "smb", "iscsi", "tcp", "local":
		return Facet{"protocol", w, func(r Result) bool { return r.Protocol == w }}
	case "cifs":
		return Facet{"protocol", w, func(r Result) bool { return r.Protocol == "smb" }}
	case "read", "reads", "write", "writes", "mixed", "transfer", "transfers":
		d := strings.TrimSuffix(w, "s")
		return Facet{"direction", w, func(r Result) bool { return r.Direction == d }}
	case "throughput", "iops", "latency", "cpu", "retransmits", "change":
		return Facet{"metric", w, func(r Result) bool { return string(r.Metric) == w }}
	case "jumbo":
		return Facet{"mtu", w, func(r Result) bool { return r.Jumbo || r.MTU > 1500 }}
	}
	if linkWord.MatchString(w) {
		return Facet{Kind: "link", Word: w}
	}
	if n, ok := strings.CutPrefix(w, "mtu"); ok && n != "" {
		return Facet{"mtu", w, func(r Result) bool { return strconv.Itoa(r.MTU) == n }}
	}
	if slices.Contains(Keys(), strings.ToUpper(w)) {
		return Facet{"paper", w, func(r Result) bool { return strings.EqualFold(r.Paper, w) }}
	}
	return textFacet(w)
}

// textFacet searches for a word that names no condition, such as "iozone" or "nvme". It
// ignores blanks, so that "smb2.1" finds "SMB 2.1".
func textFacet(w string) Facet {
	return Facet{"text", w, func(r Result) bool {
		text := strings.ToLower(strings.Join([]string{r.Tool, r.Version, r.Client, r.Server, r.Storage, r.Change, r.Where}, "\n"))
		return strings.Contains(text, w) || strings.Contains(strings.ReplaceAll(text, " ", ""), w)
	}}
}

// Like returns the results that match at least one facet of q, those that
// match most first, otherwise in the order of the papers. Every facet has the same weight, so
// that a reader can check the order.
func Like(all []Result, q Query) []Match {
	var out []Match
	for _, r := range all {
		m := Match{Result: r}
		for _, f := range q.Facets {
			if f.is(r) {
				m.Matched = append(m.Matched, f.Word)
			} else {
				m.Missed = append(m.Missed, f.Word)
			}
		}
		if len(m.Matched) > 0 {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int { return len(a.Missed) - len(b.Missed) })
	return out
}

// Nearest returns the matches that miss the fewest words.
func Nearest(ms []Match) []Match {
	i := slices.IndexFunc(ms, func(m Match) bool { return len(m.Missed) > len(ms[0].Missed) })
	if i < 0 {
		return ms
	}
	return ms[:i]
}
