package explain

import (
	"fmt"
	"strings"
	"testing"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
)

const limitersDoc = "../../docs/limiters.md"

// limitersPage is the vocabulary as a page.
func limitersPage() string {
	var b strings.Builder
	b.WriteString(`# The limiters

Every verdict, fault and test of linerate uses these ids and no others. This
page is generated from the table in ` + "`internal/model`" + `; after a change there run
` + "`go test ./internal/explain -run TestLimitersPage -update`" + `.

| limiter | where | what can be observed | what removing it takes | also looks like | who fixes it |
|---|---|---|---|---|---|
`)
	for _, l := range model.Limiters() {
		var like []string
		for _, c := range l.Confusable {
			like = append(like, "`"+string(c)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", l.ID, l.Where, l.Signature, dash(l.Counterfactual), dash(strings.Join(like, ", ")), l.Fix)
	}
	b.WriteString(signsPart())
	b.WriteString("\n\"setting\": linerate changes it, proves the gain and can undo it. \"operator\": the verdict says what to do. \"none\": there is nothing to be done.\n")
	b.WriteString(`
## To name one more
1. Add a row to the table in ` + "`internal/model/limiter.go`" + `, with the signs that have to be seen and those that must not be seen
   (` + "`internal/model/sign.go`" + `); a new sign is read in ` + "`internal/explain/sign.go`" + `.
2. Write a detector in a ` + "`detect_*.go`" + ` file of ` + "`internal/explain`" + `, and add its line to ` + "`detectors()`" + `, before
   the limiter that it would be mistaken for. A detector that judges the requests to a mount, share or disk has
   the kind ` + "`calls`" + ` and runs after the connections have voted.
3. If the detector needs a feature that no view has, add it as a field of a view (` + "`view_*.go`" + `).
4. Add a fault to ` + "`internal/lab/fault`" + ` that causes it, and keep a recording with its label in
   ` + "`testdata/recordings`" + ` (` + "`bench/diagnosis -record`" + `); [cases](cases.md) then shows it.
`)
	return b.String()
}

// signsPart is what has to be seen of each limiter, and what must not be.
func signsPart() string {
	var b strings.Builder
	b.WriteString(`
## What has to be seen, and what must not

Every verdict is checked against this table, whichever detector reached it. A sign that has to be seen but is
missing contradicts the verdict. So does a sign that was seen although the limiter does not cause it. The verdict
lists such signs, and its confidence is then at most 0.45. A sign that no view can show counts neither way. This
is why linerate does not blame a fault that no row describes on one of these limiters with confidence.

| limiter | has to be seen | must not be seen |
|---|---|---|
`)
	for _, l := range model.Limiters() {
		if len(l.Must)+len(l.MustNot) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", l.ID, signList(l.Must), signList(l.MustNot))
		}
	}
	b.WriteString("\n| sign | what shows it | what a verdict says if it is missing |\n|---|---|---|\n")
	for _, s := range model.Signs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.ID, s.Present, s.Absent)
	}
	return b.String()
}

func signList(all []model.Sign) string {
	var out []string
	for _, s := range all {
		out = append(out, "`"+string(s)+"`")
	}
	return dash(strings.Join(out, ", "))
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return strings.ReplaceAll(s, "|", "\\|")
}

func TestLimitersPage(t *testing.T) {
	want := limitersPage()
	golden.Same(t, limitersDoc, want)
}

// TestVocabulary: every detector's limiter is in the table.
func TestVocabulary(t *testing.T) {
	for name, k := range faults() {
		v := Judge(k.build())
		if l := limiter(v.Limiter); l.Signature == "" || l.Where != v.Where {
			t.Errorf("%s: %s at %s is not in the vocabulary", name, v.Limiter, v.Where)
		}
	}
}
