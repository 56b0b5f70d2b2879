package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"linerate/internal/report/document"
)

// Every document is an object with a version, whatever is printed; an array has no room
// for one.
func TestEveryDocumentHasAVersion(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"runs", "study list", "study new", "study new dell-x520", "load list", "load frames --list", "lab topologies", "lab fault catalogue",
		"guide", "guide show dell-bp1057", "profile list", "profile show nfs-server", "profile diff nfs-server nfs-client", "setting tcp_rmem", "check --rules", "version",
		"size link --rate 10G", "published --like nfs",
	} {
		code, out, errs := runHere(append(strings.Fields(line), "--json")...)
		var doc struct{ V int }
		if err := json.Unmarshal([]byte(out), &doc); code != ExitOK || err != nil || doc.V < 1 {
			t.Errorf("%s --json: exit code %d, v %d, %v: %s%.100s", line, code, doc.V, err, errs, out)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{{struct{}{}, `{"v":1}`}, {map[string]int{"a": 2}, `{"v":1,"a":2}`}, {map[string]int{"v": 7}, `{"v":7}`}, {[]int{1}, ""}, {nil, ""}, {list("x", []int(nil)), `{"v":1,"x":[]}`}} {
		var out bytes.Buffer
		err := printJSON(&environment{out: document.NewScreen(&out)}, c.v)
		var flat bytes.Buffer
		if c.want != "" && (err != nil || json.Compact(&flat, out.Bytes()) != nil || !sameJSON(flat.String(), c.want)) || c.want == "" && (err == nil || out.Len() > 0) {
			t.Errorf("%v: %s, %v; want %s", c.v, out.String(), err, c.want)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y map[string]any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && len(x) == len(y) && x["v"] == y["v"]
}
