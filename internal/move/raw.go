package move

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Raw is a path, or another text of any bytes, that is kept by JSON: text that is no valid
// UTF-8, in which JSON would replace what is not, becomes {"base64": "…"}.
type Raw string

type rawBytes struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (r Raw) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(r)) {
		return json.Marshal(string(r))
	}
	return json.Marshal(rawBytes{[]byte(r)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Raw) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*r = Raw(s)
		return nil
	}
	var x *rawBytes
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	if x == nil || x.Base64 == nil {
		return errors.New("neither a string nor bytes")
	}
	*r = Raw(x.Base64)
	return nil
}

// Raws are texts as Raw.
func Raws(in []string) (out []Raw) {
	for _, s := range in {
		out = append(out, Raw(s))
	}
	return out
}

// Strings are they again.
func Strings(in []Raw) (out []string) {
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}
