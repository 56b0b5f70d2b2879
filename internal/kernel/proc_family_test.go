package kernel

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is a few pseudo files by path; a value that begins with "->" is a link.
type tree map[string]string

func (t tree) ReadFile(p string) ([]byte, error) {
	if s, ok := t[p]; ok {
		return []byte(s), nil
	}
	return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
}

func (t tree) ReadDir(p string) ([]string, error) {
	var names []string
	for name := range t {
		if rest, ok := strings.CutPrefix(name, p+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(names, first) {
				names = append(names, first)
			}
		}
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return names, nil
}

func (t tree) Readlink(p string) (string, error) {
	s, ok := strings.CutPrefix(t[p], "->")
	if !ok {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: fs.ErrNotExist}
	}
	return s, nil
}

func TestFamily(t *testing.T) {
	h := tree{
		"/proc/10/task/10/children": "11 12 \n",
		"/proc/10/task/15/children": "13\n",
		"/proc/11/task/11/children": "14 10 \n", // a number used anew
		"/proc/12/task/12/stat":     "no children file",
		"/proc/13/task/13/children": "x\n",
	}
	if got := Family(h, 10); !slices.Equal(got, []int{10, 11, 12, 13, 14}) {
		t.Errorf("family %v", got)
	}
	if got := Family(h, 99); !slices.Equal(got, []int{99}) {
		t.Errorf("of one that is gone: %v", got)
	}
}

func TestFamilyIsBounded(t *testing.T) {
	h := tree{}
	var all strings.Builder
	for pid := 2; pid < 3*maxFamily; pid++ {
		all.WriteString(" " + strconv.Itoa(pid))
	}
	h["/proc/1/task/1/children"] = all.String()
	if got := Family(h, 1); len(got) != maxFamily {
		t.Errorf("%d processes", len(got))
	}
}

func TestSockets(t *testing.T) {
	h := tree{"/proc/7/fd/0": "->/dev/null", "/proc/7/fd/3": "->socket:[42]", "/proc/7/fd/4": "->pipe:[5]", "/proc/7/fd/5": "->socket:[43]"}
	if got, err := Sockets(h, 7); err != nil || !slices.Equal(got, []uint32{42, 43}) {
		t.Errorf("sockets %v, %v", got, err)
	}
	if _, err := Sockets(h, 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
}

func TestTaskKinds(t *testing.T) {
	line := func(state, flags string) []byte {
		return []byte("2 (kthreadd) " + state + " 0 0 0 0 -1 " + flags + " 0 0 0 0 0 0 0 0 20 0 1 0 4 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 1 0 0 0\n")
	}
	for _, c := range []struct {
		state, flags  string
		kernel, ended bool
		fails         bool
	}{
		{"S", "2129984", true, false, false}, // 0x208040
		{"S", "4194304", false, false, false},
		{"Z", "4194304", false, true, false},
		{"S", "-1", false, false, true},
	} {
		got, err := ParseTaskStat(line(c.state, c.flags))
		if (err != nil) != c.fails || got.Kernel != c.kernel || got.Ended != c.ended {
			t.Errorf("state %s flags %s: %+v, %v", c.state, c.flags, got, err)
		}
	}
}

func FuzzParseChildren(f *testing.F) {
	f.Add([]byte("12 13 \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		pids, err := ParseChildren(b)
		for _, pid := range pids {
			if err == nil && pid <= 0 {
				t.Errorf("process %d in %q", pid, b)
			}
		}
	})
}
