package runs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/store"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch/past"
)

// HistoryPrefix begins a reference to history: history:PATH@TIME[/LONG].
const HistoryPrefix = "history:"

// Digest is what a stretch of history says of one path.
type Digest = past.Digest

// Stretch is a part of a path's history.
type Stretch struct {
	Path     string
	From, To time.Time
	Records  []past.Record
	Problems []string

	set history.Set
}

// grammar says what a reference to history may be.
const grammar = "write history:PATH@TIME or history:PATH@TIME/LONG: PATH as the page of a live view shows it, or a part of it that no other has; " +
	"TIME as 2026-11-24, 2026-11-24T10:00, today, yesterday or a day of the week; LONG as 30m, 2h or 7d (a day without it, with a time of day an hour)"

// OpenHistory reads the stretch that a reference names.
func OpenHistory(e app.Env, ref string) (Stretch, error) {
	name, when, ok := cutLast(strings.TrimPrefix(ref, HistoryPrefix), "@")
	if !ok || name == "" {
		return Stretch{}, failure.Of(failure.Usage, "%s: %s", ref, grammar)
	}
	from, to, err := parseStretch(when, e.Now())
	if err != nil {
		return Stretch{}, failure.Of(failure.Usage, "%s: %w; %s", ref, err, grammar)
	}
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return Stretch{}, err
	}
	sets, err := history.Sets(root)
	if err != nil {
		return Stretch{}, err
	}
	var best Stretch
	var names []string
	for _, set := range sets {
		read, err := set.Between(from, to, past.Width(to.Sub(from), 3000))
		if err != nil {
			return Stretch{}, err
		}
		fits := matching(read.Records, name)
		names = append(names, fits...)
		if len(fits) > 0 && len(read.Records) > len(best.Records) {
			best = Stretch{Path: fits[0], From: from, To: to, Records: read.Records, set: set}
			for _, p := range read.Problems {
				best.Problems = append(best.Problems, p.File+": "+p.Why)
			}
		}
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) == 0:
		err := failure.Of(failure.Nothing, "%s: no path of that name was watched between %s and %s", ref, from.Format(time.DateTime), to.Format(time.DateTime))
		return Stretch{}, failure.Advise(err, failure.KeepHistory)
	case len(names) > 1:
		return Stretch{}, failure.Of(failure.Usage, "%s: %q may be any of %s; write more of it", ref, name, strings.Join(names[:min(len(names), 5)], ", "))
	}
	return best, nil
}

// matching are the paths of records that a name means: the one of that name, else all that have
// it in theirs.
func matching(records []past.Record, name string) (out []string) {
	for _, r := range records {
		for _, p := range r.Paths {
			if p.Name == name {
				return []string{name}
			}
			if strings.Contains(p.Name, name) && !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parseStretch reads TIME[/LONG], in the zone of now.
func parseStretch(text string, now time.Time) (from, to time.Time, err error) {
	when, long, given := strings.Cut(text, "/")
	span := 24 * time.Hour
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch lower := strings.ToLower(when); lower {
	case "today":
		from = midnight
	case "yesterday":
		from = midnight.AddDate(0, 0, -1)
	default:
		if from, err = parseDay(lower, when, midnight); err != nil {
			if from, err = parseMinute(when, now.Location()); err != nil {
				return from, to, err
			}
			span = time.Hour
		}
	}
	if !given {
		if span == 24*time.Hour { // a day may have 23 hours
			return from, from.AddDate(0, 0, 1), nil
		}
		return from, from.Add(span), nil
	}
	if span, err = parseLong(long); err != nil {
		return from, to, err
	}
	return from, from.Add(span), nil
}

// parseDay reads a date, or the last day of that name before today.
func parseDay(lower, when string, midnight time.Time) (time.Time, error) {
	for back := 1; back <= 7; back++ {
		if d := midnight.AddDate(0, 0, -back); lower == strings.ToLower(d.Weekday().String()) {
			return d, nil
		}
	}
	return time.ParseInLocation(time.DateOnly, when, midnight.Location())
}

func parseMinute(when string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, when, zone); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, when); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time", when)
}

func parseLong(text string) (time.Duration, error) {
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < 10*time.Second || d > 400*24*time.Hour {
		return 0, fmt.Errorf("%q is no length of time from 10s to 400d", text)
	}
	return d, nil
}

// Digest says what the stretch holds.
func (s Stretch) Digest() Digest {
	d, _ := past.DigestOf(s.Path, s.From, s.To, s.Records) // its path is in the records
	d.Problems = append(d.Problems, s.Problems...)
	return d
}

// HistoryComparison is what compare --json prints of two stretches of history.
type HistoryComparison struct {
	V     int      `json:"v"`
	Line  string   `json:"line"`
	A     Digest   `json:"a"`
	B     Digest   `json:"b"`
	Ratio *float64 `json:"ratio"` // of the goodputs, B over A; null: one is not known, or A is 0
	// Moving is how they differ while data moved, and AA whether such stretches do anyway.
	Moving Observed `json:"moving"`
	AA     *Earlier `json:"aa"`
	NoAA   string   `json:"no_aa,omitempty"` // why AA shows nothing
	// Between is what changed on hosts after the earlier one and before the later.
	Between []past.Mark `json:"between"`
}

// CompareHistory sets the second stretch beside the first.
func CompareHistory(e app.Env, first, second string) (HistoryComparison, error) {
	c := HistoryComparison{V: past.DigestVersion, Between: []past.Mark{}}
	a, err := OpenHistory(e, first)
	if err != nil {
		return c, err
	}
	b, err := OpenHistory(e, second)
	if err != nil {
		return c, err
	}
	c.A, c.B = a.Digest(), b.Digest()
	if err := c.compareMoving(a, b); err != nil {
		return c, err
	}
	c.carried(c.A.Whole.Goodput, c.B.Whole.Goodput)
	return c, nil
}

// carried sets the means side by side.
func (c *HistoryComparison) carried(a, b *unit.BitRate) {
	if a == nil || b == nil {
		c.Line = "what the path carried is not known of both"
		return
	}
	c.Line = fmt.Sprintf("%v → %v, means over the time in which they were known; neither is a measurement of what the path can do", *a, *b)
	if *a > 0 {
		r := float64(*b) / float64(*a)
		c.Ratio = &r
	}
}
