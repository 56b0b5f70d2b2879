package lab

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/guide"
)

// guideDefaults are the sysctls whose default on a release is nothing but
// numbers, by path below /proc/sys.
func guideDefaults(t *testing.T, release string) map[string]guide.Default {
	t.Helper()
	r, err := guide.ParseRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]guide.Default{}
	for _, s := range guide.All() {
		name, ok := strings.CutPrefix(s.ID, "linux.sysctl.")
		d, one := s.DefaultOn(r)
		if !ok || !one || slices.ContainsFunc(strings.Fields(d.Value), func(w string) bool {
			_, err := strconv.ParseInt(w, 10, 64)
			return err != nil
		}) {
			continue
		}
		for _, n := range append([]string{name}, s.Names...) {
			// Of a limit in bytes or as a ratio only one is in force; the other is 0.
			other := strings.HasSuffix(n, "_bytes") && strings.HasSuffix(name, "_ratio")
			if strings.Contains(n, ".") && !other {
				out[strings.ReplaceAll(strings.ReplaceAll(n, ".IF.", ".eth0."), ".", "/")] = d
			}
		}
	}
	return out
}

// sameDefaults compares what the guide says of a kernel's defaults with those
// of a host with a kernel of its own that nobody has touched. What a kernel was
// built without has none.
func sameDefaults(ctx context.Context, t *testing.T, l *Lab, host string, fewest int) {
	t.Helper()
	out, err := l.Run(ctx, host, "uname", "-r")
	if err != nil {
		t.Fatal(err)
	}
	release := strings.TrimSpace(string(out))
	compared := 0
	for path, d := range guideDefaults(t, release) {
		if path == "net/ipv4/tcp_no_metrics_save" {
			continue // the lab sets it, so that no run remembers another
		}
		out, err := l.Run(ctx, host, "cat", "/proc/sys/"+path)
		if err != nil {
			continue
		}
		compared++
		got, want := strings.Fields(string(out)), strings.Fields(d.Value)
		if d.Note != "" && len(got) == len(want) {
			// The last number depends on memory, and is at most the default.
			have, err1 := strconv.ParseInt(got[len(got)-1], 10, 64)
			most, err2 := strconv.ParseInt(want[len(want)-1], 10, 64)
			if err1 == nil && err2 == nil && have <= most {
				got, want = got[:len(got)-1], want[:len(want)-1]
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, Linux %s: %s is %q, the guide has %q", host, release, path, strings.TrimSpace(string(out)), d.Value)
		}
	}
	if compared < fewest {
		t.Errorf("%s: compared only %d defaults, want %d", host, compared, fewest)
	}
}
