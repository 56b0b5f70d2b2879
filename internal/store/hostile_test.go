package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/model"
)

// damage changes a good bundle.
type damage struct {
	name string
	do   func(t *testing.T, dir string)
	want error
	says string // what the message names
}

func damages() []damage {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
	}
	edit := func(name, old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { replace(t, filepath.Join(dir, name), old, new) }
	}
	return []damage{
		{"no manifest", remove("manifest.json"), ErrDamaged, "manifest.json"},
		{"no results", remove("results.json"), ErrDamaged, "results.json"},
		{"no samples", remove("samples/client1.jsonl.zst"), ErrDamaged, "samples/client1.jsonl.zst"},
		{"no report", remove("report.html"), ErrDamaged, "report.html"},
		{"facts changed", edit("facts/client1.json", `"linux"`, `"linuz"`), ErrDamaged, "facts/client1.json is corrupt"},
		{"facts cut", edit("facts/client1.json", `"linux"`, ``), ErrDamaged, "facts/client1.json"},
		{"report grown", edit("report.html", "report", "report and more"), ErrDamaged, "report.html"},
		{"manifest cut", edit("manifest.json", `"files"`, `"fi`), ErrDamaged, "manifest.json"},
		{"manifest of a later version", edit("manifest.json", `"v": 1`, `"v": 3`), ErrNewer, "version 3"},
		{"manifest of version 0", edit("manifest.json", `"v": 1`, `"v": 0`), ErrDamaged, "version 0"},
		{"a way out", edit("manifest.json", "facts/client1.json", "facts/../../x.json"), ErrDamaged, "no file of a bundle"},
		{"an absolute name", edit("manifest.json", "facts/client1.json", "/etc/passwd"), ErrDamaged, "no file of a bundle"},
		{"listed twice", edit("manifest.json", "report.html", "results.json"), ErrDamaged, "twice"},
		{"negative size", edit("manifest.json", `"size": `, `"size": -`), ErrDamaged, "bytes"},
		{"absurd size", edit("manifest.json", `"size": `, `"size": 9000000000`), ErrDamaged, "bytes"},
		{"no hash", edit("manifest.json", `"sha256": "`, `"sha256": "z`), ErrDamaged, "SHA-256"},
		{"results of a later version", reseal(`"v": 1`, `"v": 9`), ErrNewer, "version 9"},
		{"results of another shape", reseal(`"verdict": {`, `"verdict": [{`), ErrDamaged, "results.json"},
	}
}

func replace(t *testing.T, path, old, new string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s has no %q", path, old)
	}
	must(t, os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600))
}

// reseal edits results.json and makes the manifest agree, as a forger would.
func reseal(old, new string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		replace(t, filepath.Join(dir, "results.json"), old, new)
		rehash(t, dir, "results.json")
	}
}

func rehash(t *testing.T, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	must(t, err)
	var m Manifest
	must(t, json.Unmarshal(raw, &m))
	sum := sha256.Sum256(b)
	for i := range m.Files {
		if m.Files[i].Name == name {
			m.Files[i].SHA256, m.Files[i].Size = hex.EncodeToString(sum[:]), int64(len(b))
		}
	}
	raw, err = json.Marshal(m)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "manifest.json"), raw, 0o600))
}

func TestDamagedBundlesAreNamedAndNotFatalToAList(t *testing.T) {
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			root := t.TempDir()
			good := writeRun(t, root, "explain /mnt", moment.Add(-time.Hour))
			bad := writeRun(t, root, "demo", moment)
			d.do(t, bad)
			_, err := Open(bad)
			if !errors.Is(err, d.want) || !strings.Contains(err.Error(), d.says) || !strings.Contains(err.Error(), bad) {
				t.Errorf("open: %v; want %v and %q", err, d.want, d.says)
			}
			list, err := List(root)
			must(t, err)
			if len(list) != 2 || list[1].Path != good || list[1].State != Complete {
				t.Errorf("list: %+v", list)
			}
		})
	}
}

func TestListShowsDamageWithoutHashingEverything(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"no results", "manifest of a later version", "report grown"} {
		for _, d := range damages() {
			if d.name == name {
				d.do(t, writeRun(t, root, "demo", moment.Add(time.Duration(i)*time.Minute)))
			}
		}
	}
	whole := writeRun(t, root, "demo --fault window", moment.Add(time.Hour))
	list, err := List(root)
	must(t, err)
	var states []State
	for _, s := range list {
		states = append(states, s.State)
		if (s.State == Complete) == (s.Why != "") || s.Created.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	if len(list) != 4 || states[0] != Complete || states[1] != Damaged || states[2] != Newer || states[3] != Damaged {
		t.Errorf("states %v", states)
	}
	top := list[0]
	if top.Path != whole || top.Limiter != model.ReceiverWindow || top.Ratio == nil || *top.Ratio != 7.6 || top.Verdict == "" || top.Command != "demo --fault window" {
		t.Errorf("%+v", top)
	}
}

func TestLinksAndPipesInABundleAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making a symbolic link needs privilege on Windows")
	}
	dir := writeRun(t, t.TempDir(), "demo", moment)
	target := filepath.Join(t.TempDir(), "secret")
	must(t, os.Rename(filepath.Join(dir, "report.html"), target))
	must(t, os.Symlink(target, filepath.Join(dir, "report.html")))
	if _, err := Open(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("got %v", err)
	}
}

func TestResolve(t *testing.T) {
	root := t.TempDir()
	older := writeRun(t, root, "explain", moment)
	newer := writeRun(t, root, "demo", moment.Add(24*time.Hour))
	broken := writeRun(t, root, "demo", moment.Add(48*time.Hour))
	must(t, os.Remove(filepath.Join(broken, "results.json")))
	for _, c := range []struct{ ref, want string }{
		{filepath.Base(older), older}, {"20261120", older}, {"20261121-2345", newer},
		{"last", newer}, {older, older}, {older + "/", older}, {filepath.Base(broken), broken},
		{"2026", ""}, {"", ""}, {"2025", ""}, {"/no/such/folder", ""}, {"../..", "../.."},
	} {
		got, err := Resolve(root, c.ref)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.ref, got, err, c.want)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v does not wrap ErrNotFound", c.ref, err)
		}
	}
	for typed, id := range map[string]string{
		filepath.Base(older)[9:]: filepath.Base(older), strings.Replace(filepath.Base(newer), "demo", "dmeo", 1): filepath.Base(newer), "nothing": "",
	} {
		_, err := Resolve(root, typed)
		if err == nil || (id != "") != strings.Contains(err.Error(), "did you mean "+id) {
			t.Errorf("%q: %v; want a hint at %q", typed, err, id)
		}
	}
	if _, err := Resolve(filepath.Join(root, "none"), "last"); !errors.Is(err, ErrNotFound) {
		t.Errorf("last of nothing: %v", err)
	}
}

// bomb compresses n bytes of lines without ever holding them.
func bomb(t *testing.T, lineBytes []byte, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	z, err := zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1))
	must(t, err)
	for range n {
		_, err := z.Write(lineBytes)
		must(t, err)
	}
	must(t, z.Close())
	return buf.Bytes()
}

func TestDecompressionBombsAreCutOff(t *testing.T) {
	short := []byte(`{"run":"r","sample":{"v":1}}` + "\n")
	conns := []byte(`{"run":"r","sample":{"v":1,"conns":[` + strings.Repeat("{},", 1000) + `{}]}}` + "\n")
	for _, c := range []struct {
		name string
		file []byte
		left budget
	}{
		{"one endless line", bomb(t, bytes.Repeat([]byte("x"), 1<<20), 8), budget{decoded: 1 << 40, memory: 1 << 40}},
		{"many lines", bomb(t, short, 1000), budget{decoded: 10_000, memory: 1 << 40}},
		{"lines that expand in memory", bomb(t, conns, 10), budget{decoded: 1 << 40, memory: 1 << 20}},
	} {
		samples := 0
		err := decodeSamples(bytes.NewReader(c.file), &c.left, func(string, model.Sample) { samples++ })
		if !errors.Is(err, ErrDamaged) || samples > 500 {
			t.Errorf("%s: %v after %d samples from %d bytes", c.name, err, samples, len(c.file))
		}
	}
}

func FuzzSamples(f *testing.F) {
	r, _ := exampleRun()
	var good bytes.Buffer
	if err := encodeSamples(&good, r.Runs, "client1"); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/2])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		left := budget{decoded: 1 << 20, memory: 1 << 20}
		n := 0
		if err := decodeSamples(bytes.NewReader(b), &left, func(string, model.Sample) { n++ }); err == nil && left.memory < 0 {
			t.Errorf("%d samples past the budget", n)
		}
	})
}

func FuzzSampleLine(f *testing.F) {
	f.Add([]byte(`{"run":"r","sample":{"v":1,"at":5,"throttled":{"state":"denied","why":"x"}}}`))
	f.Add([]byte(`{"run":"r","sample":{"v":2}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decodeLine(b)
		if err == nil {
			if err := encodeLine(io.Discard, l); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	b, err := os.ReadFile("testdata/v1/20261120-234501-demo-x7k2/manifest.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"v":1,"files":[{"name":"../x"}]}`))
	f.Add([]byte(`{"v":2,"files":[{"name":"losses.jsonl.zst"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(b)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Name) || file.Size < 0 {
				t.Errorf("accepted %+v", file)
			}
		}
	})
}

func FuzzResults(f *testing.F) {
	b, err := os.ReadFile("testdata/results.golden.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode[model.Results](resultsName, b, model.OutcomeVersion)
		if err == nil && (r == nil || r.V != model.OutcomeVersion) {
			t.Error("accepted results without a known version")
		}
	})
}
