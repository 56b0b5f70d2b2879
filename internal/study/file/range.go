package file

import (
	"math"
	"strconv"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// valueWord is what stands for the number of a level in a range.
const valueWord = "VALUE"

// maxPoints bounds a range: a search halves, so that more points cost little and tell little.
const maxPoints = 33

// ranged makes the levels of a factor from a range of numbers: as many points as asked for,
// from the first to the last, each the same factor above the one before, or with spacing:
// linear the same amount. Sizes are in bytes, as "4m"; the numbers are whole.
func (l levels) ranged(v conf.Node) []model.StudyLevel {
	t := v.Table("range", rangeKeys()...)
	spacing := "log"
	l.choice(t, "spacing", &spacing, "log", "linear")
	points := t.Get("points").Integer(2, maxPoints, 5)
	from, to := l.number(t, "from"), l.number(t, "to")
	if l.Failed() {
		return nil
	}
	if from == to || spacing == "log" && (from < 1 || to < 1) {
		t.Problem("to", "from %d to %d: want two different numbers, and with spacing log both at least 1", from, to)
		return nil
	}
	if t.Has("set") == t.Has("workload") {
		l.Problem(t.Line, "range: give it exactly one of set (settings of hosts) and workload (fields of the load), with VALUE where the number goes")
		return nil
	}
	var out []model.StudyLevel
	for i := range points {
		n := point(from, to, float64(i)/float64(points-1), spacing)
		if name := numberName(n); len(out) == 0 || out[len(out)-1].Name != name {
			l.value = strconv.FormatInt(n, 10)
			out = append(out, l.at(t, name))
		}
		if l.Failed() {
			return nil
		}
	}
	return out
}

// at is the level of one number.
func (l levels) at(t conf.Table, name string) model.StudyLevel {
	x := model.StudyLevel{Name: name}
	if t.Has("set") {
		x.Set = l.settings(t.Get("set"))
	} else {
		x.Workload = l.changes(t.Get("workload"))
	}
	said := false
	for _, key := range []string{"set", "workload"} {
		said = said || holds(t.Get(key))
	}
	if !said {
		l.Problem(t.Line, "range: nothing says VALUE, so that all levels are the same; write it where the number goes, such as 4096 131072 VALUE")
	}
	return x
}

// holds reports whether VALUE stands anywhere below a node.
func holds(v conf.Node) bool {
	if v.Missing() {
		return false
	}
	if !v.IsMapping() {
		return strings.Contains(v.Text(), valueWord)
	}
	t := v.Table("range")
	for _, key := range t.Keys {
		if holds(t.Get(key)) {
			return true
		}
	}
	return false
}

// filledIn is a text of a range with the number in its place.
func (l levels) filledIn(text string) string {
	if l.value == "" {
		return text
	}
	return strings.ReplaceAll(text, valueWord, l.value)
}

// number reads an end of a range: a whole number or a size.
func (l levels) number(t conf.Table, key string) int64 {
	text := t.Text(key)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n
	}
	b, err := unit.ParseBytes(text)
	if err != nil {
		t.Problem(key, "%q: want a whole number, or a size such as 256k or 4m", text)
		return 0
	}
	return int64(b)
}

// point is the number at a share of the way from one to another.
func point(from, to int64, share float64, spacing string) int64 {
	if spacing == "linear" {
		return from + int64(math.Round(share*float64(to-from)))
	}
	return int64(math.Round(float64(from) * math.Pow(float64(to)/float64(from), share)))
}

// numberName is the name of a level: a multiple of KiB or more by its unit.
func numberName(n int64) string {
	for _, u := range []struct {
		size unit.Bytes
		name string
	}{{unit.GiB, "GiB"}, {unit.MiB, "MiB"}, {unit.KiB, "KiB"}} {
		if n > 0 && n%int64(u.size) == 0 {
			return strconv.FormatInt(n/int64(u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
