package worker

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func FuzzDecodeTask(f *testing.F) {
	f.Add([]byte(`{"v":2,"load":{"role":"sink","bind":"127.0.0.1","token":"` + strings.Repeat("ab", 32) + `","streams":1,"duration":1000,"warmup":0},"deadline_ns":1000}`))
	f.Add([]byte(`{"v":2,"load":{"role":"read","read":{"dir":"/tmp","cache":"direct"},"duration":1000},"deadline_ns":1000}`))
	f.Add([]byte(`{"v":2,"jobs":{"dir":"/tmp","jobs":[{"Name":"x"}]},"deadline_ns":1000000000}`))
	f.Add([]byte(`{"v":2,"frames":{"Dir":"/tmp"},"deadline_ns":1}`))
	f.Add([]byte(`{"v":2,"block":{"spec":{"Path":"../f"}},"deadline_ns":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		task, err := DecodeTask(b)
		if err != nil {
			return
		}
		line, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeTask(line)
		if err != nil {
			t.Fatalf("%s is taken, and what it is written as is not: %v", b, err)
		}
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(line, second) {
			t.Errorf("%s is read as %s", line, second)
		}
	})
}

func TestDecodeTaskRefuses(t *testing.T) {
	good := `{"v":2,"load":{"role":"sink","bind":"127.0.0.1","token":"` + strings.Repeat("ab", 32) + `","streams":1,"duration":1000,"warmup":0},"deadline_ns":1000`
	if _, err := DecodeTask([]byte(good + "}")); err != nil {
		t.Fatal(err)
	}
	with := func(field string) string { return strings.Replace(good, `"warmup":0`, `"warmup":0,`+field, 1) + "}" }
	for name, line := range map[string]string{
		"unknown field":   good + `,"shell":"x"}`,
		"one in the load": with(`"shell":"x"`),
		"trailing data":   good + `} {}`,
		"another version": strings.Replace(good, `"v":2`, `"v":1`, 1) + "}",
		"nothing to do":   `{"v":2,"deadline_ns":1000}`,
		"two things":      good + `,"jobs":{"dir":"/","jobs":[{"Name":"x"}]}}`,
		"memory":          good + `,"memory_bytes":100000000}`,
		"no role":         strings.Replace(good, "sink", "both", 1) + "}",
		"any address":     strings.Replace(good, "127.0.0.1", "0.0.0.0", 1) + "}",
		"short token":     strings.Replace(good, "abab", "ab", 1) + "}",
		"zero token":      strings.Replace(good, strings.Repeat("ab", 32), strings.Repeat("00", 32), 1) + "}",
		"no streams":      strings.Replace(good, `"streams":1`, `"streams":0`, 1) + "}",
		"many streams":    strings.Replace(good, `"streams":1`, `"streams":1000`, 1) + "}",
		"long warm-up":    strings.Replace(good, `"warmup":0`, `"warmup":1000`, 1) + "}",
		"no deadline":     strings.Replace(good, `"deadline_ns":1000`, `"deadline_ns":0`, 1) + "}",
		"negative rate":   with(`"rate_bps":-1`),
		"cap too low":     with(`"max_conns":-1`),
		"source, no peer": strings.Replace(good, "sink", "source", 1) + "}",
	} {
		if s, err := DecodeTask([]byte(line)); err == nil {
			t.Errorf("%s: accepted as %+v", name, s)
		} else if strings.Contains(err.Error(), "abab") {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}
