package main

import "testing"

// A host of 16 cores and a few connections sends at most 1 KB a second while nobody looks at it, even
// if each of its counters grows by a random number; and the estimate measures something.
func TestAHostSendsLittle(t *testing.T) {
	plain, each, err := packed(16, 4, 4, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if each > 1000 || each < 300 || plain < 5000 {
		t.Errorf("%v a second, of samples of %v", each, plain)
	}
}
