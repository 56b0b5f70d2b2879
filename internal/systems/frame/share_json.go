package frame

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	computer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"CSName":"([^"]+)"`) })
	guids    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}`)
	})
	quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(\\.|[^"\\])*":?`) })
	burnt  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`("PermanentAddress":")([0-9A-Fa-f:-]+)(")`) })
)

// ShareWindows is Share for an answer of Windows, whose frames are JSON: the name of the computer,
// the GUIDs and hardware addresses of its adapters and public addresses become others of the same
// form, and of a failure its type alone stays, since Windows may name people in the rest. Names of
// adapters and of the computer's templates stay, and so do the GUIDs of power plans, which are the
// same everywhere.
func ShareWindows(answer []byte) ([]byte, error) {
	frames, err := Parse(answer)
	if err != nil {
		return nil, err
	}
	h := hiding{map[string]string{}}
	host := ""
	if m := computer().FindStringSubmatch(frames["os"].Text); m != nil {
		host = m[1]
	}
	var out strings.Builder
	out.WriteString(first + "\n")
	n := 0
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		if name == "smbconnections" {
			continue // it names other machines
		}
		f := frames[name]
		n++
		text := f.Text
		if f.Code != 0 {
			text, _, _ = strings.Cut(text, ": ")
		}
		if host != "" {
			text = unnamed(text, host)
		}
		text = burnt().ReplaceAllStringFunc(text, func(s string) string {
			m := burnt().FindStringSubmatch(s)
			return m[1] + h.as("0200%08d", m[2]) + m[3]
		})
		if name != "power" {
			text = guids().ReplaceAllStringFunc(text, func(s string) string {
				return h.as("{00000000-0000-0000-0000-%012d}", strings.ToLower(s))
			})
		}
		if name == "addresses" { // versions look alike
			text = addresses().ReplaceAllStringFunc(text, h.address)
		}
		fmt.Fprintf(&out, "begin %s %d %d\n%s\n", name, f.Code, len(text), text)
	}
	fmt.Fprintf(&out, "%s%d\n", last, n)
	return []byte(out.String()), nil
}

// unnamed replaces a computer's name in the values of JSON, and leaves their names as they are.
func unnamed(text, host string) string {
	name := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(host) + `\b`)
	return quoted().ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasSuffix(s, ":") {
			return s
		}
		return name.ReplaceAllString(s, "host")
	})
}
