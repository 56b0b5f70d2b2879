package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const line1 = `{"v":1,"seq":1,"plan":"p","boot_id":"b","by":"","target":"","setting":"fake.a","before":"old","wanted":"new","after":"","state":"intended"}` + "\n"

func TestJournalDamage(t *testing.T) {
	applied := strings.Replace(line1, `"after":"","state":"intended"`, `"after":"new","state":"applied"`, 1)
	second := strings.Replace(line1, `"seq":1`, `"seq":2`, 1)
	for _, c := range []struct {
		name, text string
		entries    int
		err        string // substring, empty: none
	}{
		{"empty", "", 0, ""},
		{"one line", line1, 1, ""},
		{"two lines of one change", line1 + applied, 1, ""},
		{"torn end", line1 + applied[:50], 1, ""},
		{"only a torn line", line1[:20], 0, ""},
		{"zeros after a power cut", line1 + string(make([]byte, 100)), 1, ""},
		{"a damaged line in the middle", line1[:20] + "\n" + line1, 0, "line 1: not a journal entry"},
		{"an empty line", "\n" + line1, 0, "line 1"},
		{"of a later version", strings.Replace(line1, `"v":1`, `"v":3`, 1), 0, "version 3"},
		{"unknown state", strings.Replace(line1, "intended", "perhaps", 1), 0, "unknown state"},
		{"a missing change", second, 0, "line 1: change 2 does not follow"},
		{"a change that changed", line1 + strings.Replace(applied, `"before":"old"`, `"before":"x"`, 1), 0, "line 2: change 1 does not follow"},
		{"seq 0", strings.Replace(line1, `"seq":1`, `"seq":0`, 1), 0, "does not follow"},
	} {
		entries, _, err := parseJournal([]byte(c.text))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if len(entries) != c.entries {
			t.Errorf("%s: %d entries, want %d", c.name, len(entries), c.entries)
		}
	}
}

func TestDamagedJournalStopsEverything(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	path := filepath.Join(tn.Dir, "journal.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[10] = 'X'
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, applyErr := tn.Apply(context.Background(), plan("fake.a"))
	_, undoErr := tn.Undo(context.Background(), "")
	_, openErr := tn.Open()
	for _, err := range []error{applyErr, undoErr, openErr} {
		if err == nil || !strings.Contains(err.Error(), "line 1") || !strings.Contains(err.Error(), "undo.sh") {
			t.Errorf("%v, want the line and what to do", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(b) {
		t.Errorf("the damaged journal was changed: %v", err)
	}
	k.want(t, all("new", "fake.a"))
}

func TestOpenWithoutJournal(t *testing.T) {
	tn := &Tuner{Dir: filepath.Join(t.TempDir(), "none")}
	wantOpen(t, tn, 0)
	if _, err := os.Stat(tn.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made the directory: %v", err)
	}
}

func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(line1))
	f.Add([]byte(line1 + line1[:30]))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, size, err := parseJournal(b)
		if err != nil {
			return
		}
		if size > int64(len(b)) {
			t.Fatalf("%d whole bytes of %d", size, len(b))
		}
		for i, e := range entries {
			if e.Seq != i+1 {
				t.Fatalf("entry %d has seq %d", i, e.Seq)
			}
		}
	})
}

// Who reads the journal while the first change is made, or while all are undone and left, does not
// take it for damaged.
func TestHistoryDuringFirstChange(t *testing.T) {
	for range 100 {
		tn := tuner(t, newKernel("fake.a"))
		made := make(chan error, 1)
		go func() {
			_, err := tn.Apply(context.Background(), plan("fake.a"))
			if err == nil {
				_, err = tn.Undo(context.Background(), "")
			}
			if err == nil {
				_, err = tn.Leave(context.Background())
			}
			made <- err
		}()
		for going := true; going; {
			select {
			case err := <-made:
				if going = false; err != nil {
					t.Fatal(err)
				}
			default:
				if _, err := tn.History(); errors.Is(err, ErrDamaged) {
					t.Error(err)
				}
			}
		}
	}
}
