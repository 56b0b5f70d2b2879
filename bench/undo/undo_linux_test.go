package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if code, ok := role(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A sample of the bench: what is true of all cases is true of these.
func TestSample(t *testing.T) {
	var said bytes.Buffer
	all := newTable(&said)
	if err := fakeCases(t.Context(), all, 35); err != nil {
		t.Fatal(err)
	}
	if all.cases < 100 || all.broken > 0 {
		t.Errorf("%d cases, %d broken\n%s", all.cases, all.broken, said.String())
	}
	var out bytes.Buffer
	all.print(&out, 0)
	if !strings.Contains(out.String(), "| fake host | everything |") {
		t.Errorf("%s", out.String())
	}
}

// And on the running kernel, with processes that are really killed.
func TestSampleOnARealKernel(t *testing.T) {
	var said bytes.Buffer
	all := newTable(&said)
	if err := realSample(t.Context(), all, 60); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if all.cases < 12 || all.broken > 0 {
		t.Errorf("%d cases, %d broken\n%s", all.cases, all.broken, said.String())
	}
}
