package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	appwatch "linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/web"
)

// A page that others can reach has a certificate and a token, or is not served.
func TestOffTheLoopbackIsRefusedWithoutTLSAndToken(t *testing.T) {
	for _, o := range []Options{
		{Listen: "0.0.0.0:0"}, {Listen: ":0"}, {Listen: "192.0.2.1:0"}, {Listen: "[::]:0"}, {Listen: "nas:1"},
		{Listen: "127.0.0.1:0", TokenFile: "x"}, {Listen: "0.0.0.0:0", TLSCert: "c", TLSKey: "k"}, {Listen: "0.0.0.0:0", TLSCert: "c", TLSKey: "k", TokenFile: "t"},
	} {
		_, err := o.access()
		if err == nil || failure.KindOf(err) != failure.Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := (Options{Listen: "127.0.0.1:0"}).access(); err != nil {
		t.Error(err)
	}
}

func TestHostsFiles(t *testing.T) {
	h, err := parseHosts("h", []byte("v: 1\nhosts: [client1, nas1]\nline_rate: 10Gbit\n"))
	if err != nil || len(h.Names) != 2 || h.LineRate.Or(0) != 10*unit.Gbit {
		t.Errorf("%+v %v", h, err)
	}
	for text, want := range map[string]string{
		"":                                  "want one YAML document",
		"v: 2\nhosts: [a, b]":               "version 1",
		"v: 1\nhosts: [a]":                  "two or more",
		"v: 1\nhost: [a, b]":                "hosts",
		"v: 1\nhosts: [a, b]\nline_rate: x": "a rate such as",
		"v: 1\nhosts: [" + strings.Repeat("a, ", appwatch.MaxHosts+1) + "a]": "at most",
	} {
		if _, err := parseHosts("h", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A thousand hosts are a file of hosts.
func TestAThousandHosts(t *testing.T) {
	var b strings.Builder
	b.WriteString("v: 1\nhosts:\n")
	for i := range appwatch.MaxHosts {
		fmt.Fprintf(&b, "- host%d\n", i)
	}
	if h, err := parseHosts("h", []byte(b.String())); err != nil || len(h.Names) != appwatch.MaxHosts {
		t.Errorf("%d hosts, %v", len(h.Names), err)
	}
}

// A host that is named twice is refused before anything is served.
func TestAHostNamedTwiceIsRefused(t *testing.T) {
	o := Options{Listen: "127.0.0.1:0", Watch: appwatch.Options{Hosts: []string{"nas1", "client1", "nas1"}}, Serving: func(string) { t.Error("it is served") }}
	err := Serve(t.Context(), app.Env{}, o, nil)
	if failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "nas1 is named twice") {
		t.Error(err)
	}
}

// A port that another program has is said with what to do.
func TestAPortInUseIsSaid(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	err = Serve(t.Context(), app.Env{Now: time.Now}, Options{Listen: ln.Addr().String()}, nil)
	var advised *failure.Advised
	if !errors.As(err, &advised) || advised.Next != failure.ListenElsewhere {
		t.Error(err)
	}
}

// A host without a mount has a page that says what to do, until there is one; another problem ends it.
func TestAHostWithoutAMountHasAPage(t *testing.T) {
	view := web.NewView("x", "test")
	tries, shown := 0, 0
	o := Options{Watch: appwatch.Options{Show: func([]watch.Picture) error { shown++; return nil }}}
	o.Mounts = func(context.Context, app.Progress) ([]explain.WatchOptions, error) {
		if tries++; tries < 3 {
			return nil, failure.Of(failure.Usage, "%w: name hosts", appwatch.ErrNoMount)
		}
		h, err := view.Handler(web.Access{})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		defer s.Close()
		resp, err := http.Get(s.URL + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil || !strings.Contains(line, "no NFS or SMB mount") {
			t.Errorf("%s %v", line, err)
		}
		return nil, errors.New("too many")
	}
	if err := o.live(t.Context(), app.Env{}, view, nil); err == nil || err.Error() != "too many" || shown != 2 {
		t.Errorf("%v, shown %d times", err, shown)
	}
}

// A history that cannot be written is said, and written again when it can be.
func TestKeeperSaysWhatIsNotKept(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	data := t.TempDir()
	e := app.Env{Now: func() time.Time { return now }, Getenv: func(string) string { return data }}
	k, err := newKeeper(e, "x", unit.GiB)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	k.say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if _, err := newKeeper(e, "x", unit.GiB); err == nil || !strings.Contains(err.Error(), "another live page") {
		t.Errorf("two writers: %v", err)
	}
	show := func(from int) {
		for i := from; i < from+25; i++ {
			k.show([]watch.Picture{{At: now.Add(time.Duration(i) * time.Second), Path: "p", Shown: watch.Named{State: watch.Idle}}})
		}
		for len(k.in) > 0 {
			k.note(k.store.Add((<-k.in)[0]))
		}
	}
	dirs, err := filepath.Glob(filepath.Join(data, "linerate", "history", "*", "10s"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.Rename(dirs[0], dirs[0]+".away"); err != nil {
		t.Fatal(err)
	}
	show(0)
	if got := k.Kept(); !strings.Contains(got, "not kept at present") || !strings.Contains(got, "records not kept") {
		t.Error(got)
	}
	if err := os.Rename(dirs[0]+".away", dirs[0]); err != nil {
		t.Fatal(err)
	}
	show(30)
	if got := k.Kept(); !strings.HasPrefix(got, "history: ") {
		t.Error(got)
	}
	if len(said) != 2 || !strings.HasPrefix(said[0], "history is not kept at present: ") || !strings.HasPrefix(said[1], "history is kept again; ") {
		t.Errorf("%q", said)
	}
	if r, err := k.Between(now, now.Add(time.Hour), time.Second); err != nil || len(r.Records) == 0 {
		t.Errorf("%d records, %v", len(r.Records), err)
	}
	for range mostWaiting + 5 { // a disk that does not answer
		k.show([]watch.Picture{{At: now, Path: "p"}})
		now = now.Add(time.Minute)
		k.show([]watch.Picture{{At: now, Path: "p", Events: []watch.Event{{Path: "p"}}}})
	}
	if got := k.Kept(); !strings.Contains(got, "too slow") {
		t.Error(got)
	}
	if err := k.store.Close(); err != nil || errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
