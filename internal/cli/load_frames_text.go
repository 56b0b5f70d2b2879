package cli

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func listFormats(env *environment) error {
	all := load.FrameFormats()
	if env.json {
		return printJSON(env, list("formats", all))
	}
	t := document.Table{Head: document.Columns("Format", "#Size", "#Bytes a frame", "#At 25 fps", "Pixels")}
	for _, f := range all {
		size, rate := fmt.Sprintf("%d×%d", f.Width, f.Height), unit.BitRate(float64(f.Bytes)*8*25)
		t.Row(f.Name, size, strconv.FormatInt(int64(f.Bytes), 10), rate.String(), f.Pixels)
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}

func framesDocument(r *load.FramesResult) document.Document {
	f, l := r.Frames, r.Load
	d := document.Document{Headline: fmt.Sprintf("%s %s of %s at %.5g frames per second (%d bytes each, %s), a buffer of %s", f.Mode, unit.Count(f.Streams, "stream"),
		f.Name, f.FPS, f.FrameBytes, cacheText(f.Direct), unit.Count(f.Buffer, "frame"))}
	var s document.Section
	if l.Interrupted {
		s.Add(document.Block{Text: "Interrupted: these figures are of what was measured until then"})
	}
	s.Add(document.Block{Strong: fmt.Sprintf("%s: %d frames in time, %d dropped, %d failed", verdictText(f), f.OnTime, f.Dropped, f.Failed)})
	if len(f.Tries) > 1 {
		var tries []string
		for _, t := range f.Tries {
			tries = append(tries, fmt.Sprintf("%d: %s", t.Streams, t.Verdict))
		}
		s.Add(document.Block{Text: "tried: " + strings.Join(tries, ", ")})
	}
	if l.Latency != nil {
		t := document.Table{Head: document.Columns("", "#p50", "#p99", "#max", "#frames")}
		for _, q := range []struct {
			name string
			*load.Quantiles
		}{{"from when it was due", l.Latency}, {"to move it", l.Service}} {
			t.Row(q.name, short(q.P50), short(q.P99), short(q.Max), strconv.FormatInt(q.N, 10))
		}
		s.Add(t.Block())
	}
	d.Sections = []document.Section{s}
	d.Add("", document.List("", l.Evidence...))
	return d
}

func verdictText(f load.FramesFigures) string {
	return map[load.FramesVerdict]string{
		load.Sustained:  fmt.Sprintf("SUSTAINED, %s", unit.Count(f.Streams, "stream")),
		load.Drops:      "DROPS FRAMES",
		load.Behind:     "NOT SUSTAINED: the page cache took what the storage did not",
		load.Impossible: "IMPOSSIBLE on this line, and not tried",
	}[f.Verdict]
}

// framesTable is the verdict of each way.
func framesTable(r *load.FramesTable) (d document.Document) {
	t := document.Table{Head: document.Columns("Format", "#fps", "#Needs", "#Streams", "#In time", "#Dropped", "#p99", "Verdict")}
	for _, x := range r.Runs {
		f, p99 := x.Frames, "–"
		if x.Load.Latency != nil {
			p99 = short(x.Load.Latency.P99)
		}
		t.Row(f.Name, fmt.Sprintf("%.5g", f.FPS), unit.BitRate(f.Asks).String(), strconv.Itoa(f.Streams), strconv.FormatInt(f.OnTime, 10), strconv.FormatInt(f.Dropped+f.Failed, 10), p99, verdictText(f))
	}
	d.Lead = []document.Block{t.Block()}
	said := map[string]bool{}
	for _, x := range r.Runs {
		if x.Load.GeneratorLimited {
			d.Add("", document.Block{Text: x.Frames.Name + ": the generator was the limit, not the storage"})
		}
		for _, e := range x.Load.Evidence {
			if strings.Contains(e, "page cache") && !said[e] {
				said[e] = true
				d.Add("", document.Block{Text: x.Frames.Name + ": " + e})
			}
		}
	}
	return d
}
