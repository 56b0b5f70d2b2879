package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

type renderCase struct {
	results *model.Results
	samples map[string]map[string][]model.Sample
	facts   map[string]*model.Facts
}

func cases() map[string]renderCase {
	r, samples, facts := windowRun()
	_, one, _ := windowRun()
	watched := passiveRun()
	bad := hostileRun()
	odd := map[string]map[string][]model.Sample{"diagnosis": {bad.Hosts[0]: {{}, {At: -time.Hour}, {At: 0, Conns: make([]model.Conn, 2)},
		{At: time.Second, Conns: make([]model.Conn, 3), CPUs: []model.CPUTime{{}}, Tasks: []model.Task{{Name: bad.Hosts[0]}}}}}}
	out := papers()
	maps.Copy(out, map[string]renderCase{
		"window":        {r, samples, facts},
		"passive":       {watched, map[string]map[string][]model.Sample{"watched": {"client1": one["diagnosis"]["server1"]}}, nil},
		"healthy":       {healthyRun(), nil, nil},
		"fix":           {fixRun(), samples, facts},
		"empty":         {&model.Results{}, nil, nil},
		"hostile":       {bad, odd, map[string]*model.Facts{bad.Hosts[0]: {NICs: []model.NIC{{Name: bad.Hosts[0]}}}, "nil": nil}},
		"no samples":    {windowResults(), map[string]map[string][]model.Sample{}, facts},
		"single sample": {windowResults(), map[string]map[string][]model.Sample{"diagnosis": {"client1": samples["diagnosis"]["client1"][:1]}}, facts},
	})
	return out
}

func render(t *testing.T, c renderCase) string {
	t.Helper()
	var buf bytes.Buffer
	if err := HTML(&buf, c.results, c.samples, c.facts); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestHTMLGolden(t *testing.T) {
	for _, name := range []string{"window", "passive", "empty"} {
		same(t, name+".html", []byte(render(t, cases()[name])))
	}
}

// TestPageFetchesNothing looks for every way a page has to reach out.
func TestPageFetchesNothing(t *testing.T) {
	reach := regexp.MustCompile(`(?i)https?:|//[a-z0-9]+\.|\burl\(|@import|<link|<script|<iframe|<img|<base`)
	attr := regexp.MustCompile(`(?i)<[a-z][^>]*\s(src|href|srcset|action|on[a-z]+|style)\s*=`)
	for name, c := range cases() {
		page := render(t, c)
		if hit := reach.FindString(page); hit != "" {
			t.Errorf("%s: %q", name, hit)
		}
		if hit := attr.FindString(page); hit != "" {
			t.Errorf("%s: %q", name, hit)
		}
	}
}

func TestPageNeverShowsWhatIsNoNumber(t *testing.T) {
	for name, c := range cases() {
		page := render(t, c)
		for _, bad := range []string{"NaN", "+Inf", "-Inf", "Inf ", "<nil>", "%!", "ZgotmplZ", "\x1b", "\x00", "0001-01-01"} {
			if i := strings.Index(page, bad); i >= 0 {
				t.Errorf("%s: %q in …%s…", name, bad, page[max(0, i-80):min(len(page), i+40)])
			}
		}
	}
}

// TestPageIsWellFormed parses the body as XML: every element that opens
// closes, and no id is used twice.
func TestPageIsWellFormed(t *testing.T) {
	for name, c := range cases() {
		page := render(t, c)
		body := page[strings.Index(page, "<body>") : strings.Index(page, "</body>")+len("</body>")]
		d := xml.NewDecoder(strings.NewReader(body))
		d.Entity = xml.HTMLEntity
		ids := map[string]bool{}
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if e, ok := tok.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if a.Name.Local == "id" && ids[a.Value] {
						t.Errorf("%s: id %q twice", name, a.Value)
					}
					ids[a.Value] = ids[a.Value] || a.Name.Local == "id"
				}
			}
		}
	}
}

func TestEveryTableHasACaption(t *testing.T) {
	page := render(t, cases()["window"])
	if a, b := strings.Count(page, "<table>"), strings.Count(page, "<table><caption>"); a != b || a == 0 {
		t.Errorf("%d tables, %d captions", a, b)
	}
}

func TestPageSaysWhatAReaderNeeds(t *testing.T) {
	page := render(t, cases()["window"])
	for _, want := range []string{"13%", "Receiver window", "4096 131072 262144", "4096 131072 6291456", "7.60×", "p = 0.0078", "n = 8 pairs",
		"A/A check: 1.00×", "Scope: machine", "denied: read-only in a namespace", "unsupported: a virtual interface", "absent: not a PCI device",
		"linerate report 20261120-234501-demo-x7k2", "stopped: 230 Mbit/s of other traffic", "-5 s from the controller", "pair 8 treated",
		"told after the verdict", "Applied for the proof, then undone", "None: 0 of"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestAFixThatStandsIsSaid(t *testing.T) {
	r := windowResults()
	r.Restored = false
	if page := render(t, renderCase{results: r}); !strings.Contains(page, "NOT restored") {
		t.Error("the page hides that a change is still in place")
	}
}

func TestLongRunsAreThinned(t *testing.T) {
	r, samples, facts := windowRun()
	one := samples["diagnosis"]["client1"]
	var long []model.Sample
	for i := range 20_000 {
		s := one[i%len(one)]
		s.At = time.Duration(i) * 100 * time.Millisecond
		long = append(long, s)
	}
	samples["diagnosis"]["client1"] = long
	page := render(t, renderCase{r, samples, facts})
	if len(page) > 400_000 || !strings.Contains(page, fmt.Sprintf("mean of %d readings", 34)) {
		t.Errorf("%d bytes", len(page))
	}
}
