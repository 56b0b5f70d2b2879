package report

import (
	"bytes"
	"flag"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func TestHTMLGolden(t *testing.T) {
	var buf bytes.Buffer
	r, samples, facts := windowRun()
	if err := HTML(&buf, r, samples, facts); err != nil {
		t.Fatal(err)
	}
	golden(t, "window.html", buf.Bytes())
}
