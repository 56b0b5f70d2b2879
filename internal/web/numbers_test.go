package web

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every column of numbers that the page has is explained in docs/watch.md, by the same word.
func TestEveryNumberOfThePageIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(page), "\n## Every number\n")
	if !ok {
		t.Fatal("docs/watch.md does not explain the numbers")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var explained []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(part, -1) {
		explained = append(explained, strings.Split(row[1], ", ")...)
	}
	names := []string{"connection", "interface", "request", "time", "rung", ""} // no numbers
	heads := 0
	for _, file := range []string{"live.js", "timeline.js", "ladder.js"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, head := range regexp.MustCompile(`(?:table\(|\.\.\.)\[("[^\]]*)\]`).FindAllStringSubmatch(string(b), -1) {
			heads++
			for _, word := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(head[1], -1) {
				if !slices.Contains(names, word[1]) && !slices.Contains(explained, word[1]) {
					t.Errorf("%s has %q, which docs/watch.md does not explain", file, word[1])
				}
			}
		}
	}
	if heads != 6 {
		t.Errorf("the page has %d tables, want 6", heads)
	}
}
