package file

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestTemplates(t *testing.T) {
	c := readCatalogue()
	var names []string
	for _, x := range Templates() {
		names = append(names, x.Name)
		f, err := parse(x.Name+".yaml", []byte(x.Text), c)
		if err != nil {
			t.Error(err)
			continue
		}
		if f.Name != x.Name || x.Question == "" || x.Question != f.Question || x.Source != f.Source {
			t.Errorf("%s: %+v, the file has %q, %q, %q", x.Name, x.Question, f.Name, f.Question, f.Source)
		}
		if !strings.HasPrefix(x.Text, "# ") {
			t.Errorf("%s does not begin by saying what it is for", x.Name)
		}
	}
	want := []string{"atto-adapter-mode", "cit-wan", "dell-x520", "nappit-jumbo-and-protocol", "sfc-scaling",
		"congestion-control", "does-encryption-cost", "how-large-buffers", "how-many-streams", "is-it-noise", "jumbo-or-not", "which-settings-pay"}
	if !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	if _, err := FindTemplate("dell-x521"); err == nil || !strings.Contains(err.Error(), "dell-x520") {
		t.Errorf("%v", err)
	}
}

// The schema has the keys that the parser takes, no more and no fewer.
func TestSchemaIsTheParsers(t *testing.T) {
	var s struct {
		Properties map[string]any
		Defs       map[string]struct {
			Properties map[string]struct {
				Properties map[string]any
				Enum       []string
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	same := func(what string, schema []string, parser []string) {
		t.Helper()
		slices.Sort(schema)
		parser = slices.Sorted(slices.Values(parser))
		if !slices.Equal(schema, parser) {
			t.Errorf("%s: the schema has %v, the parser %v", what, schema, parser)
		}
	}
	same("file", slices.Collect(maps.Keys(s.Properties)), fileKeys())
	for name, keys := range map[string][]string{"factor": factorKeys(), "level": levelKeys(), "range": rangeKeys(), "workload": workloadKeys(), "protocol": protocolKeys()} {
		same(name, slices.Collect(maps.Keys(s.Defs[name].Properties)), keys)
	}
	level := s.Defs["level"].Properties
	same("verify", slices.Collect(maps.Keys(level["verify"].Properties)), verifyKeys())
	same("workload of a level", slices.Collect(maps.Keys(level["workload"].Properties)), changeKeys())
	same("design", s.Defs["protocol"].Properties["design"].Enum, Designs())
}

// Every field of the values that a file is read into has its key in the file.
func TestKeysAreTheFields(t *testing.T) {
	renamed := map[string]string{"budget_ns": "budget", "duration_ns": "seconds", "warmup_ns": "warmup", "rate_bps": "rate"}
	for _, c := range []struct {
		of   any
		keys []string
	}{
		{model.StudyFile{}, fileKeys()}, {model.StudyFactor{}, factorKeys()}, {model.StudyLevel{}, levelKeys()}, {model.StudyVerify{}, verifyKeys()},
		{model.StudyWorkload{}, workloadKeys()}, {model.StudyProtocol{}, protocolKeys()},
	} {
		var fields []string
		for i := range reflect.TypeOf(c.of).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(c.of).Field(i).Tag.Get("json"), ",")
			if name == "mix" {
				continue // written as block, with percentages
			}
			if r, ok := renamed[name]; ok {
				name = r
			}
			if name == "levels" {
				fields = append(fields, "range") // which makes them
			}
			if name != "left_out" { // what the plan makes of the file, not the file's
				fields = append(fields, name)
			}
		}
		slices.Sort(fields)
		if keys := slices.Sorted(slices.Values(c.keys)); !slices.Equal(fields, keys) {
			t.Errorf("%T has %v, a study file %v", c.of, fields, keys)
		}
	}
}
