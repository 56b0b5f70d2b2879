package script

import (
	"maps"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
)

// So does that of sh, of every kind in the shell inside, and of one in each real shell: also where
// the file that applied is gone, was killed, or never ran.
func TestTheUndoFileOfSh(t *testing.T) {
	t.Parallel()
	labtest.Needs(t, labtest.Root) // a host's record has to be root's
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			undoFile(t, "", kind, inside)
		})
	}
	exe := fakehost(t)
	for i, shell := range realShells() {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			lacksShell(t, shell)
			undoFile(t, exe, kinds[i], shell)
		})
	}
}

func undoFile(t *testing.T, exe, kind string, shell []string) {
	t.Helper()
	for how, env := range map[string][]string{"never": nil, "applied": nil, "killed": {killAt + "=60"}} {
		b := newBox(t, exe, kind, shell, true)
		was := b.values()
		if how != "never" {
			b.run(env, "apply")
		}
		if changed := !maps.Equal(was, b.values()); changed != (how != "never") {
			t.Fatalf("%s, %s: changed: %v", kind, how, changed)
		}
		b.file = b.dir + "/undo.sh"
		for _, bad := range [][]string{{"apply"}, {"undo"}, {"--force", "x"}} {
			if out, code := b.run(nil, bad...); code != 2 || !strings.Contains(out, "undo.sh [--force]") {
				t.Errorf("%s, %s, %v: %d\n%s", kind, how, bad, code, out)
			}
		}
		for _, words := range [][]string{nil, {"--force"}, nil} {
			if out, code := b.run(nil, words...); code != 0 || !maps.Equal(was, b.values()) {
				t.Errorf("%s, %s, undone %v: %d, %v, was %v\n%s", kind, how, words, code, b.values(), was, out)
			}
		}
	}
}
