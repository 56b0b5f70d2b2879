package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/watch"
)

const shipped = "../../docs/prometheus/"

// whole is a view in which every metric has a value.
func whole(t *testing.T) *httptest.Server {
	t.Helper()
	v, s := serve(t)
	p := picture(watch.Moving, model.PathLoss)
	one, none := 1.0, 0.0
	p.Conns = []watch.Conn{{Host: hostile, Busy: &one, Window: &one, Buffer: &none, ByPath: &none, ByApp: &none}}
	p.Hosts[0].Facts = &model.Facts{OS: "linux", Kernel: "6.1"}
	p.Hosts[0].Last = &model.Sample{CPUs: []model.CPUTime{{CPU: 3, User: 5 * time.Second}, {CPU: 3}},
		NICs: []model.NICCount{{Name: "eth0", RxErrors: 2, Pause: &model.PauseCount{Rx: 7}}, {Name: "lo"}}}
	for i := range 3 {
		last := *p.Hosts[0].Last // of every second another
		last.At, last.Conns = time.Duration(i)*time.Second, []model.Conn{{Busy: time.Duration(i) * time.Second, RwndLimited: time.Duration(i) * time.Second}}
		p.Hosts = []watch.Host{p.Hosts[0], p.Hosts[1]}
		p.Hosts[0].Last = &last
		if err := v.Show([]watch.Picture{p}); err != nil {
			t.Fatal(err)
		}
		p.At = p.At.Add(time.Second)
	}
	return s
}

func TestHostsHaveTheirCounters(t *testing.T) {
	_, body := get(t, whole(t).URL+"/metrics", nil)
	for _, want := range []string{
		`linerate_tcp_limited_seconds_total\{limiter="receiver-window",path=.*\} 2`, `linerate_tcp_busy_seconds_total\{.*\} 2`,
		`linerate_cpu_seconds_total\{cpu="3",host=.*,mode="user"\} 5`, `linerate_nic_pause_frames_total\{direction="received",host=.*,nic="eth0"\} 7`,
		`linerate_nic_errors_total\{.*nic="eth0"\} 2`, `linerate_host_info\{.*kernel="6.1",os="linux"\} 1`, `linerate_series_dropped_total\{.*\} 0`,
	} {
		if !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, `nic="lo"`) {
		t.Error("the loopback has series")
	}
}

// A host with more cores than anybody has is cut, and what is cut is counted.
func TestSeriesOfAHostAreBounded(t *testing.T) {
	v, s := serve(t)
	p := picture(watch.Moving, model.PathLoss)
	p.Hosts[0].Last = &model.Sample{}
	for i := range 500 {
		p.Hosts[0].Last.CPUs = append(p.Hosts[0].Last.CPUs, model.CPUTime{CPU: i})
	}
	if err := v.Show([]watch.Picture{p}); err != nil {
		t.Fatal(err)
	}
	get(t, s.URL+"/metrics", nil)
	_, body := get(t, s.URL+"/metrics", nil)
	if n := strings.Count(body, "linerate_cpu_seconds_total{"); n != mostSeries {
		t.Errorf("%d series", n)
	}
	if !regexp.MustCompile(`linerate_series_dropped_total\{.*\} 2000\n`).MatchString(body) {
		t.Error("what was cut is not counted")
	}
}

// What the rules and the dashboard ask for is there.
func TestRulesAndDashboardAskForWhatThereIs(t *testing.T) {
	_, body := get(t, whole(t).URL+"/metrics", nil)
	for _, file := range []string{"linerate.rules.yml", "linerate.test.yml", "dashboard.json"} {
		b, err := os.ReadFile(shipped + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`linerate_[a-z_]+`).FindAllString(string(b), -1)
		if len(names) < 7 {
			t.Errorf("%s asks for %v", file, names)
		}
		for _, n := range names {
			if !strings.Contains(body, "\n"+n+"{") {
				t.Errorf("%s asks for %s, which there is not", file, n)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(b) {
			t.Errorf("%s is no JSON", file)
		}
	}
}

func TestPromtoolAgrees(t *testing.T) {
	labtest.Needs(t, "promtool")
	_, body := get(t, whole(t).URL+"/metrics", nil)
	for _, c := range []struct {
		args []string
		in   string
	}{{[]string{"check", "metrics"}, body}, {[]string{"check", "rules", shipped + "linerate.rules.yml"}, ""}, {[]string{"test", "rules", shipped + "linerate.test.yml"}, ""}} {
		cmd := exec.CommandContext(t.Context(), "promtool", c.args...)
		cmd.Stdin = strings.NewReader(c.in)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(c.args, " "), err, out)
		}
	}
}

// A real Prometheus scrapes the metrics and has what the page shows.
func TestPrometheusScrapes(t *testing.T) {
	labtest.Long(t)
	labtest.Needs(t, "prometheus")
	s := whole(t)
	dir := t.TempDir()
	target := strings.TrimPrefix(s.URL, "http://")
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: linerate, static_configs: [{targets: ['%s']}]}]\n", target)
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	free := httptest.NewUnstartedServer(nil)
	listen := free.Listener.Addr().String()
	free.Listener.Close()
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+dir+"/p.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+listen)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // killed
	defer func() { _ = cmd.Process.Kill() }()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		if got := query(listen, "linerate_path_goodput_bytes_per_second"); got == "50000000" {
			break
		} else if time.Since(began) > 50*time.Second {
			t.Fatalf("Prometheus has %q\n%s", got, said.String())
		}
	}
	if got := query(listen, `count(linerate_path_limiter == 1)`); got != "1" {
		t.Errorf("%s limiters", got)
	}
}

// query is the first value that Prometheus has; empty: none.
func query(at, expr string) string {
	resp, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var a struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || len(a.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(a.Data.Result[0].Value[1])
}
