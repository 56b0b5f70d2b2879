package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"linerate/internal/host/delta"
	"linerate/internal/lab/labtest"
)

// attacker is an agent that introduces itself as any other and then attacks. It answers the
// call that it was given for, so that its controller goes on.
func attacker(in io.Reader, out io.Writer, attack string) error {
	w := bufio.NewWriterSize(out, 1<<20)
	calls := bufio.NewScanner(in)
	held := 0 // a call that is answered when the next one comes
	for calls.Scan() {
		var call struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(calls.Bytes(), &call); err != nil {
			return err
		}
		if attack == slowChange && call.Method == methodApply.name {
			held = call.ID
			fmt.Fprintln(os.Stderr, "at work")
			continue
		}
		if held > 0 {
			answer(w, held, `{"Plan":"p","Entries":null,"Changes":null,"Deadline":"0001-01-01T00:00:00Z","Notes":null}`)
			held = 0
		}
		if call.Method == methodHello.name {
			h := Hello{Protocol: Protocol, Build: "test"}
			if attack == otherVersion {
				h = Hello{Protocol: Protocol - 1, Build: "older"}
			}
			b, err := json.Marshal(h)
			if err != nil {
				return err
			}
			answer(w, call.ID, string(b))
		} else {
			attackNow(w, attack, call.ID, call.Method)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return calls.Err()
}

func answer(w io.Writer, id int, result string) {
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, result)
}

// push sends sample n of a sampling, as a stream of its own.
func push(w io.Writer, id, n int, sample string) {
	pack := &delta.Writer{}
	b, err := pack.Pack([][]byte{[]byte(sample)}, true)
	if err != nil {
		panic(err)
	}
	pushBatch(w, batchPush{ID: id, N: n, Count: 1, Fresh: true, Bytes: b.Bytes, Data: b.Data})
}

func pushBatch(w io.Writer, b batchPush) {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"samples","params":%s}`+"\n", text)
}

// bomb is a batch whose first text is of bytes that repeat, and all others are that text again.
func bomb(n int) batchPush {
	text := []byte(`{"v":1,"snmp":{"x":` + strings.Repeat(" ", delta.MaxText/2) + "1}}")
	b, err := (&delta.Writer{}).Pack(slices.Repeat([][]byte{text}, 3), true)
	if err != nil {
		panic(err)
	}
	b.Data[4] = 120 // texts
	return batchPush{ID: 7, N: n, Count: 1 << 30, Fresh: true, Bytes: b.Bytes, Data: b.Data}
}

// otherVersion is an agent of another build, that means no harm.
const otherVersion = "other-version"

// slowChange is an agent that answers a change of its host when the next call comes.
const slowChange = "slow-change"

// list is as many elements as fit into so many bytes.
func list(elem string, size int) string {
	return "[" + strings.Repeat(elem+",", size/(len(elem)+1)) + elem + "]"
}

func attackNow(w io.Writer, attack string, id int, method string) {
	const below = maxAnswer - 1<<10
	sample := `{"v":1,"conns":` + list("{}", 8<<10) + `}`
	switch {
	case attack == "long-line":
		answer(w, id, list("{}", 15<<20))
	case attack == "elements":
		answer(w, id, list("{}", below))
	case attack == "nulls":
		answer(w, id, list("null", below))
	case attack == "numbers-for-objects":
		answer(w, id, list("0", below))
	case attack == "deep":
		answer(w, id, strings.Repeat("[", below))
	case attack == "deep-objects":
		answer(w, id, strings.Repeat(`{"a":`, below/5))
	case attack == "batch":
		fmt.Fprintln(w, list("{}", below))
	case attack == "members":
		fmt.Fprintln(w, `{"jsonrpc":"2.0",`+strings.Repeat(`"a":1,`, below/6)+`"id":1}`)
	case attack == "endless":
		for range 64 << 4 {
			fmt.Fprint(w, strings.Repeat("x", 64<<10))
		}
	case attack == "stray-answers":
		big := `"` + strings.Repeat("x", below) + `"`
		for n := range 30 {
			answer(w, id+1000+n, big)
		}
		answer(w, id, "[]")
	case attack == "strays":
		for n := range 400 {
			push(w, n, 0, sample)
		}
		answer(w, id, "[]")
	case attack == "flood" && method == methodSample.name:
		answer(w, id, `{"id":7}`)
		for n := range 60 {
			push(w, 7, n, sample)
		}
	case attack == "bombs" && method == methodSample.name:
		answer(w, id, `{"id":7}`)
		for n := range 60 / labtest.Every(6) {
			pushBatch(w, bomb(n))
			pushBatch(w, batchPush{ID: 7, N: n, Count: 1, Fresh: true, Bytes: 1 << 40, Data: []byte("x")})
			pushBatch(w, batchPush{ID: 7, N: n, Count: 1, Bytes: 1})
		}
	case method == methodSampleStop.name:
		answer(w, id, `{"count":60}`)
	default:
		answer(w, id, "[]")
	}
}
