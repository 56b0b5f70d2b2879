package script

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/systems/windows"
)

// Reading is a script that prints the values of some mechanisms, in frames (package frame) that
// are called 0, 1, 2 and so on. It changes nothing.
func (k System) Reading(all []Mechanism) string {
	if k.PowerShell {
		return readingPS(all)
	}
	var b strings.Builder
	b.WriteString(`LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/bin:/usr/sbin:/bin:/sbin"; export PATH
look() {
	said=$("read_$1" 2>&1 </dev/null); code=$?
	size=$(printf %s "$said" | wc -c)
	printf 'begin %s %s %s\n%s\n' "$1" "$code" $size "$said"
}
root=
` + files + `
echo 'linerate-frames 1'
`)
	for i, m := range all {
		fmt.Fprintf(&b, "read_%[1]d() { { %[3]s; } && { %[2]s; }; }\nlook %[1]d\n", i, m.Read, m.ready())
	}
	fmt.Fprintf(&b, "echo 'linerate-frames end %d'\n", len(all))
	return b.String()
}

// Trial is a mechanism whose reading says why the host does not take a value, after the word for that it was
// asked: nothing, where it takes it. false: there is no telling before the value is written.
func (m Mechanism) Trial(value string) (_ Mechanism, ok bool) {
	if m.Test == "" || CheckValue(value) != nil {
		return Mechanism{}, false
	}
	return Mechanism{Read: "$value = " + quotePS(value) + "; '" + TriedWord + "' + [string](& { " + m.Test + " })"}, true
}

// TriedWord begins what a Trial's reading prints.
const TriedWord = "tried: "

const (
	// heredoc ends the script within the one that carries it: no line of a script is like it.
	heredoc = "END-OF-THE-SCRIPT-THAT-LINERATE-CARRIES"
	began   = "linerate-plan begin"
	ended   = "linerate-plan end "
)

// Carry is what the host's shell executes to run a script there: in sh, the script goes into a
// private directory for as long as it runs. args are words such as "apply".
func (k System) Carry(text string, args ...string) (string, error) {
	if k.PowerShell {
		return carryPS(text, args)
	}
	if strings.Contains(text, heredoc) {
		return "", fmt.Errorf("carry the script: %w", ErrValue)
	}
	return `umask 077
there=$(mktemp -d "${TMPDIR:-/tmp}/linerate-plan.XXXXXX") || exit 1
trap 'rm -rf "$there"' EXIT
trap '' PIPE
cat >"$there/change.sh" <<'` + heredoc + `' || exit 1
` + text + heredoc + `
[ "$(wc -c <"$there/change.sh")" -eq ` + strconv.Itoa(len(text)) + ` ] || { echo "the script did not arrive whole: nothing was done" >&2; exit 1; }
echo '` + began + `'
sh "$there/change.sh" ` + words(args) + ` </dev/null 2>&1
echo "` + ended + `$?"
`, nil
}

// OnPlans is what the host's shell executes to run the kept scripts of its plans, newest first;
// plan is one of them, or empty for all.
func (k System) OnPlans(state, plan string, args ...string) (string, error) {
	if plan != "" && !planPattern().MatchString(plan) {
		return "", fmt.Errorf("find the plan %q: %w", plan, ErrValue)
	}
	if k.PowerShell {
		return onPlansPS(plan, args), nil
	}
	return `state=` + Quote(state) + `
only=` + Quote(plan) + `
code=0
echo '` + began + `'
# Another user sees no plan where there are some, nor what lies in a directory closed to that user.
above=${state%/*/*}
if [ "$(id -u)" != 0 ] && { [ -e "${state%/*}" ] || { [ -d "$above" ] && [ ! -x "$above" ]; }; }; then code=` + strconv.Itoa(Unprivileged) + `; fi
[ $code = 0 ] && for plan in $(ls -1 "$state" 2>/dev/null | sort -r); do
	if [ -n "$only" ] && [ "$plan" != "$only" ]; then continue; fi
	[ -f "$state/$plan/change.sh" ] || continue
	echo "plan $plan"
	sh "$state/$plan/change.sh" ` + words(args) + ` </dev/null 2>&1 || code=$?
done
echo "` + ended + `$code"
`, nil
}

func words(args []string) string {
	var out []string
	for _, a := range args {
		out = append(out, Quote(a))
	}
	return strings.Join(out, " ")
}

// ErrCut is that of an answer whose end is missing: what became of the plan is not known.
var ErrCut = errors.New("the host's answer is cut off")

// Applied tells whether the script says that all of a plan is in force, and Undone that nothing of
// it is. An exit code of 0 alone is no answer: a file that was emptied ends so too.
func Applied(plan string, said []string) bool {
	return slices.ContainsFunc(said, func(s string) bool {
		return strings.HasPrefix(s, "all ") && strings.HasSuffix(s, " changes of "+plan+" are in force")
	})
}

// Undone is what Applied says.
func Undone(plan string, said []string) bool {
	return slices.Contains(said, "nothing of plan "+plan+" is in force")
}

// Plans are those whose scripts OnPlans ran.
func Plans(said []string) []string {
	var out []string
	for _, s := range said {
		if id, ok := strings.CutPrefix(s, "plan "); ok && planPattern().MatchString(id) {
			out = append(out, id)
		}
	}
	return out
}

// Exit codes of a script.
const (
	Refused      = 1 // nothing is changed, or what was changed is put back
	NotRestored  = 4
	Unprivileged = 77 // of OnPlans: there are plans, and this user cannot look at them
)

// Outcome takes apart what Carry or OnPlans printed: the lines of the script, and its exit code.
func Outcome(answer []byte) (said []string, code int, err error) {
	_, rest, ok := bytes.Cut(answer, []byte(began+"\n"))
	at := bytes.LastIndex(rest, []byte(ended))
	if !ok || at < 0 {
		return nil, 0, ErrCut
	}
	code, err = strconv.Atoi(strings.TrimSpace(string(rest[at+len(ended):])))
	if err != nil {
		return nil, 0, ErrCut
	}
	if text := strings.TrimRight(string(rest[:at]), "\n"); text != "" {
		said = strings.Split(windows.Plain(text), "\n")
	}
	return said, code, nil
}
