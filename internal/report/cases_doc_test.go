package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/explain"
	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/report/document"
)

const (
	casesDoc   = "../../docs/cases.md"
	recordings = "../../testdata/recordings"
)

// caseBlock is what stands in the page for a recording: a marker with its
// name, and what the program prints of it; "from the receiver" is what that end
// alone shows.
var caseBlock = regexp.MustCompile("(?s)<!-- recording: ([a-zA-Z0-9_./-]+)( from the receiver)? -->\n```\n.*?```\n")

// TestCasesPage: each transcript in the page is what this build says of its
// recording, and every limiter that a verdict may name has one.
func TestCasesPage(t *testing.T) {
	page, err := os.ReadFile(casesDoc)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[model.LimiterID]bool{}
	want := caseBlock.ReplaceAllFunc(page, func(block []byte) []byte {
		m := caseBlock.FindSubmatch(block)
		text, id := transcript(t, string(m[1]), len(m[2]) > 0)
		shown[id] = true
		return []byte("<!-- recording: " + string(m[1]) + string(m[2]) + " -->\n```\n" + text + "```\n")
	})
	if golden.Update() {
		if err := os.WriteFile(casesDoc, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, want) {
		t.Errorf("docs/cases.md does not show what this build prints; after a look at the change: go test ./internal/report -run TestCasesPage -update")
	}
	for _, l := range model.Limiters() {
		if !shown[l.ID] && !strings.Contains(string(page), "No recording of `"+string(l.ID)+"`") {
			t.Errorf("docs/cases.md neither shows %s nor says why not", l.ID)
		}
	}
}

// transcript is what the program prints of a recording.
func transcript(t *testing.T, name string, receiverOnly bool) (string, model.LimiterID) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, name+".json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var rec struct {
		Case explain.Case `json:"case"`
	}
	if err := json.NewDecoder(d).Decode(&rec); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if receiverOnly {
		rec.Case.Sender = nil
	}
	v := explain.Judge(rec.Case)
	doc := runOf(&model.Results{Outcome: model.Outcome{Verdict: v}}, nil, nil)
	doc.Sections = []document.Section{evidenceSection(v)}
	var out strings.Builder
	if err := doc.Text(&out, false, 84); err != nil {
		t.Fatal(err)
	}
	return out.String(), v.Limiter
}
