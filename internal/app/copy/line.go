package copy

import (
	"fmt"
	"time"

	"linerate/internal/model"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/unit"
)

// line is the progress line of a copy.
type line struct {
	now    func() time.Time
	seen   *watched
	at     []point
	judged time.Time
	held   string // what limits now
	share  string // of the ceiling
}

// point is how far a copy was at a time.
type point struct {
	at    time.Time
	bytes int64
	files int64
}

// judgedEvery: a verdict on the last seconds takes some time, and changes slowly.
const judgedEvery = 2 * time.Second

// text is the line. bytes also counts files that are not complete yet.
func (l *line) text(bytes int64, m move.Summary, total *mover.Total) string {
	now := l.now()
	l.at = append(l.at, point{now, bytes, m.Files + m.Same})
	for len(l.at) > 2 && now.Sub(l.at[1].at) > lately {
		l.at = l.at[1:]
	}
	from, to := l.at[0], l.at[len(l.at)-1]
	secs := to.at.Sub(from.at).Seconds()
	rate, files := 0.0, 0.0
	if secs > 0 {
		rate, files = float64(to.bytes-from.bytes)/secs, float64(to.files-from.files)/secs
	}
	l.judge(now)
	out := fmt.Sprintf("%v, %s", unit.Bytes(bytes), unit.Count(int(m.Files), "file"))
	if secs > 0 { // the first line knows no rate
		out += fmt.Sprintf(", %v/s%s", unit.Bytes(rate), l.share)
	}
	if m.Same > 0 {
		out += fmt.Sprintf(", %d there already", m.Same)
	}
	if l.held != "" {
		out += ", held by " + l.held
	}
	return out + left(bytes+m.SameBytes+m.Resumed, m.Files+m.Same, rate, files, total)
}

// judge finds out what limits the copy now, once in judgedEvery.
func (l *line) judge(now time.Time) {
	if l.seen == nil || now.Sub(l.judged) < judgedEvery {
		return
	}
	l.judged = now
	v, ok := l.seen.verdict(false)
	l.held, l.share = "", ""
	if !ok {
		return
	}
	if v.ShareOfCeiling != nil {
		l.share = fmt.Sprintf(" (%.0f%% of the ceiling)", 100**v.ShareOfCeiling)
	}
	if v.Limiter != model.Undetermined {
		l.held = named(v)
	}
}

// left estimates the remaining time from these rates; "" if it is not known. Small files are
// counted by their number, large ones by their bytes.
func left(bytes, files int64, rate, perSecond float64, total *mover.Total) string {
	if total == nil || !total.Whole || total.Files == 0 {
		return ""
	}
	rest, each := float64(total.Bytes-bytes), rate
	if total.Bytes/total.Files < 64<<10 {
		rest, each = float64(total.Files-files), perSecond
	}
	if each <= 0 || rest < 0 {
		return ""
	}
	return fmt.Sprintf(", %v left", unit.Short(time.Duration(rest/each*float64(time.Second))))
}
