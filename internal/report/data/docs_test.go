package data

import (
	"os"
	"strings"
	"testing"

	"linerate/internal/model"
)

// TestEveryTableIsDocumented compares docs/report.md with the tables there are.
func TestEveryTableIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*model.Results{{}, {Study: &model.Study{}}, {Load: &model.Load{}}} {
		for _, table := range Tables(r) {
			if !strings.Contains(string(page), "`"+table.Name+"`") {
				t.Errorf("docs/report.md does not have table %s", table.Name)
			}
		}
	}
}
