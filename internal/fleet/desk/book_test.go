package desk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"linerate/internal/fleet"
)

// enrolRole is the argument with which this test's binary enrols hosts until it is killed.
const enrolRole = "enrol-on-and-on"

func openLab(t *testing.T, dir string) *Desk {
	t.Helper()
	d, err := Open(dir, "lab", servers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeDesk(t *testing.T, d *Desk) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// newcomer is what a host asks that has a token, as it is once its signatures were proven.
func newcomer(token, name string) (fleet.Entry, error) {
	c, err := fleet.ParseToken(token)
	if err != nil {
		return fleet.Entry{}, err
	}
	tk, err := c.Keys()
	if err != nil {
		return fleet.Entry{}, err
	}
	k, err := fleet.NewKeys()
	if err != nil {
		return fleet.Entry{}, err
	}
	user, err := k.User()
	return fleet.Entry{V: 1, Site: c.Site, Token: tk.Public(), Key: k.Public(), User: user, Name: name}, err
}

// admitOne makes a token and enrols a host by it.
func admitOne(d *Desk, name string) error {
	token, _, err := d.MakeToken(name, nil, time.Hour, 1)
	if err != nil {
		return err
	}
	e, err := newcomer(token, name)
	if err != nil {
		return err
	}
	_, err = d.enter(e)
	return err
}

// enrolOnAndOn enrols hosts, revokes every third, and says what has been promised to whom.
func enrolOnAndOn(dir string, out io.Writer) error {
	d, err := Open(dir, "lab", servers, time.Now)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("p%d-%d", os.Getpid(), i)
		if err := admitOne(d, name); err != nil {
			return err
		}
		said := "enrolled " + name
		if i%3 == 2 {
			// No broker is told: the book is what is tried here.
			if _, err := d.Revoke(name, "test"); err == nil || !strings.Contains(err.Error(), "brokers were not told") {
				return fmt.Errorf("revoke %s: %w", name, err)
			}
			said = "revoked " + name
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return err
		}
	}
}

// A desk that is killed at any moment has kept all that it has told anybody, over many starts.
func TestWhatAKilledDeskHasSaidIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	said := map[string]bool{} // by name: was it revoked
	for round := range 6 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], enrolRole, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			word, name, _ := strings.Cut(lines.Text(), " ")
			said[name] = word == "revoked"
			if n == 4+7*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Success() {
			t.Fatalf("it was not killed: %v", err)
		}
		d := openLab(t, dir)
		for name, gone := range said {
			if h := d.book.byName(name); gone != (h == nil) {
				t.Errorf("round %d: host %s, revoked: %v, is kept as %+v", round, name, gone, h)
			}
		}
		if n := len(d.book.Hosts); n < len(said) || n > len(said)+round+1 {
			t.Errorf("round %d: %d hosts are kept, and %d were told so", round, n, len(said))
		}
		if d.book.size > 0 {
			t.Error("what was only opened was written")
		}
		closeDesk(t, d)
	}
	records, err := filepath.Glob(filepath.Join(dir, recordNames))
	if err != nil || len(records) != 1 {
		t.Errorf("records that are left: %v, %v", records, err)
	}
}

// The old form, of one file, is read, and goes on as the new one with the first change.
func TestHostsOfVersion1AreRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	closeDesk(t, openLab(t, dir))
	gone := time.Now().UTC()
	old := map[string]any{"v": 1, "hosts": []Host{{ID: "a", User: "ua", Name: "nas1", Revoked: gone}, {ID: "b", User: "ub", Name: "nas1"}},
		"tokens": []Token{{ID: "long ago", Expires: gone.Add(-kept - time.Hour)}, {ID: "t", Expires: gone}}}
	at := filepath.Join(dir, stateName)
	if err := fleet.WritePrivate(at, old); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		d := openLab(t, dir)
		if h := d.book.byName("nas1"); h == nil || h.ID != "b" || d.book.byID("a") != nil || !d.book.known("a", "") || !d.book.known("", "ua") {
			t.Errorf("start %d: %+v", i, d.book.Hosts)
		}
		if got := d.book.revoked(); !reflect.DeepEqual(got, []string{"ua"}) {
			t.Errorf("revoked: %v", got)
		}
		if i > 0 && (d.book.V != version || d.book.token("long ago") != nil || d.book.token("t") == nil || len(d.book.Hosts) != 2+i) {
			t.Errorf("start %d: %+v", i, d.book.state)
		}
		if err := admitOne(d, fmt.Sprintf("new%d", i)); err != nil {
			t.Fatal(err)
		}
		closeDesk(t, d)
	}
	if err := fleet.WritePrivate(at, map[string]any{"v": version + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "lab", servers, time.Now); err == nil || !strings.Contains(err.Error(), "a newer linerate wrote it") {
		t.Errorf("%v", err)
	}
}

// A record is read up to a line that a crash cut off, wherever that was; other damage is said.
func TestRecordThatIsNotWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	d := openLab(t, dir)
	for i := range 2 {
		if err := admitOne(d, fmt.Sprintf("nas%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	at := d.book.f.Name()
	closeDesk(t, d)
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	if len(lines) != 5 { // two tokens, two hosts, and nothing
		t.Fatalf("%d lines: %s", len(lines), whole)
	}
	last := len(whole) - len(lines[3])
	for cut := last; cut < len(whole); cut += 7 {
		if hosts, err := hostsIn(t, dir, at, whole[:cut]); err != nil || hosts != 1 {
			t.Errorf("cut off at %d of %d: %d hosts, %v", cut, len(whole), hosts, err)
		}
	}
	for i := range whole {
		bad := append([]byte{}, whole...)
		bad[i] ^= 4
		hosts, err := hostsIn(t, dir, at, bad)
		// Without its end the last line is one that was cut off.
		if cutOff := i == len(whole)-1; cutOff && (err != nil || hosts != 1) || !cutOff && (err == nil || !strings.Contains(err.Error(), "damaged")) {
			t.Fatalf("byte %d of %d was changed: %d hosts, %v", i, len(whole), hosts, err)
		}
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "lab", servers, time.Now); err == nil || !strings.Contains(err.Error(), "restore both") {
		t.Errorf("a record that is gone: %v", err)
	}
}

// hostsIn is how many hosts a site has with that text as its record.
func hostsIn(t *testing.T, dir, record string, text []byte) (int, error) {
	t.Helper()
	if err := os.WriteFile(record, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openBook(dir, time.Now)
	if err != nil {
		return 0, err
	}
	return len(b.Hosts), nil
}

// A line that cannot be written is not in force, and what follows stands in a new record.
func TestRecordThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	d := openLab(t, dir)
	if err := admitOne(d, "nas1"); err != nil {
		t.Fatal(err)
	}
	first := d.book.f.Name()
	if err := d.book.f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := admitOne(d, "nas2"); err == nil || len(d.book.Tokens) != 1 {
		t.Errorf("a token is in force that is not kept: %v", err)
	}
	d.book.f = nil // closed above, so that it fails
	if err := admitOne(d, "nas2"); err != nil {
		t.Fatal(err)
	}
	if d.book.f.Name() == first {
		t.Error("a record of which nobody knows how it ends goes on")
	}
	d.book.size = maxRecord + 1
	second := d.book.f.Name()
	if err := admitOne(d, "nas3"); err != nil || d.book.f.Name() == second || d.book.size > maxRecord {
		t.Errorf("a record that is long goes on: %s of %d bytes, %v", d.book.f.Name(), d.book.size, err)
	}
	closeDesk(t, d)
	d = openLab(t, dir)
	defer closeDesk(t, d)
	if len(d.book.Hosts) != 3 {
		t.Errorf("%+v", d.book.Hosts)
	}
}

// An enrolment costs a line, however many hosts there are.
func TestEnrolmentCostsALine(t *testing.T) {
	d := openLab(t, filepath.Join(t.TempDir(), "lab"))
	defer closeDesk(t, d)
	if err := admitOne(d, "first"); err != nil {
		t.Fatal(err)
	}
	line := d.book.size
	for i := range 50 {
		if err := admitOne(d, fmt.Sprintf("nas%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if most := 51 * (line + 32); d.book.size > most {
		t.Errorf("51 enrolments took %d bytes, one %d", d.book.size, line)
	}
	var s state
	if err := fleet.ReadPrivate(filepath.Join(d.dir, stateName), &s); err != nil || len(s.Hosts) != 0 {
		t.Errorf("hosts.json was written again: %d hosts, %v", len(s.Hosts), err)
	}
}

func FuzzRecord(f *testing.F) {
	whole, err := change{Host: &Host{ID: "a", Name: "nas1"}, Token: &Token{ID: "t"}}.line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(whole))
	f.Add("00000000 \n" + string(whole[:9]))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		b := &book{}
		b.index()
		if err := b.replay([]byte(text)); err != nil {
			return
		}
		if n := strings.Count(text, "\n"); len(b.Hosts) > n || len(b.Tokens) > n {
			t.Errorf("%d hosts and %d tokens from %d lines", len(b.Hosts), len(b.Tokens), n)
		}
		if _, err := json.Marshal(b.state); err != nil {
			t.Error(err)
		}
	})
}
