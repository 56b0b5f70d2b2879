package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The recordings of the repository: the counts of limiters add up, and at most one in
// twenty is confidently wrong.
func TestBlind(t *testing.T) {
	var out bytes.Buffer
	if err := blind("../../testdata/recordings", true, &out); err != nil {
		t.Fatal(err)
	}
	var got struct{ Blind Blind }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var sum Tally
	for _, one := range got.Blind.By {
		sum.Cases += one.Cases
		sum.ConfidentlyWrong += one.ConfidentlyWrong
		sum.Honest += one.Honest
		sum.CalledNone += one.CalledNone
	}
	if b := got.Blind.Tally; b != sum || b.Cases < 60 || 20*b.ConfidentlyWrong > b.Cases {
		t.Errorf("%+v, by limiter %+v", b, sum)
	}
}

func TestBlindRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := blind(dir, false, nil); err == nil || !strings.Contains(err.Error(), labelsFile) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, labelsFile), []byte(`[{"name":"x","want":["pacing"]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := blind(dir, false, nil); err == nil || !strings.Contains(err.Error(), "x.json.zst") {
		t.Errorf("no recording: %v", err)
	}
}
