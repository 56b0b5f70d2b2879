package mover

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
)

// Whatever line a mover is sent, it is taken for a task or command that says no more than the
// line did, or refused; so is what the controller hears from one.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"v":1,"read":["/a"],"exclude":["*.tmp"],"run":"00000000000000000000000000000000"}`, `{"v":1,"mem_ns":1000,"send":true,"streams":4}`,
		`{"order":"open","one":true,"as":"x"}`, `{"order":"open","as":{"base64":"af8="},"whole":["a",{"base64":"/w=="}]}`, `{"order":"dial","at":"[fe80::1%eth0]:1","from":"10.0.0.1"}`,
		`{"order":"open","lie":{"spots":{"above":[{"kernel":"k","path":"/a","nodes":["1"]}],"spots":[{"up":1,"own":"b","nodes":["2"]},{"up":1,"base":"c","fs":"8:1","root":"/"}]},"mounts":["k"],"left":[{"count":2,"shared":true}]}}`,
		`{"order":"open","lie":{"mounts":[]}}`,
		`{"v":1,"event":"seen","work":{"moved":{}}}`, `{"v":1,"event":"lost","losses":[{"what":"x","path":"/w=="}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if task, err := DecodeTask(line); err == nil {
			for _, p := range append(task.Read, task.Write) {
				if p != "" && !filepath.IsAbs(string(p)) {
					t.Errorf("path %q", p)
				}
			}
			same(t, task)
		}
		var c Command
		if decode(line, &c) == nil {
			same(t, c)
		}
		var e Event
		if decode(line, &e) == nil {
			_, _ = json.Marshal(e) // a number that JSON has no word for is an error, no panic
		}
	})
}

// same tells that what was read is read again from how it is written.
func same[T any](t *testing.T, v T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var again T
	if err := decode(b, &again); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if c, err := json.Marshal(again); err != nil || !reflect.DeepEqual(b, c) {
		t.Errorf("%s became %s, %v", b, c, err)
	}
}
