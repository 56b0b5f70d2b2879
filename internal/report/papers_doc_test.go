package report

import (
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// sectionsOf are the sections of a page by their titles, without markup.
func sectionsOf(page string) map[string]string {
	out := map[string]string{}
	parts := strings.Split(page, "<h2>")
	for _, p := range parts[1:] {
		title, rest, _ := strings.Cut(p, "</h2>")
		out[html.UnescapeString(title)] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(rest, ""))
	}
	return out
}

// Each line of the list "If you know the papers" leads to a section of the pages,
// and there to the words that it names: in a figure's or a table's caption, or a row.
func TestPapersAreFoundInTheReport(t *testing.T) {
	raw, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(raw), "### If you know the papers")
	list, _, end := strings.Cut(list, "\n## ")
	if !ok || !end {
		t.Fatal("docs/report.md has no such list")
	}
	var pages []map[string]string
	for _, name := range []string{"study", "study-paper", "study-clients", "study-windows", "study-frames"} {
		pages = append(pages, sectionsOf(render(t, papers()[name])))
	}
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+): ("[^|]+") \|$`)
	rows := row.FindAllStringSubmatch(list, -1)
	if n := strings.Count(list, "\n| ") - 1; len(rows) != n || n < 20 {
		t.Fatalf("%d of %d lines say where", len(rows), n)
	}
	quoted := regexp.MustCompile(`"([^"]+)"`)
	for _, r := range rows {
		for _, words := range quoted.FindAllStringSubmatch(r[3], -1) {
			found := false
			for _, p := range pages {
				found = found || strings.Contains(p[r[2]], words[1])
			}
			if !found {
				t.Errorf("%s: no page has %q in its section %q", r[1], words[1], r[2])
			}
		}
	}
	// Every numbered table and figure of Dell's paper is somewhere in the list.
	for _, want := range []string{"figures 1 and 2", "figure 3", "figure 4", "figures 5 to 7 and 11 to 13", "figures 8 to 10", "figures 14 to 22",
		"tables 1 and 4", "tables 2, 3 and 5", "tables 6 to 9", "tables 10 to 13", "appendix A", "appendix B", "appendix C"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %s", want)
		}
	}
}
