package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func listFormats(env *environment) error {
	all := load.FrameFormats()
	if env.json {
		return printJSON(env, all)
	}
	t := document.Table{Head: document.Columns("Format", "#Size", "#Bytes a frame", "#At 25 fps", "Pixels")}
	for _, f := range all {
		size, rate := fmt.Sprintf("%d×%d", f.Width, f.Height), unit.BitRate(float64(f.Bytes)*8*25)
		t.Row(f.Name, size, strconv.FormatInt(int64(f.Bytes), 10), rate.String(), f.Pixels)
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}

func framesText(r *load.FramesResult) (string, error) {
	f, l := r.Frames, r.Load
	var b strings.Builder
	how := "past the page cache"
	if !f.Direct {
		how = "through the page cache"
	}
	fmt.Fprintf(&b, "%s %s of %s at %.5g frames per second (%d bytes each, %s), a buffer of %s\n", f.Mode, unit.Count(f.Streams, "stream"), f.Name, f.FPS, f.FrameBytes, how, unit.Count(f.Buffer, "frame"))
	if l.Interrupted {
		fmt.Fprintln(&b, "Interrupted: these figures are of what was measured until then")
	}
	fmt.Fprintf(&b, "\n%s: %d frames in time, %d dropped, %d failed\n", verdictText(f), f.OnTime, f.Dropped, f.Failed)
	if len(f.Tries) > 1 {
		var tries []string
		for _, t := range f.Tries {
			tries = append(tries, fmt.Sprintf("%d: %s", t.Streams, t.Verdict))
		}
		fmt.Fprintf(&b, "tried: %s\n", strings.Join(tries, ", "))
	}
	if l.Latency != nil {
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "\n\tp50\tp99\tmax\tframes")
		for _, q := range []struct {
			name string
			*load.Quantiles
		}{{"from when it was due", l.Latency}, {"to move it", l.Service}} {
			fmt.Fprintf(w, "%s\t%v\t%v\t%v\t%d\n", q.name, short(q.P50), short(q.P99), short(q.Max), q.N)
		}
		if err := w.Flush(); err != nil {
			return "", err
		}
	}
	fmt.Fprintln(&b)
	for _, e := range l.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String(), nil
}

func verdictText(f load.FramesFigures) string {
	return map[load.FramesVerdict]string{
		load.Sustained:  fmt.Sprintf("SUSTAINED, %s", unit.Count(f.Streams, "stream")),
		load.Drops:      "DROPS FRAMES",
		load.Behind:     "NOT SUSTAINED: the page cache took what the storage did not",
		load.Impossible: "IMPOSSIBLE on this line, and not tried",
	}[f.Verdict]
}
