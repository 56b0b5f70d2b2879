package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// changing is a Changer that notes what it was asked for.
type changing struct {
	mu    sync.Mutex
	asked []string
	waits []Pending
}

func (c *changing) note(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, s)
}

func (c *changing) Choices() (Choices, error) {
	c.note("choices")
	return Choices{Hosts: []string{hostile, "nas"}, Profiles: []Purpose{{"nfs-server", hostile}}, Least: 10, Most: 3600}, nil
}

func (c *changing) Panel(_ context.Context, s Subject) (any, error) {
	c.note("panel " + s.Host + " " + s.Profile + " " + s.To + " at " + s.Via)
	return map[string]any{"host": s.Host, "profile": "p", "path": map[string]any{"rtt": nil}, "settings": []any{map[string]any{"setting": "linux.sysctl.a", "current": "1", "default": "1", "recommended": "2", "change": true, "reason": hostile}}}, nil
}

func (c *changing) Plan(_ context.Context, s Subject) (Planned, error) {
	c.note("plan " + s.Host)
	doc := changingPlan(s.Host)
	if s.Persist {
		c.note("with files")
		doc["files"] = changingFiles
	}
	return Planned{Plan: "sum", Doc: doc}, nil
}

// changingFiles is a file that a plan writes, and a setting that none keeps.
var changingFiles = []any{map[string]any{"host": hostile, "path": "/etc/sysctl.d/99-linerate.conf", "existed": true, "before": "", "after": "net.a = 2 " + hostile, "settings": []string{"linux.sysctl.a"}},
	map[string]any{"host": hostile, "path": "", "existed": false, "before": "", "after": "", "settings": []string{"linux.link.b"}, "note": hostile}}

func changingPlan(host string) map[string]any {
	return map[string]any{"host": host, "profile": "p", "path": map[string]any{"rtt": 16000000, "rtt_from": "measured"},
		"plan":     []any{map[string]any{"setting": "linux.sysctl.a", "host": host, "from": "1", "to": hostile, "reason": "r", "source": "s", "risk": "low", "needs": ""}},
		"rejected": []any{map[string]any{"setting": "linux.sysctl.b", "why": hostile}}}
}

func (c *changing) Apply(plan string, within time.Duration, from string) (any, error) {
	c.note("apply " + plan + " " + within.String() + " " + from)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = []Pending{{Host: hostile, Plan: "tune-1", By: "me", Left: within.Seconds(), Waits: true, Persist: true}}
	return changingPlan(hostile), nil
}

func (c *changing) Confirm(host, plan string) (any, error) {
	c.note("confirm " + plan)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = nil
	return map[string]any{"host": host, "kept": 1, "files": changingFiles}, nil
}

func (c *changing) Undo(host, plan string) (any, error) {
	c.note("undo " + plan)
	if plan == "refused" {
		return nil, errors.New("somebody else changed it since")
	}
	return map[string]any{"host": host, "changes": []any{1}, "notes": []any{}}, nil
}

func (c *changing) History(_ context.Context, host string) (any, error) {
	return map[string]any{"host": host, "changes": []any{map[string]any{"seq": 1, "at": noon, "plan": "tune-1", "setting": "linux.sysctl.a", "before": "1", "after": "2", "state": "applied", "by": "me <b>"}}}, nil
}

func (c *changing) Pending() []Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.waits {
		c.waits[i].Left = max(0, c.waits[i].Left-0.1)
	}
	return slices.Clone(c.waits)
}

// post asks a handler for a change, as its own page does unless change alters it.
func post(h http.Handler, what, body string, change func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/change/"+what, strings.NewReader(body))
	r.Host = "127.0.0.1:8470"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(changeHeader, token)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Result().Body) // of memory
	return w.Code, string(b)
}

var everyChange = []string{"choices", "panel", "plan", "apply", "confirm", "undo", "history"}

// Without --allow-change nothing is changed, whatever is sent.
func TestAPageIsReadOnlyUnlessAllowed(t *testing.T) {
	h, err := NewView("x", "test").Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range everyChange {
		for _, header := range []string{token, "", "x"} {
			if code, said := post(h, what, "{}", func(r *http.Request) { r.Header.Set(changeHeader, header) }); code != http.StatusForbidden || !strings.Contains(said, "--allow-change") {
				t.Errorf("%s: %d %s", what, code, said)
			}
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/change", nil)
	r.Host = "localhost"
	if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("the page: %d", w.Code)
	}
}

// Changes are for who has the token, from the page's own origin, under its own name, in its own form.
func TestChangesAreForThoseWhoMay(t *testing.T) {
	c := &changing{}
	v := NewView("x", "test")
	v.AllowChange(c, token)
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	set := func(k, x string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, x) } }
	for _, x := range []struct {
		name, body string
		change     func(*http.Request)
		want       int
	}{
		{"no token", "{}", set(changeHeader, ""), 401},
		{"another token", "{}", set(changeHeader, token+"x"), 401},
		{"the token as a cookie", "{}", func(r *http.Request) {
			r.Header.Del(changeHeader)
			r.Header.Set("Cookie", "linerate="+token+"; change="+token)
		}, 401},
		{"the token as one to read with", "{}", func(r *http.Request) {
			r.Header.Del(changeHeader)
			r.Header.Set("Authorization", "Bearer "+token)
		}, 401},
		{"the token in the address", "{}", func(r *http.Request) { r.Header.Del(changeHeader); r.URL.RawQuery = "token=" + token }, 401},
		{"a name that DNS was bent to", "{}", func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"a page of another origin", "{}", set("Sec-Fetch-Site", "cross-site"), 403},
		{"a page of another port of this host", "{}", set("Sec-Fetch-Site", "same-site"), 403},
		{"another origin, from an older browser", "{}", func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "http://127.0.0.1:9999")
		}, 403},
		{"a form", "{}", set("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"a form as text", "{}", set("Content-Type", "text/plain"), 415},
		{"no type", "{}", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"no JSON", "x", nil, 400},
		{"nothing", "", nil, 400},
		{"two values", "{} {}", nil, 400},
		{"a field that there is not", `{"command":"rm"}`, nil, 400},
		{"too much", `{"plan":"` + strings.Repeat("a", mostAsk) + `"}`, nil, 400},
		{"a GET", "{}", func(r *http.Request) { r.Method = http.MethodGet }, 405},
	} {
		for _, what := range everyChange {
			if code, said := post(h, what, x.body, x.change); code != x.want {
				t.Errorf("%s, %s: %d %s, want %d", x.name, what, code, said, x.want)
			}
		}
	}
	if len(c.asked) > 0 {
		t.Fatalf("refused requests came through: %q", c.asked)
	}
	for what, body := range map[string]string{"panel": `{"host":"a","profile":"p","to":"b"}`, "apply": `{"plan":"sum","within_s":90}`, "confirm": `{"host":"a","plan":"tune-1"}`, "undo": `{"host":"a","plan":"tune-2"}`} {
		if code, said := post(h, what, body, nil); code != 200 {
			t.Errorf("%s: %d %s", what, code, said)
		}
	}
	slices.Sort(c.asked)
	if want := []string{"apply sum 1m30s 192.0.2.1", "confirm tune-1", "panel a p b at ", "undo tune-2"}; !slices.Equal(c.asked, want) {
		t.Errorf("%q", c.asked)
	}
	if code, said := post(h, "undo", `{"plan":"refused"}`, nil); code != 422 || !strings.Contains(said, "somebody else changed it since") {
		t.Errorf("%d %s", code, said)
	}
	if code, _ := post(h, "reboot", "{}", nil); code != 404 {
		t.Errorf("%d", code)
	}
}

// Off the loopback who may change also has to be one who may see.
func TestChangesOffTheLoopbackNeedBothTokens(t *testing.T) {
	access, err := secured(t, "nas.example")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("f", 64)
	c := &changing{}
	v := NewView("x", "test")
	v.AllowChange(c, other)
	h, err := v.Handler(access)
	if err != nil {
		t.Fatal(err)
	}
	at := func(change, read string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = "nas.example"
			r.Header.Set(changeHeader, change)
			r.Header.Set("Authorization", "Bearer "+read)
		}
	}
	for name, x := range map[string]struct {
		change, read string
		want         int
	}{"both": {other, token, 200}, "only that to change": {other, "", 401}, "only that to read": {"", token, 401}, "that to read twice": {token, token, 401}} {
		if code, said := post(h, "choices", "{}", at(x.change, x.read)); code != x.want {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
}

// Pages of what is live say what waits to be confirmed.
func TestTheStreamSaysWhatWaits(t *testing.T) {
	v := NewView("x", "test")
	v.AllowChange(&changing{waits: []Pending{{Host: "nas", Plan: "tune-1", Left: 42, Waits: true}}}, token)
	b, err := v.event(&tab{}, nil)
	if err != nil || !strings.Contains(string(b), `"pending":[{"host":"nas","plan":"tune-1","by":"","left_s":41.9,"waits":true,"says":"","persist":false}]`) {
		t.Errorf("%s %v", b, err)
	}
	if b, err = NewView("x", "test").event(&tab{}, nil); err != nil || strings.Contains(string(b), "pending") {
		t.Errorf("%s %v", b, err)
	}
}
