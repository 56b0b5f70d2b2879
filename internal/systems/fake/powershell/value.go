package powershell

import (
	"fmt"
	"strconv"
	"strings"
)

// Values are nil, bool, int64, float64, string, Char, []byte, []any, *Hash, *Thing, *block and Type.

// Char is one character.
type Char rune

// Type is the name of a type in brackets.
type Type string

// Hash is a dictionary that keeps its order.
type Hash struct {
	keys   []string
	values map[string]any
}

// Get is a value by its key, in any case of letters.
func (h *Hash) Get(key string) (any, bool) {
	v, ok := h.values[strings.ToLower(key)]
	return v, ok
}

// Set sets one.
func (h *Hash) Set(key string, v any) {
	low := strings.ToLower(key)
	if _, ok := h.values[low]; !ok {
		h.keys = append(h.keys, key)
	}
	if h.values == nil {
		h.values = map[string]any{}
	}
	h.values[low] = v
}

// Thing is an object of the host.
type Thing struct {
	Type string
	Hash
	Methods map[string]func(args []any) (any, error) // by their names in lower case
	Index   func(key any) any                        // of $thing[key]
	Text    string
}

// Object makes one of names and values.
func Object(typ string, pairs ...any) *Thing {
	t := &Thing{Type: typ, Methods: map[string]func([]any) (any, error){}}
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Set(pairs[i].(string), pairs[i+1])
	}
	return t
}

// Text is a value as a string.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case Char:
		return string(rune(v))
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, Text(e))
		}
		return strings.Join(all, " ")
	case *Thing:
		if v.Text != "" {
			return v.Text
		}
		return v.Type
	case *Hash:
		return "System.Collections.Hashtable"
	case Type:
		return string(v)
	}
	return fmt.Sprintf("%T", v)
}

// List is a value as a list.
func List(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// collapse is what a list of outputs is as a value.
func collapse(out []any) any {
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// emit adds a value to the output: lists are taken apart.
func emit(out *[]any, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		*out = append(*out, v...)
	default:
		*out = append(*out, v)
	}
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		if len(v) == 1 {
			return truth(v[0])
		}
		return len(v) > 0
	}
	return true
}

func number(v any) (int64, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case int64:
		return v, nil
	case float64:
		return int64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case Char:
		return int64(v), nil
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return 0, &Error{"cannot convert value \"" + v + "\" to type \"System.Int64\"", "System.InvalidCastException", "InvalidArgument", ""}
		}
		return n, nil
	}
	return 0, Errorf("cannot convert %T to a number", v)
}

func cast(c *context, typ string, v any) (any, error) {
	switch typ {
	case "string":
		return Text(v), nil
	case "int", "int32", "long", "int64", "uint64", "byte", "uint32":
		return number(v)
	case "bool":
		return truth(v), nil
	case "void":
		return nil, nil
	case "array", "object[]", "string[]":
		list := append([]any{}, List(v)...)
		if typ == "string[]" {
			for i := range list {
				list[i] = Text(list[i])
			}
		}
		return list, nil
	case "char":
		if n, ok := v.(int64); ok {
			return Char(n), nil
		}
		r := []rune(Text(v))
		if len(r) != 1 {
			return nil, &Error{"cannot convert to one character", "System.InvalidCastException", "InvalidArgument", ""}
		}
		return Char(r[0]), nil
	case "ordered", "scriptblock", "hashtable", "object", "switch":
		return v, nil
	case "pscustomobject":
		if h, ok := v.(*Hash); ok {
			t := Object("PSCustomObject")
			for _, k := range h.keys {
				e, _ := h.Get(k)
				t.Set(k, e)
			}
			return t, nil
		}
		return v, nil
	}
	if c.host.Cast == nil {
		return nil, Errorf("unable to find type [%s]", typ)
	}
	return c.host.Cast(typ, v)
}
