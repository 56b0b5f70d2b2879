package script

import (
	"strings"
	"testing"
)

// The file that only undoes needs nothing but the host's records: applied, killed, twice, and never
// applied.
func TestTheUndoFileOfWindows(t *testing.T) {
	for how, apply := range map[string]func(r *windowsRig){
		"never":   func(*windowsRig) {},
		"applied": func(r *windowsRig) { r.want(0, "apply", "5") },
		"cut off": func(r *windowsRig) { r.run("fail:set-nettcpsetting", "apply") },
	} {
		t.Run(how, func(t *testing.T) {
			r := newWindowsRig(t)
			text, err := winPlanScript(t).UndoText()
			if err != nil {
				t.Fatal(err)
			}
			apply(r)
			r.file = `C:\Users\Admin\undo.ps1`
			if err := r.open("").Put(r.file, text); err != nil {
				t.Fatal(err)
			}
			for _, bad := range [][]string{{"apply"}, {"undo"}, {"--force", "x"}} {
				if out := r.want(2, bad...); !strings.Contains(out, "undo.ps1 [--force]") {
					t.Error(out)
				}
			}
			r.want(0)
			r.has(before)
			r.want(0, "--force")
			r.has(before)
			if tasks := r.open("").Tasks(); len(tasks) != 0 {
				t.Errorf("tasks %v", tasks)
			}
		})
	}
}
