package role

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/load/worker"
	"linerate/internal/move/mover"
	"linerate/internal/tune"
)

// An agent starts its own program in these roles: one that the program for hosts lacks could not be
// played there.
func TestHostsHaveEveryRoleThatAgentsStart(t *testing.T) {
	var said bytes.Buffer
	e := Env{Now: time.Now, In: strings.NewReader(""), Out: io.Discard, Err: &said}
	want := []string{Agent, host.WatchRole, tune.ValueRole, worker.Role, mover.Role}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(Table(e))); !slices.Equal(got, want) {
		t.Errorf("roles %q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, work := range Table(e) {
		said.Reset()
		if code := Run(ctx, e, name, work, []string{"--no-such"}); code != 1 || !strings.HasPrefix(said.String(), "linerate "+name+": ") {
			t.Errorf("%s: exit code %d, %q", name, code, said.String())
		}
	}
}
