package main

import "testing"

// A program that cannot be asked here, as xrdcp without its server, is left out, and the others stay.
func TestWhatCannotBeAskedIsLeftOut(t *testing.T) {
	b := &bench{}
	can := b.runnable([]arm{{"xrdcp", "xrdcp", xrdcp}, {"cp", "cp", func(*bench) []string { return []string{"cp"} }}})
	if len(can) != 1 || can[0].name != "cp" || !b.out["left out: xrdcp: what it copies to does not run here"] {
		t.Errorf("%+v, %v", can, b.out)
	}
}
