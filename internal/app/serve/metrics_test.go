package serve

import (
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/app/watch"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/unit"
	"linerate/internal/web"
)

const (
	bundled = 25 * time.Second // of a kept run
	each    = 100 * time.Millisecond
	carries = 100 * unit.Mbit
)

// sampled is what two hosts counted while data went from client to server at an even rate, half of the
// time with a full receive window.
func sampled() map[string][]model.Sample {
	out := map[string][]model.Sample{}
	c, s := netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:5001")
	for at := time.Duration(0); at <= bundled; at += each {
		bytes, n := int64(float64(carries)/8*at.Seconds()), int64(at/each)
		conn := model.Conn{Local: c, Remote: s, Inode: 7, State: 1, InfoLen: 232, CC: "cubic", RTT: 10 * time.Millisecond, SndMSS: 1448, Cwnd: 100,
			BytesAcked: bytes, BytesSent: bytes, SegsOut: bytes / 1448, Busy: at, RwndLimited: at / 2, SndWnd: 125000}
		peer := model.Conn{Local: s, Remote: c, Inode: 9, State: 1, InfoLen: 232, CC: "cubic", RTT: 10 * time.Millisecond, BytesReceived: bytes, SegsIn: bytes / 1448}
		for name, k := range map[string]model.Conn{"client": conn, "server": peer} {
			out[name] = append(out[name], model.Sample{V: model.SampleVersion, At: at, HostAt: noon.Add(at), Conns: []model.Conn{k},
				CPUs: []model.CPUTime{{CPU: 0, User: time.Hour + at/4, SoftIRQ: at / 8, IRQ: at / 16, Idle: at / 2}},
				NICs: []model.NICCount{{Name: "eth0", RxBytes: bytes, RxErrors: n, TxErrors: 2 * n, RxCRC: 3, Pause: &model.PauseCount{Rx: 5 * n, Tx: n}}}})
		}
	}
	return out
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// keepRun keeps a run of those samples, and returns its id.
func keepRun(t *testing.T, e app.Env) string {
	t.Helper()
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Create(root, "explain client server", noon)
	if err != nil {
		t.Fatal(err)
	}
	ceiling := 941 * unit.Mbit
	all := []model.Run{{Label: "watched", Started: noon, Window: bundled, Goodput: carries, Samples: sampled()}}
	r := &model.Results{Outcome: model.Outcome{V: model.OutcomeVersion, Verdict: model.Verdict{Ceiling: &ceiling}}, Command: "explain client server", Started: noon, Hosts: []string{"client", "server"}, Runs: all}
	for _, err := range []error{w.Facts(&model.Facts{V: model.FactsVersion, Host: "client", OS: "linux"}), w.Facts(&model.Facts{V: model.FactsVersion, Host: "server", OS: "linux"}),
		w.Samples(all), w.Results(r), w.Report(func(w io.Writer) error {
			_, err := io.WriteString(w, "-")
			return err
		})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return w.ID()
}

// What Prometheus is told while a kept run is shown are the numbers of the run's own bundle.
func TestMetricsAgreeWithAKeptRun(t *testing.T) {
	data := t.TempDir()
	e := app.Env{Now: time.Now, Getenv: func(string) string { return data }}
	id := keepRun(t, e)
	view := web.NewView("a run", "linerate test")
	first := time.Duration(0) // of the newest sample before the first judged picture: counters count from there
	var shown watch.Named
	err := watch.Replay(t.Context(), e, watch.ReplayOptions{Ref: id, Window: 10 * time.Second, Show: func(all []watch.Picture) error {
		shown = all[0].Shown
		if len(all[0].Conns) == 0 {
			first = all[0].Hosts[0].Last.At
		}
		return view.Show(all)
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := view.Handler(web.Access{})
	if err != nil {
		t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "localhost"
	h.ServeHTTP(w, r)

	b, err := runs.Open(e, id)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := b.Samples()
	if err != nil {
		t.Fatal(err)
	}
	client := kept["watched"]["client"]
	from, to := client[int(first/each)], client[len(client)-1]
	waited := func(of func(model.Conn) time.Duration) float64 {
		return (of(to.Conns[0]) - of(from.Conns[0])).Seconds()
	}
	busy := waited(func(c model.Conn) time.Duration { return c.Busy })
	nic, cpu := to.NICs[0], to.CPUs[0]
	const path = `path="client – server"`
	for series, want := range map[string]float64{
		`linerate_path_goodput_bytes_per_second{` + path + `}`:                           float64(b.Results.Runs[0].Goodput) / 8,
		`linerate_path_ceiling_bytes_per_second{` + path + `}`:                           float64(*b.Results.Verdict.Ceiling) / 8,
		`linerate_path_observed_timestamp_seconds{` + path + `}`:                         float64(noon.Add(bundled).Unix()),
		`linerate_tcp_busy_seconds_total{` + path + `}`:                                  busy,
		`linerate_tcp_limited_seconds_total{limiter="receiver-window",` + path + `}`:     waited(func(c model.Conn) time.Duration { return c.RwndLimited }),
		`linerate_tcp_limited_seconds_total{limiter="send-buffer",` + path + `}`:         0,
		`linerate_tcp_limited_seconds_total{limiter="application-source",` + path + `}`:  (to.At - from.At).Seconds() - busy,
		`linerate_cpu_seconds_total{cpu="0",host="client",mode="user"}`:                  cpu.User.Seconds(),
		`linerate_cpu_seconds_total{cpu="0",host="client",mode="softirq"}`:               (cpu.SoftIRQ + cpu.IRQ).Seconds(),
		`linerate_cpu_seconds_total{cpu="0",host="client",mode="idle"}`:                  cpu.Idle.Seconds(),
		`linerate_nic_errors_total{host="client",nic="eth0"}`:                            float64(nic.Errors()),
		`linerate_nic_pause_frames_total{direction="received",host="client",nic="eth0"}`: float64(nic.Pause.Rx),
		`linerate_nic_pause_frames_total{direction="sent",host="server",nic="eth0"}`:     float64(nic.Pause.Tx),
		`linerate_series_dropped_total{host="server"}`:                                   0,
		`linerate_path_verdict_changes_total{` + path + `}`:                              2, // starting, and what is shown at the end
		`linerate_path_state{` + path + `,state="` + string(shown.State) + `"}`:          1,
		`linerate_host_info{host="server",kernel="",os="linux"}`:                         1,
	} {
		if got := read(t, w.Body.String(), series); math.Abs(got-want) > 1e-3*max(1e-3, math.Abs(want)) {
			t.Errorf("%s is %v, the bundle has %v", series, got, want)
		}
	}
}

// read is the value of a series in an answer of /metrics.
func read(t *testing.T, body, series string) (x float64) {
	t.Helper()
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			if _, err := fmt.Sscan(rest, &x); err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Errorf("no %s", series)
	return math.NaN()
}
