package storage

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzDecodeTask(f *testing.F) {
	f.Add([]byte(`{"v":1,"jobs":{"dir":"/tmp","jobs":[{"Name":"x"}]},"deadline_ns":1000000000}`))
	f.Add([]byte(`{"v":1,"frames":{"Dir":"/tmp"},"deadline_ns":1}`))
	f.Add([]byte(`{"v":1,"block":{"spec":{"Path":"../f"}},"deadline_ns":1}`))
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
