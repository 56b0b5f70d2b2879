package history

import "time"

// level is one width of records: how long they are kept, and how much one segment holds.
type level struct {
	dir    string
	span   time.Duration
	keep   time.Duration
	layout string // of the time in a segment's name, in UTC; it names the segment's hour, day or month
}

// levels are all of them, the finest first.
func levels() []level {
	const day = 24 * time.Hour
	return []level{
		{"10s", 10 * time.Second, 7 * day, "20060102-15"},
		{"5m", 5 * time.Minute, 60 * day, "20060102"},
		{"1h", time.Hour, 400 * day, "200601"},
	}
}

// Finest is the width of the records that are handed to a Store.
const Finest = 10 * time.Second

// name is the segment that a time belongs to.
func (l level) name(at time.Time) string { return at.UTC().Format(l.layout) }

// bounds are the first moment of a segment and the first after it; false: that is no segment.
func (l level) bounds(name string) (from, to time.Time, ok bool) {
	from, err := time.Parse(l.layout, name)
	if err != nil {
		return from, to, false
	}
	switch l.layout {
	case "200601":
		return from, from.AddDate(0, 1, 0), true
	case "20060102":
		return from, from.AddDate(0, 0, 1), true
	}
	return from, from.Add(time.Hour), true
}
