package move

import (
	"encoding/json"
	"testing"
)

// Whatever bytes a path has, they are the same on the other side of JSON.
func TestJSONKeepsEveryByteOfAPath(t *testing.T) {
	for _, s := range []string{"", "plain/ü", "new\nline", "in\xff\xfevalid", "\ufffd", `{"base64":"eA=="}`, "\x00\xed\xa0\x80"} {
		b, err := json.Marshal(map[string][]Raw{"x": {Raw(s)}})
		var got map[string][]Raw
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil || len(got["x"]) != 1 || string(got["x"][0]) != s {
			t.Errorf("%q: %s, %q, %v", s, b, got, err)
		}
	}
	for _, bad := range []string{`null`, `{}`, `7`, `[]`, `{"base64":"?"}`} {
		var r Raw
		if err := json.Unmarshal([]byte(bad), &r); err == nil && bad != "null" {
			t.Errorf("%s is read as %q", bad, r)
		}
	}
}
