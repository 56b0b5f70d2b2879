package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// place is where the binary goes, and what is there to take it.
type place struct {
	goos, goarch, uid, tools, dir string
	zstd                          bool  // is one of the tools
	exact                         bool  // head takes no more than it is asked for
	own                           int64 // bytes of a linerate that is installed there, 0: none
}

// parseProbe reads what sessionScript printed before its mark. A login shell may print a greeting to stdout
// before it; the last five lines are the script's.
func parseProbe(out string) (place, error) {
	f := strings.Split(strings.TrimSpace(out), "\n")
	if len(f) < 5 {
		return place{}, fmt.Errorf("read what the host is: unexpected answer %q", printable(out))
	}
	f = f[len(f)-5:]
	for _, unix := range []string{"MINGW", "MSYS_NT", "CYGWIN_NT"} { // a sh on Windows
		if strings.HasPrefix(f[0], unix) {
			return place{}, foreignWindows()
		}
	}
	tools, own, ok := strings.Cut(f[3], " ")
	p := place{uid: f[2], dir: f[4]}
	tools, p.exact = strings.CutSuffix(tools, toolsExact)
	p.tools, p.zstd = strings.CutSuffix(tools, toolsZstd)
	if ok {
		p.own, _ = strconv.ParseInt(strings.TrimSpace(own), 10, 64) // what is no number is of no use
	}
	if p.goos, ok = map[string]string{"Linux": "linux", "FreeBSD": "freebsd", "Darwin": "darwin", "SunOS": "illumos", "Isilon OneFS": "onefs"}[f[0]]; !ok {
		return place{}, fmt.Errorf("read what the host is: no linerate for system %q", printable(f[0]))
	}
	if p.goarch, ok = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "i86pc": "amd64", "aarch64": "arm64", "arm64": "arm64",
		"ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
	}[f[1]]; !ok {
		return place{}, fmt.Errorf("read what the host is: no linerate for machine %q", printable(f[1]))
	}
	if !dirPattern().MatchString(p.dir) || strings.Contains(p.dir, "/../") {
		return place{}, fmt.Errorf("read where to copy to: unexpected directory %q", printable(p.dir))
	}
	return p, nil
}

// Of the binary these many bytes go first, as they are. Where the rest would take longer than
// sendTime at their rate it goes compressed, to some 40 %: faster paths lose more by the time
// that compressing takes here, and its undoing there, than by the bytes. That is known before they
// have all arrived, and the rest is compressed meanwhile: what TCP's slow start adds to their time
// then costs nothing.
const (
	sampleSize = 4 << 20
	sendTime   = 1200 * time.Millisecond
)

// deploy copies the binary and verifies the copy before anything runs it. Where the same one is
// installed on the host it is copied there, and nothing is sent.
func (s Ssh) deploy(ctx context.Context, n Name, x *sshSession, p place) error {
	path, err := s.Binary(p.goos, p.goarch)
	if err != nil {
		return fmt.Errorf("find a linerate for %s/%s: %w", p.goos, p.goarch, err)
	}
	if there, err := installed(ctx, x, p, path); there || err != nil {
		return err
	}
	if there, err := s.packed(ctx, n, x, p); there || err != nil {
		return err
	}
	b, err := s.program(path)
	if err != nil {
		return fmt.Errorf("copy the binary: %w", err)
	}
	out, err := s.transfer(ctx, n, x, p, b)
	if err != nil {
		return fmt.Errorf("copy the binary: %w", err)
	}
	want := sumOf(b)
	got, err := s.hash(ctx, n, p, out)
	if err != nil {
		return fmt.Errorf("check the copied binary: %w", err)
	}
	if got != want {
		return fmt.Errorf("check the copied binary: its hash on the host is %s, not %s: is the disk full, or does another process write there?", got, want)
	}
	return nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Packed is a program as it is kept and sent.
type Packed struct {
	Zstd []byte // empty: there is none
	Sum  string // SHA-256 of the program, in hexadecimal
}

// Unpack is the program.
func (k Packed) Unpack() ([]byte, error) {
	const most = 256 << 20
	r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, fmt.Errorf("unpack the program for hosts: %w", err)
	}
	defer r.Close()
	b, err := r.DecodeAll(k.Zstd, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack the program for hosts: %w", err)
	}
	return b, nil
}

// packed sends the program for hosts as it is kept, where the host can unpack it: that takes less
// of either end than to send all of it, at any rate. There is false where it cannot, or did not.
func (s Ssh) packed(ctx context.Context, n Name, x *sshSession, p place) (there bool, err error) {
	if len(s.Agent.Zstd) == 0 || !p.zstd {
		return false, nil
	}
	out, err := x.send(ctx, wordZstd, s.Agent.Zstd)
	if err != nil {
		return false, fmt.Errorf("copy the binary: %w", x.why(err))
	}
	got, err := s.hash(ctx, n, p, out)
	if err != nil {
		return false, fmt.Errorf("check the copied binary: %w", err)
	}
	return got == s.Agent.Sum, nil
}

// program is what is sent.
func (s Ssh) program(path string) ([]byte, error) {
	if len(s.Agent.Zstd) > 0 {
		return s.Agent.Unpack()
	}
	return os.ReadFile(path)
}

// installed has the host copy the linerate that is installed there, if that is this one.
func installed(ctx context.Context, x *sshSession, p place, path string) (bool, error) {
	i, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("copy the binary: %w", err)
	}
	if p.own != i.Size() {
		return false, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("copy the binary: %w", err)
	}
	out, err := x.send(ctx, wordOwn, nil)
	if err != nil {
		return false, fmt.Errorf("copy the binary that is installed there: %w", x.why(err))
	}
	return strings.HasPrefix(strings.TrimSpace(out), sumOf(b)+" "), nil
}

// transfer sends the binary, and returns what the host says of its hash.
func (s Ssh) transfer(ctx context.Context, n Name, x *sshSession, p place, b []byte) (string, error) {
	if p.tools == toolsNone {
		var out bytes.Buffer
		err := s.run(ctx, n, script(copyScript, p.dir), bytes.NewReader(b), &limited{w: &out, left: maxTalk})
		return out.String(), err
	}
	first := min(len(b), sampleSize)
	word, rest := wordPlain, b[first:]
	small := func() ([]byte, bool, error) { return nil, false, nil }
	if p.tools == toolsGzip {
		small = compressedAfter(slowAfter(first, len(rest)), rest)
	}
	if _, err := x.send(ctx, wordFirst, b[:first]); err != nil {
		_, _, _ = small() // nobody needs it any more
		return "", x.why(err)
	}
	z, slow, err := small()
	switch {
	case err != nil:
		return "", err
	case slow:
		word, rest = wordGzip, z
	}
	out, err := x.send(ctx, word, rest)
	if err != nil {
		return "", x.why(err)
	}
	return out, nil
}

// slowAfter is the time of the first bytes after which the rest, at their rate, takes longer than
// sendTime.
func slowAfter(first, rest int) time.Duration {
	return time.Duration(float64(sendTime) * float64(first) / float64(max(1, rest)))
}

// compressedAfter begins to compress b after a time, unless it is asked before; slow tells whether
// it has begun.
func compressedAfter(after time.Duration, b []byte) (ask func() (z []byte, slow bool, err error)) {
	done := make(chan struct{})
	var z []byte
	var err error
	t := time.AfterFunc(after, func() {
		defer close(done)
		z, err = compressed(b)
	})
	return func() ([]byte, bool, error) {
		if t.Stop() {
			return nil, false, nil
		}
		<-done
		return z, true, err
	}
}

// compressed is b as gzip reads it: several members, one of each core.
func compressed(b []byte) ([]byte, error) {
	parts := make([]bytes.Buffer, min(8, runtime.GOMAXPROCS(0)))
	var g errgroup.Group
	for i := range parts {
		g.Go(func() error {
			w, err := gzip.NewWriterLevel(&parts[i], gzip.BestSpeed)
			if err != nil {
				return err
			}
			_, err = w.Write(b[i*len(b)/len(parts) : (i+1)*len(b)/len(parts)])
			return errors.Join(err, w.Close())
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	var out []byte
	for i := range parts {
		out = append(out, parts[i].Bytes()...)
	}
	return out, nil
}

// hash returns the hash that a tool of the host has computed; if the host has none, the file
// is read back. The copy itself cannot compute it, since it would have to run before it is
// verified.
func (s Ssh) hash(ctx context.Context, n Name, p place, out string) (string, error) {
	words := strings.Fields(out)
	if len(words) == 0 {
		return "", errors.New("no answer")
	}
	// "HASH  -" is what both tools print; a greeting may stand before it.
	if len(words) >= 2 && words[len(words)-1] == "-" {
		return printable(words[len(words)-2]), nil
	}
	if words[len(words)-1] != "none" {
		return "", fmt.Errorf("unexpected answer %q", printable(out))
	}
	sum := sha256.New()
	if err := s.run(ctx, n, script(readBackScript, p.dir), nil, sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
