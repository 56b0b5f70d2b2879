package systems

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel/golden"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/systems/fake"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

func TestMain(m *testing.M) {
	if fake.Is(os.Args[0]) {
		os.Exit(fake.Main(os.Args, os.Getenv, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// ask runs the real script of illumos in a real shell, whose commands are the fake's.
func ask(t *testing.T, shell []string, env ...string) []byte {
	t.Helper()
	return askFor(t, "illumos", shell, env...)
}

func askFor(t *testing.T, system string, shell []string, env ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := fake.Install(dir, exe); err != nil {
		t.Fatal(err)
	}
	s, _ := Find(system)
	cmd := exec.Command(shell[0], append(shell[1:], "-s")...)
	cmd.Stdin = strings.NewReader(s.Script())
	cmd.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin", fake.OS + "=" + system}, env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", shell, err)
	}
	return out
}

func read(t *testing.T, answer []byte) *model.Facts {
	t.Helper()
	return readAs(t, "illumos", answer)
}

func readAs(t *testing.T, system string, answer []byte) *model.Facts {
	t.Helper()
	s, ok := Find(system)
	if !ok {
		t.Fatalf("no system %q", system)
	}
	f, err := Read(s, answer, map[string]string{"illumos": "omnios", "freebsd": "freenas", "macos": "macmini", "onefs": "isilon", "windows": "winfiler"}[system], time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func shells(t *testing.T) [][]string {
	out := [][]string{{"sh"}}
	for _, s := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}, {"ksh"}} {
		if _, err := exec.LookPath(s[0]); err == nil {
			out = append(out, s)
		} else {
			t.Logf("not tried: %s is not installed", s[0])
		}
	}
	return out
}

func TestIllumosIsRead(t *testing.T) {
	for _, shell := range shells(t) {
		f := read(t, ask(t, shell, fake.Set+"=tank/media:sync=disabled;slog=c1t5d0;tank:wcd=false"))
		if f.Hostname != "omnios" || f.Kernel != "5.11 omnios-r151054-0" || f.UID != 0 || len(f.CPUs) != 1 || f.Memory.Or(0) != 64*unit.GiB {
			t.Errorf("%v: host %q kernel %q uid %d cpus %v memory %v", shell, f.Hostname, f.Kernel, f.UID, f.CPUs, f.Memory)
		}
		for id, want := range map[string]model.Fact[string]{
			"illumos.ipadm.tcp.send_buf":                                model.Known("49152"),
			"illumos.ipadm.tcp._cwnd_max":                               model.Known("1048576"),
			"illumos.sharectl.nfs.servers":                              model.Known("1024"),
			"illumos.sharectl.nfs.nfsmapid_domain":                      model.Unknown[string](model.Absent, "it is not set"),
			"illumos.system.zfs.zfs_arc_max":                            model.Known("0x400000000"),
			"any.zfs.sync":                                              model.Unknown[string](model.Absent, "data sets differ"),
			"any.zfs.atime":                                             model.Known("on"),
			"any.zfs.slog@tank":                                         model.Known("log device"),
			"illumos.dladm.mtu@ixgbe0":                                  model.Known("1500"),
			"illumos.stmf.write_cache@600144F0C73A8B0000005A1B2C3D0001": model.Known("false"),
		} {
			if f.Settings[id] != want {
				t.Errorf("%v: %s is %v, want %v", shell, id, f.Settings[id], want)
			}
		}
		if len(f.NICs) != 3 || f.NICs[0].Speed.Or(0) != 10*unit.Gbit || f.NICs[0].MTU != 1500 || len(f.NICs[0].Addrs) != 2 || f.NICs[0].Counters.Value["rx_errors"] != 7 ||
			f.NICs[0].Pause != model.Known(model.Pause{}) || f.NICs[1].Speed.State != model.Absent || f.NICs[2].Kind != "vnic" {
			t.Errorf("%v: links %+v", shell, f.NICs)
		}
		if len(f.CouldNotSee) != 1 {
			t.Errorf("%v: not seen %+v", shell, f.CouldNotSee)
		}
	}
}

// A command that fails in its own way leaves the rest readable, and is told.
func TestWhatACommandDoesNotSayIsTold(t *testing.T) {
	for how, want := range map[string]string{
		"empty:ipadm":  "printed nothing and reported success",
		"denied:zfs":   "log in as root",
		"missing:zfs":  "no such program",
		"empty:dladm":  "printed nothing and reported success",
		"denied:kstat": "log in as root",
	} {
		f := read(t, ask(t, []string{"sh"}, fake.How+"="+how))
		told := false
		for _, b := range f.CouldNotSee {
			told = told || strings.Contains(b.How, want)
		}
		if !told {
			t.Errorf("%s: not told: %+v", how, f.CouldNotSee)
		}
		if f.Hostname != "omnios" {
			t.Errorf("%s: the rest is lost", how)
		}
		if v, ok := f.Settings["illumos.ipadm.tcp.send_buf"]; how == "empty:ipadm" && ok {
			t.Errorf("%s: a value all the same: %v", how, v)
		}
	}
}

// An answer that was cut anywhere is an error, never facts; a greeting before it does no harm.
func TestACutAnswerIsNoAnswer(t *testing.T) {
	s, _ := Find("illumos")
	whole := ask(t, []string{"sh"})
	for n := range len(whole) - 1 {
		if f, err := Read(s, whole[:n], "omnios", time.Time{}); !errors.Is(err, frame.ErrCut) && err == nil {
			t.Fatalf("cut after %d of %d bytes: %+v", n, len(whole), f)
		}
	}
	if f := read(t, append([]byte("Welcome to OmniOS\nbegin x y z\n"), whole...)); f.Hostname != "omnios" {
		t.Error("a greeting confuses it")
	}
	garbled := bytes.Replace(whole, []byte("tcp:send_buf:"), []byte("tcp;send_buf;"), 1)
	if f := read(t, garbled); len(f.CouldNotSee) != 2 || !strings.Contains(f.CouldNotSee[1].How, "was not understood") {
		t.Errorf("a line that nobody understands: %+v", f.CouldNotSee)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("linerate-frames 1\nbegin tcp 0 3\na:b\nlinerate-frames end 1\n"))
	f.Add([]byte("linerate-frames 1\nbegin tcp 0 9223372036854775807\na\nlinerate-frames end 1\n"))
	f.Add([]byte("greeting\nlinerate-frames 1\nbegin zfs 1 2\n\\:\nbegin zfs 1 2\n\\:\nlinerate-frames end -1\n"))
	recorded, err := filepath.Glob("testdata/*.frames")
	if err != nil || len(recorded) == 0 {
		f.Fatal("no recordings", err)
	}
	for _, file := range recorded {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, s := range All() {
			if facts, err := Read(s, answer, "h", time.Time{}); err == nil && len(facts.CouldNotSee) == 0 {
				t.Error("no word on how far it was tried")
			}
		}
	})
}

// recordings are the answers in a folder, each by what its golden is called: a file SYSTEM-NAME.frames,
// or the one in an archive that a user sent, by the system that the archive's file is named after.
func recordings(t *testing.T, dir string) map[string]snapshot.File {
	t.Helper()
	all := map[string]snapshot.File{}
	for _, ext := range []string{".frames", snapshot.ArchiveExt} {
		files, err := filepath.Glob(filepath.Join(dir, "*"+ext))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			from, name := filepath.Dir(file), filepath.Base(file)
			if ext == snapshot.ArchiveExt {
				from = file
			}
			d, err := snapshot.OpenFolder(from)
			if err != nil {
				t.Fatal(err)
			}
			if names, err := d.Names(); from == file {
				if err != nil || len(names) != 1 {
					t.Fatalf("%s: %v, %v: want one recording", file, names, err)
				}
				name = names[0]
			}
			b, err := d.Read(name, frame.Most)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimSuffix(file, ext)] = snapshot.File{Name: name, Data: b}
		}
	}
	return all
}

// testdata/SYSTEM-NAME.frames, and archives of such, are answers, each with what is read of it beside it.
func TestRecordings(t *testing.T) {
	all := recordings(t, "testdata")
	if len(all) == 0 {
		t.Fatal("no recordings")
	}
	for file, recorded := range all {
		system, _, _ := strings.Cut(recorded.Name, "-")
		got, err := json.MarshalIndent(readAs(t, system, recorded.Data), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Same(t, file+".json", append(got, '\n'))
	}
}

// A user's archive is a recording as it came.
func TestAnArchiveIsARecording(t *testing.T) {
	b, err := os.ReadFile("testdata/freebsd-fake.frames")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := snapshot.WriteArchive(filepath.Join(dir, "box"+snapshot.ArchiveExt), []snapshot.File{{Name: "freebsd-host.frames", Data: b}}); err != nil {
		t.Fatal(err)
	}
	got := recordings(t, dir)[filepath.Join(dir, "box")]
	if f := readAs(t, "freebsd", got.Data); got.Name != "freebsd-host.frames" || len(f.Settings) == 0 {
		t.Errorf("%s: %+v", got.Name, f)
	}
}

// triedHead is above the table in docs/systems.md.
const triedHead = "| system | what | how far | how |\n|---|---|---|---|\n"

// docs/systems.md says of each system how far it was tried, as the program does.
func TestTheDocumentSaysHowFarEachSystemWasTried(t *testing.T) {
	const file = "../../docs/systems.md"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), triedHead)
	if !ok {
		t.Fatal("no such table")
	}
	old, after, _ := strings.Cut(rest, "\n\n")
	var table strings.Builder
	for _, s := range All() {
		all := Abilities(s.Name())
		if len(all) == 0 {
			t.Errorf("%s: no abilities", s.Name())
		}
		for _, a := range all {
			has := func(what string) bool { return slices.Contains(a.Tried, what) }
			if has(built) == has(absent) || strings.Contains(s.Tried(), "never on") && has(built) != has(never) {
				t.Errorf("%s, %s: %v, and %s", s.Name(), a.Name, a.Tried, s.Tried())
			}
			tried := strings.ReplaceAll(strings.Join(a.Tried, " · "), never, "**"+never+"**")
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", s.Name(), a.Name, tried, a.Detail)
		}
	}
	if want := strings.TrimSuffix(table.String(), "\n"); old != want {
		if !golden.Update() {
			t.Fatalf("the table is\n%s\nand should be\n%s\n-update writes it", old, want)
		}
		if err := os.WriteFile(file, []byte(before+triedHead+want+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if Abilities("linux") != nil {
		t.Error("of Linux there is nothing to say")
	}
}
