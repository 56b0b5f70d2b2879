package desk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/failure"
	"linerate/internal/fleet"
)

var servers = []string{"nats://127.0.0.1:4222"}

func TestDirectoryIsHeldAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	d, err := Open(dir, "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Open(dir, "lab", servers, time.Now); !errors.As(err, &held) {
		t.Errorf("two desks hold one site: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if i, err := f.Info(); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), i.Mode(), err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "far", servers, time.Now); err == nil || !strings.Contains(err.Error(), `is of site "lab"`) {
		t.Errorf("one site's directory as another's: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, secretsName), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "lab", servers, time.Now); err == nil || !strings.Contains(err.Error(), "its owner alone") {
		t.Errorf("secrets that all may read: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "lab", servers, time.Now); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory that all may read: %v", err)
	}
}

// What was kept is there after a restart, and the log has grown.
func TestSiteOutlivesItsDesk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	for i := range 3 {
		d, err := Open(dir, "lab", servers, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.MakeToken("", nil, time.Hour, 1); err != nil {
			t.Fatal(err)
		}
		if lines, err := d.Log(10); err != nil || len(lines) != 2*i+1 || len(d.book.Tokens) != i+1 {
			t.Errorf("start %d: %d lines, %d tokens, %v", i, len(lines), len(d.book.Tokens), err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, logName), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"time":"20`); err != nil { // cut off by a crash
			t.Fatal(err)
		}
		f.Close()
	}
}

// A full disk: who cannot be logged is not admitted, and who asks is told.
func TestNothingIsDoneThatCannotBeLogged(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "lab"), "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	d.log.f.Close()
	if _, _, err := d.MakeToken("", nil, time.Hour, 1); err == nil || len(d.book.Tokens) > 0 {
		t.Errorf("a token was made: %v", err)
	}
	if _, err := d.Controller("ada", false); err == nil {
		t.Error("a controller was let in")
	}
}

// That a host is enrolled or revoked is in the log only where it is so; that it was tried is there
// in any case.
func TestLogSaysDoneWhenItIsDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	d, err := Open(dir, "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.log.close() }() // the book was closed by the test
	enters := func(name string) error {
		text, _, err := d.MakeToken(name, nil, time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		token, err := fleet.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		tk, err := token.Keys()
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.enter(fleet.Entry{V: 1, Site: "lab", Token: tk.Public(), Key: []byte(name), User: userOf(t), Name: name})
		return err
	}
	if err := enters("nas1"); err != nil {
		t.Fatal(err)
	}
	text, _, err := d.MakeToken("nas2", nil, time.Hour, 1) // what is kept of it is there before the book fails
	if err != nil {
		t.Fatal(err)
	}
	if err := d.book.close(); err != nil { // what is written to it now fails
		t.Fatal(err)
	}
	d.book.dir = filepath.Join(dir, "gone")
	token, err := fleet.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	tk, err := token.Keys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.enter(fleet.Entry{V: 1, Site: "lab", Token: tk.Public(), Key: []byte("nas2"), User: userOf(t), Name: "nas2"}); err == nil {
		t.Error("nas2 was enrolled, and the book is closed")
	}
	if _, err := d.Revoke("nas1", "ada"); err == nil || d.book.byName("nas1") == nil {
		t.Errorf("nas1 was revoked, and the book is closed: %v", err)
	}
	lines, err := d.Log(100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, l.Event+" "+l.Host)
	}
	want := "token nas1, enrolling nas1, enrolled nas1, token nas2, enrolling nas2, failed nas2, revoking nas1, failed nas1"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
}

// userOf draws the name of a host at brokers.
func userOf(t *testing.T) string {
	t.Helper()
	k, err := fleet.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	user, err := k.User()
	if err != nil {
		t.Fatal(err)
	}
	return user
}

func TestEventsThatWereMissedAreSaid(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "lab"), "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.book.apply(change{Host: &Host{ID: "x", Name: "nas1"}})
	for _, seq := range []uint64{1, 2, 2, 5, 3} {
		d.happened(fleet.Word{ID: "x", Agent: "a", Seq: seq, Event: "request"})
	}
	d.happened(fleet.Word{ID: "x", Agent: "b", Seq: 1, Event: "started"})
	d.happened(fleet.Word{ID: "y", Agent: "b", Seq: 1, Event: "of a stranger"})
	lines, err := d.Log(100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, l.Event+l.About["events"])
	}
	if want := "request request missed2 request started"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestCommandsReachTheDesk(t *testing.T) {
	dir, err := os.MkdirTemp("", "d") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var none *NoDeskError
	var advised *failure.Advised
	if _, err := Connect(t.Context(), dir); !errors.As(err, &none) || !errors.As(err, &advised) || advised.Next != failure.StartDesk {
		t.Errorf("no desk: %v", err)
	}
	d, err := Open(dir, "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx) }()
	var c *Client
	until(t, "the desk does not answer", func() bool { c, err = Connect(ctx, dir); return err == nil })
	if c.Site != "lab" || c.Servers[0] != servers[0] || filepath.Base(c.LogFile) != logName {
		t.Errorf("%+v", c)
	}
	text, made, err := c.Token(ctx, "nas1", map[string]string{"rack": "4"}, time.Hour, 1)
	if err != nil || made.Name != "nas1" || !strings.HasPrefix(text, "linerate-token-1.") {
		t.Errorf("%+v, %v", made, err)
	}
	if _, _, err := c.Token(ctx, "nas/1", nil, time.Hour, 1); err == nil || !strings.Contains(err.Error(), "letters, digits") {
		t.Errorf("%v", err)
	}
	if _, err := c.Revoke(ctx, "nas1", "ada"); err == nil || !strings.Contains(err.Error(), `has no host "nas1"`) {
		t.Errorf("%v", err)
	}
	if hosts, err := c.Hosts(ctx); err != nil || len(hosts) != 0 {
		t.Errorf("%v, %v", hosts, err)
	}
	if cred, err := c.Controller(ctx, "ada", false); err != nil || cred.Site != "lab" || len(cred.Seed) == 0 {
		t.Errorf("%v", err)
	}
	if lines, err := c.Log(ctx, 1); err != nil || len(lines) != 1 || lines[0].Event != "controller" {
		t.Errorf("%+v, %v", lines, err)
	}
	if i, err := os.Stat(filepath.Join(dir, socketName)); err != nil || i.Mode().Perm()&0o077 != 0 && !onlyOwner(t, dir) {
		t.Errorf("%v, %v", i.Mode(), err)
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := Connect(t.Context(), dir); !errors.As(err, &none) {
		t.Errorf("a desk that ended: %v", err)
	}
}

// onlyOwner: the directory around the socket lets nobody else in.
func onlyOwner(t *testing.T, dir string) bool {
	t.Helper()
	i, err := os.Stat(dir)
	return err == nil && i.Mode().Perm() == 0o700
}

func TestBrokerAsAProcess(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "lab"), "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	task, err := d.Task("127.0.0.1", -1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := StartBroker(t.Context(), []string{os.Args[0], brokerRole}, task)
	if err != nil {
		t.Fatal(err)
	}
	d.m.Servers = []string{c.URL}
	cred, err := d.m.Issue(fleet.Agent, "nas1", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := cred.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := c.Account("no JWT"); err == nil {
		t.Error("an order that cannot be followed was")
	}
	k, err := cred.Keys()
	if err != nil {
		t.Fatal(err)
	}
	user, err := k.User()
	if err != nil {
		t.Fatal(err)
	}
	_, account, err := d.m.Claims([]string{user}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Account(account); err != nil {
		t.Error(err)
	}
	if _, err := cred.Connect("test"); err == nil {
		t.Error("a revoked host was let in")
	}
	if err := c.kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Ended()
	if err := c.How(); !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
	if err := c.Account(account); err == nil {
		t.Error("a broker that is gone was told")
	}
	task.Account = "x"
	if _, err := StartBroker(t.Context(), []string{os.Args[0], brokerRole}, task); err == nil || !strings.Contains(err.Error(), "start broker") {
		t.Errorf("%v", err)
	}
}
