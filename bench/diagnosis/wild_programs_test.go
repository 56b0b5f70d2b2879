package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
)

// callsOf is a lab that notes which programs are called.
type callsOf struct {
	fault.Lab
	lines []string
}

func (l *callsOf) Run(_ context.Context, _ string, argv ...string) ([]byte, error) {
	l.lines = append(l.lines, line(argv))
	return nil, nil
}

func (l *callsOf) Start(_ context.Context, _, _ string, argv ...string) (func() error, error) {
	l.lines = append(l.lines, line(argv))
	return func() error { return nil }, nil
}

func (l *callsOf) Sysctl(context.Context, string, string, string) (string, error) { return "1", nil }
func (l *callsOf) Shapes(string) [2]topology.Shape                                { return [2]topology.Shape{} }
func (l *callsOf) Reshape(context.Context, string, int, func(*topology.Shape)) error {
	return nil
}

// line is a command as a line of the shell.
func line(argv []string) string {
	if len(argv) > 2 && argv[len(argv)-2] == "-c" {
		return strings.Join(argv[:len(argv)-2], " ") + "\n" + argv[len(argv)-1]
	}
	return strings.Join(argv, " ")
}

var (
	hereDocument = regexp.MustCompile(`(?s)<<'END'.*`)
	quoted       = regexp.MustCompile(`(?s)'[^']*'`)
	commandWord  = regexp.MustCompile(`(?m)(?:^|[;|&(]|\bdo\s|\bchrt -f \d+\s|\btimeout [\d.]+\s|\bnice -n -?\d+\s)\s*([a-z][a-z.0-9-]*)\b`)
)

// TestWildProgramsAreListed holds the list against what the faults really call.
func TestWildProgramsAreListed(t *testing.T) {
	ofShell := []string{"while", "do", "done", "echo", "set", "true", "kill", "exit", "for", "in", "if", "then", "fi", "cd", "printf", fault.Self}
	for _, m := range mechanisms() {
		if m.hooks == nil {
			continue
		}
		l := &callsOf{}
		ctx, cancel := context.WithCancel(t.Context())
		undo, err := fault.InTurn(ctx, l, m.hooks(m.low))
		if err == nil {
			err = undo(ctx)
		}
		cancel()
		if err != nil {
			t.Logf("%s: %v", m.name, err) // this lab has no control groups
		}
		for _, text := range l.lines {
			text = quoted.ReplaceAllString(hereDocument.ReplaceAllString(text, ""), "")
			for _, w := range commandWord.FindAllStringSubmatch(text, -1) {
				known := func(p program) bool { return p.name == w[1] && (!p.storage || slices.Contains(storageRoads(), m.road)) }
				if !slices.Contains(ofShell, w[1]) && !slices.ContainsFunc(wildPrograms(), known) {
					t.Errorf("%s calls %s, which is not in the list: %s", m.name, w[1], text)
				}
			}
		}
	}
}

func TestWildSaysWhatToInstall(t *testing.T) {
	without := func(names ...string) func(string) (string, error) {
		return func(n string) (string, error) {
			if slices.Contains(names, n) {
				return "", errors.New("not found")
			}
			return "/bin/" + n, nil
		}
	}
	tcp, nfs := []Case{{road: wildRoad}}, []Case{{road: nfsRoad}}
	if err := haveWildPrograms(nfs, without()); err != nil {
		t.Error(err)
	}
	if err := haveWildPrograms(tcp, without("fsfreeze")); err != nil {
		t.Errorf("a draw of TCP asks for what storage needs: %v", err)
	}
	if err := haveWildPrograms(nfs, without("nft", "fsfreeze", "chrt")); err == nil || !strings.Contains(err.Error(), "apt-get install nftables util-linux") {
		t.Errorf("%v", err)
	}
}
