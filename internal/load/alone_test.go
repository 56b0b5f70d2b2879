package load

import (
	"bytes"
	"errors"
	"fmt"
	"linerate/internal/load/frames"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func aloneSpec(role Role, read *ReadSpec) Spec {
	return Spec{Role: role, Duration: 200 * time.Millisecond, Read: read}
}

// workAlone runs a worker without a peer to its end.
func workAlone(t *testing.T, spec Spec) (Event, Result) {
	t.Helper()
	p := startWorker(t, spec, defaultLimits())
	up := p.want(Connected)
	p.begin()
	p.want(Started)
	e := p.want(Finished)
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	return up, *e.Result
}

func TestCopyCountsWhatItCopied(t *testing.T) {
	up, r := workAlone(t, aloneSpec(Copy, nil))
	if up.Alone == nil || up.Alone.Buffer < tinyCopy || up.Alone.Method == "" {
		t.Errorf("prepared %+v", up.Alone)
	}
	if r.Bytes < copyBlock || r.Bytes%copyBlock != 0 || r.Window < 100*time.Millisecond || r.Alone.InCache <= 0 || r.BytesAfterWarmup != r.Bytes {
		t.Errorf("result %+v", r)
	}
}

// tree has a large file, a larger one that is a link, a pipe's name and a small one.
func tree(t *testing.T) (dir, large string, size int) {
	t.Helper()
	dir = t.TempDir()
	large, size = filepath.Join(dir, "sub", "large"), 3<<20+777
	for name, n := range map[string]int{"small": 100, "sub/medium": smallest + 1, "sub/large": size} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, bytes.Repeat([]byte{7}, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/proc/kcore", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir, large, size
}

func TestReadReadsTheLargestFileOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file reads are Linux only")
	}
	dir, large, size := tree(t)
	for _, cache := range []Cache{Dropped, Kept} {
		up, r := workAlone(t, aloneSpec(Read, &ReadSpec{Dir: dir, Cache: cache}))
		if up.Alone.File != large || up.Alone.Size != int64(size) {
			t.Errorf("%s: took %+v", cache, up.Alone)
		}
		if r.Bytes != int64(size) || r.Window <= 0 || !r.Early || r.Alone.Method == "" {
			t.Errorf("%s: %+v", cache, r)
		}
	}
	before, err := os.Stat(large)
	if err != nil {
		t.Fatal(err)
	}
	_, r := workAlone(t, aloneSpec(Read, &ReadSpec{File: large, Cache: Kept, MaxBytes: 1 << 20}))
	if r.Bytes != 1<<20 {
		t.Errorf("a part of 1 MiB: %d bytes", r.Bytes)
	}
	after, err := os.Stat(large)
	if err != nil || after.ModTime() != before.ModTime() || after.Size() != before.Size() {
		t.Errorf("the file was changed: %v", err)
	}
}

// In several places at once each byte is read once, and all stop with the first
// that is through.
func TestReadInSeveralPlaces(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file reads are Linux only")
	}
	_, large, size := tree(t)
	_, r := workAlone(t, aloneSpec(Read, &ReadSpec{File: large, Cache: Dropped, Readers: 4}))
	if r.Bytes <= 0 || r.Bytes > int64(size)+4<<20 || r.Window <= 0 || !r.Early {
		t.Errorf("%d bytes of %d: %+v", r.Bytes, size, r)
	}
}

// Past the page cache, where the file system of the test's directory can.
func TestReadDirect(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file reads are Linux only")
	}
	_, large, size := tree(t)
	p := startWorker(t, aloneSpec(Read, &ReadSpec{File: large, Cache: Direct}), defaultLimits())
	e := <-p.events
	if e.Kind == Failed && strings.Contains(e.Error, "does not support O_DIRECT") {
		t.Skip(e.Error)
	}
	if e.Kind != Connected || !strings.Contains(e.Alone.Method, "O_DIRECT") {
		t.Fatalf("event %+v", e)
	}
	p.begin()
	p.want(Started)
	if r := p.want(Finished).Result; r.Bytes != int64(size) {
		t.Errorf("%d bytes of %d", r.Bytes, size)
	}
}

func TestReadRefuses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file reads are Linux only")
	}
	dir, _, _ := tree(t)
	for _, tc := range []struct {
		read ReadSpec
		want string
	}{
		{ReadSpec{File: filepath.Join(dir, "link"), Cache: Direct}, "no regular file"},
		{ReadSpec{File: "/dev/zero", Cache: Direct}, "no regular file"},
		{ReadSpec{File: "/dev/zero", Cache: Direct, Device: true}, "no regular file"},
		{ReadSpec{File: filepath.Join(dir, "small"), Cache: Direct}, "over before"},
		{ReadSpec{File: filepath.Join(dir, "gone"), Cache: Direct}, "no such file"},
		{ReadSpec{Dir: filepath.Join(dir, "small"), Cache: Direct}, "over before"}, // as of a LUN's
		{ReadSpec{Dir: "/dev/zero", Cache: Direct}, "no directory"},
		{ReadSpec{Dir: t.TempDir(), Cache: Direct}, "name one with --file"},
	} {
		p := startWorker(t, aloneSpec(Read, &tc.read), defaultLimits())
		if e := <-p.events; e.Kind != Failed || !strings.Contains(e.Error, tc.want) {
			t.Errorf("%+v: event %q %q, want an error with %q", tc.read, e.Kind, e.Error, tc.want)
		}
		wantError(t, p.end(), tc.want)
	}
}

func TestSpecsWithoutAPeerAreChecked(t *testing.T) {
	good := ReadSpec{Dir: "/x", Cache: Direct}
	for _, tc := range []struct {
		name string
		edit func(*Spec)
		want string
	}{
		{"both", func(s *Spec) { s.Read.File = "/y" }, "either a file or a directory"},
		{"neither", func(s *Spec) { s.Read.Dir = "" }, "either a file or a directory"},
		{"relative", func(s *Spec) { s.Read.Dir = "x" }, "no absolute path"},
		{"cache", func(s *Spec) { s.Read.Cache = "write" }, "none of direct"},
		{"readers", func(s *Spec) { s.Read.Readers = MaxReaders + 1 }, "at most 16"},
		{"readers that keep", func(s *Spec) { s.Read.Readers, s.Read.Cache = 2, Kept }, "one where the cache is kept"},
		{"a device that is looked for", func(s *Spec) { s.Read.Device = true }, "named, not looked for"},
		{"peer", func(s *Spec) { s.Bind = loopback }, "has no peer"},
		{"long", func(s *Spec) { s.Duration = time.Hour }, "at most a minute"},
		{"no read", func(s *Spec) { s.Read = nil }, "needs a file"},
		{"copy that reads", func(s *Spec) { s.Role = Copy }, "reads no file"},
		{"write that reads", func(s *Spec) { s.Role = Write }, "reads no file"},
		{"read that writes", func(s *Spec) { s.Write = &WriteSpec{Dir: "/x"} }, "writes no file"},
		{"role", func(s *Spec) { s.Role = "erase" }, "is none of"},
	} {
		read := good
		s := aloneSpec(Read, &read)
		tc.edit(&s)
		wantError(t, s.Check(), tc.want)
	}
	s := testSpec(Sink)
	s.Read = &good
	wantError(t, s.Check(), "reads no file")
}

// A write makes a file of its own, private and unlike itself anywhere, bounded,
// and leaves nothing behind, stopped half way or not.
func TestWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	spec := aloneSpec(Write, nil)
	spec.Write = &WriteSpec{Dir: dir, MaxBytes: 5<<20 + 3}
	spec.Duration = 30 * time.Second
	p := startWorker(t, spec, defaultLimits())
	up := p.want(Connected)
	info, err := os.Stat(up.Alone.File)
	if err != nil || filepath.Dir(filepath.Dir(up.Alone.File)) != dir || runtime.GOOS == "linux" && info.Mode().Perm() != 0o600 {
		t.Errorf("%+v: %v, %v", up.Alone, info, err)
	}
	p.begin()
	p.want(Started)
	r := p.want(Finished).Result
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if r.Bytes != 5<<20+3 || r.Window <= 0 || !r.Early || r.BytesAfterWarmup != r.Bytes {
		t.Errorf("%+v", r)
	}
	wantEmpty(t, dir)
	spec.Write.MaxBytes = 0
	p = startWorker(t, spec, defaultLimits())
	p.want(Connected)
	if err := errors.Join(p.stdin.Close(), p.end()); err != nil { // told to stop before it began
		t.Fatal(err)
	}
	wantEmpty(t, dir)
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "gone"), "/no/such", link} {
		w := &fileWrite{spec: WriteSpec{Dir: dir}}
		if _, err := w.prepare(t.Context()); err == nil || w.f != nil {
			t.Errorf("%s was accepted: %v", dir, err)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []*WriteSpec{nil, {Dir: "relative"}, {Dir: "/x", MaxBytes: -1}, {Dir: "/x", MaxBytes: 65 << 30}} {
		spec := aloneSpec(Write, nil)
		spec.Write = s
		if err := spec.Check(); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}

// No 4 KiB of what is written come twice.
func TestWrittenDataIsNotFoundTwice(t *testing.T) {
	w := &fileWrite{buf: make([]byte, block)}
	fill(w.buf)
	seen := map[string]bool{}
	for range 3 {
		for b := w.next(block); len(b) > 0; b = b[pageStamp:] {
			page := string(b[:pageStamp])
			if seen[page] {
				t.Fatal("the same 4 KiB came twice")
			}
			seen[page] = true
		}
	}
}

// A server that is away is no reason to call a load one that the host cannot make.
func TestPassing(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EIO: true, syscall.ESTALE: true, syscall.ENOSPC: true, frames.ErrNoRoom: true, syscall.ENOENT: false, syscall.EACCES: false, errors.New("smaller than a request"): false,
	} {
		if got := passing(fmt.Errorf("open the file: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
