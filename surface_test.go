package linerate

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spoken are how many texts of each room below cli name a command or flag of linerate. What to do next
// is a step of failure, which cli words; docs/design.md says where words stay. A number here may fall.
var spoken = map[string]int{
	"app":     22,
	"explain": 17,
	"fleet":   4,
	"lab":     7,
	"load":    10,
	"loop":    4,
	"move":    2,
	"reach":   1,
	"report":  13,
	"rules":   6,
	"size":    2,
	"store":   2,
	"study":   5,
	"systems": 2,
	"tune":    27,
	"web":     2,
}

// spokenFor has the reason of each room.
var spokenFor = map[string]string{
	"app":     "evidence, doubts and notes of results are kept in bundles, and who changed a host in its journal",
	"explain": "the step that reveals a rung, or removes a limiter, is part of a verdict and kept with it in bundles",
	"fleet":   "a host and the desk of its site answer each other in text: the next step is a command at the other end",
	"lab":     "a lab's parts are there or not by how it was brought up; a keeper answers other processes, in text",
	"load":    "a load is refused in a process or on a host of its own, whose answer is text",
	"loop":    "after an interruption only the loop knows what is changed, and where; nothing may stand between that and who reads it",
	"move":    "an end of a copy refuses to delete on a host of its own, whose answer is text",
	"reach":   "why nothing is stated of a path is part of a fact, and kept in bundles",
	"report":  "a report is read months later, without the command that made it",
	"rules":   "the fix of a finding is what to type: it is part of the finding, in JSON too",
	"size":    "notes of a calculation name the input that was not given",
	"store":   "what would measure a ladder is part of it, on the page too",
	"study":   "a study file is corrected with what other commands list",
	"systems": "the table of what was tried on each system is by commands",
	"tune":    "a change that was not undone names the way back at the place that knows it is open; the values of a plan name the option that would decide them",
	"web":     "the page is told how to start the program that serves it",
}

// A flag within a sentence, or a command line. What other programs are started with stands alone.
var (
	flagInWords    = regexp.MustCompile(`(^|[\s(,;])--[a-z][a-z-]+`)
	commandInWords = regexp.MustCompile(`\blinerate (` + strings.Join(slices.Sorted(maps.Keys(workOf)), "|") + `)\b`)
)

// foreign are texts for other programs, options that scripts of linerate's have themselves, and names of
// protocols that nobody reads.
var foreign = regexp.MustCompile(`apt-get|mdadm|ethtool|sysctl --|systemd-run|mount --|isi network|--banirq|set -- |usage: |network (subnets|pools)|--maxthreads|` +
	`^ --(mtu|aggregation-mode) "|or with --force\.|^
force=|EXPERIMENTAL|copy (1 2026|2 next key)|proof of|load protocol|host ready|agent for|no linerate runs|^linerate (agent|copy) ?$|--description=|systemctl |want --pid of`)

// Rooms below cli name commands and flags no more often than they did.
func TestRoomsSpeakNoMoreOfTheSurface(t *testing.T) {
	found := map[string]int{}
	at := map[string][]string{}
	for _, s := range sources(t) {
		if s.room == "" || s.room == "cli" || s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			flag := flagInWords.MatchString(text) && strings.Contains(text, " ")
			if (flag || commandInWords.MatchString(text)) && !foreign.MatchString(text) {
				found[s.room]++
				at[s.room] = append(at[s.room], s.file+": "+text)
			}
			return true
		})
	}
	for room, n := range found {
		switch most := spoken[room]; {
		case n > most:
			t.Errorf("%d texts of internal/%s name commands or flags, %d may: return a kind or a value, and let cli say it\n\t%s", n, room, most, strings.Join(at[room], "\n\t"))
		case n < most:
			t.Errorf("%d texts of internal/%s name commands or flags: write that number here, so that it stays", n, room)
		}
		if spokenFor[room] == "" {
			t.Errorf("internal/%s speaks of the surface; say here why", room)
		}
	}
	for room := range spoken {
		if found[room] == 0 {
			t.Errorf("internal/%s is excused and names none", room)
		}
	}
}
