package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestServeAnswers(t *testing.T) {
	type pair struct{ Key, Value string }
	in := strings.NewReader(`{"op":"add","args":{"key":"a","value":"b"}}` + "\n" + `{"op":"add","args":3}` + "\n" + `{"op":"what"}` + "\n")
	var out bytes.Buffer
	err := Serve(in, &out, map[string]Handler{"add": Op(func(a pair) (string, error) { return a.Key + a.Value, nil })})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"result":"ab"}` || !strings.Contains(lines[1], "decode arguments") || !strings.Contains(lines[2], `unknown operation \"what\"`) {
		t.Errorf("%q", lines)
	}
	if err := Serve(strings.NewReader("{"), &out, nil); err == nil {
		t.Error("half a request was no error")
	}
}

func TestWithEnv(t *testing.T) {
	got := WithEnv([]string{"A=1", "B=2", "AB=3"}, "A=4")
	if want := []string{"B=2", "AB=3", "A=4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
