package script

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/systems/windows"
)

// Under a group policy that lets no script's file run, the task that would undo a plan cannot run:
// the plan is refused, and it is said why.
func TestAPolicyThatForbidsTheTaskIsNamed(t *testing.T) {
	for _, how := range []string{"policy:AllSigned", "policy:Restricted,english"} {
		t.Run(how, func(t *testing.T) {
			r := newWindowsRig(t)
			h, slept := r.open(how), time.Duration(0)
			h.Sleep = func(d time.Duration) { slept += d }
			text, err := Windows{}.System().Carry(winScript(t), "apply", "5")
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if _, err := h.Run(text, &out); err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			said, code, err := Outcome([]byte(out.String()))
			words := strings.Join(said, " ")
			policy, _, _ := strings.Cut(strings.TrimPrefix(how, "policy:"), ",")
			if err != nil || code != Refused || Applied(plan, said) || !strings.Contains(words, "sets the execution policy to "+policy) || !strings.Contains(words, "nothing was changed") {
				t.Errorf("%s: %d, %v: %s", how, code, err, words)
			}
			if slept < 20*time.Second || slept > time.Minute {
				t.Errorf("%s: it waited %v for the task", how, slept)
			}
			r.has(before)
			if tasks := r.open("").Tasks(); len(tasks) != 0 {
				t.Errorf("tasks %v", tasks)
			}
		})
	}
}

// A template that does not show who decides on its level is refused, and not taken for one that nobody
// decides on but itself.
func TestALevelOfWhichItIsNotShownWhoDecidesIsRefused(t *testing.T) {
	r := newWindowsRig(t)
	out, code := r.run("null:AutoTuningLevelEffective", "apply")
	if code != Refused || !strings.Contains(out, "whether a group policy decides on it is not shown") || !strings.Contains(out, "nothing was changed") {
		t.Errorf("%d: %s", code, out)
	}
}

// settings.ps1 has lists that Go has too.
func TestTheListsOfPowerShellAreThoseOfGo(t *testing.T) {
	for _, list := range [][]string{windows.Policies(), windows.Levels()} {
		if !strings.Contains(settingsPS, wordsPS(list)) {
			t.Errorf("settings.ps1 has no %s", wordsPS(list))
		}
	}
}
