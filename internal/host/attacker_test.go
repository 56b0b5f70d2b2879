package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
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
			b, err := json.Marshal(Hello{Protocol: Protocol, Build: "test"})
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

func push(w io.Writer, id int, sample string) {
	fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"sample","params":{"id":%d,"n":1,"sample":%s}}`+"\n", id, sample)
}

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
			push(w, n, sample)
		}
		answer(w, id, "[]")
	case attack == "flood" && method == methodSample.name:
		answer(w, id, `{"id":7}`)
		for range 60 {
			push(w, 7, sample)
		}
	case method == methodSampleStop.name:
		answer(w, id, `{"count":60}`)
	default:
		answer(w, id, "[]")
	}
}
