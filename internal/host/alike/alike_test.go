package alike

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"linerate/internal/model"
)

// strictly decodes a text as a whole.
func strictly[T any](text []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return v, d.Decode(&v)
}

// follow hands texts to a reader as its users do, and compares what comes out. It returns how many
// of them were read quickly.
func follow[T any](t *testing.T, texts ...[]byte) (quick int) {
	t.Helper()
	var r Reader[T]
	type out struct {
		value T
		text  []byte // as it was written when it came out
	}
	var before []out
	for _, text := range texts {
		want, err := strictly[T](text)
		got, ok := r.Read(text)
		switch {
		case ok && err != nil:
			t.Fatalf("%s\nwas read, and is no text of the type: %v", text, err)
		case ok:
			quick++
		case err != nil:
			r.Forget()
			continue
		default:
			got = want
			r.Learn(text, want)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nwas read as %+v, want %+v", text, got, want)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, out{got, again})
	}
	for _, o := range before {
		if now, err := json.Marshal(o.value); err != nil || !bytes.Equal(now, o.text) {
			t.Fatalf("a value that came out as\n%s\nbecame\n%s\n%v", o.text, now, err)
		}
	}
	return quick
}

// grown is a sample of a host whose counters grow.
func grown(rng *rand.Rand, n, conns int) model.Sample {
	at := time.Date(2026, 11, 25, 21, 5, n%60, 123456700+rng.IntN(99), time.UTC)
	s := model.Sample{V: 1, At: time.Duration(n) * time.Second, HostAt: at, Throttled: model.Known(time.Duration(n)),
		SNMP:   map[string]int64{"Tcp.RetransSegs": int64(n / 3), "Ip6.InOctets": rng.Int64(), "TcpExt.Minus": -rng.Int64N(9) - 1},
		NFS:    &model.NFSCount{Mount: "/mnt/7", Ops: map[string]model.NFSOp{"READ": {Ops: int64(n)}, "WRITE": {RTT: time.Duration(rng.Int64())}}},
		Tasks:  []model.Task{{PID: 7, Name: "copy 4", CPU: time.Duration(n), Conns: []uint32{7, uint32(n)}}},
		Server: &model.ServerCount{Blocked: rng.Int64N(9), Disk: &model.DiskCount{Name: "sda1", Read: model.RequestOp{Ops: int64(n)}}}}
	for i := range 4 {
		s.CPUs = append(s.CPUs, model.CPUTime{CPU: i, User: time.Duration(n * i), Idle: 12 * time.Hour})
		s.NICs = append(s.NICs, model.NICCount{Name: fmt.Sprintf("eth%d", i), RxBytes: int64(n) << 30, Pause: &model.PauseCount{Rx: int64(n / 5)}})
	}
	for i := range conns {
		s.Conns = append(s.Conns, model.Conn{Local: netip.MustParseAddrPort("10.0.0.1:2049"), Remote: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), uint16(700+i)),
			State: 1, CC: "bbr2", BytesAcked: rng.Int64(), Cwnd: 10 + n%3, AppLimited: true})
	}
	return s
}

// What is read quickly is what encoding/json says, and what came out before stays as it was.
func TestSamplesAreReadAsTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var texts [][]byte
	for n := range 300 {
		text, err := json.Marshal(grown(rng, n, n/40%3)) // connections come and go
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if quick := follow[model.Sample](t, texts...); quick < 250 {
		t.Errorf("%d of %d were read quickly", quick, len(texts))
	}
}

// inner and odd have what JSON and Go can do that samples do not do now.
type inner struct {
	N    int8             `json:"n"`
	Deep map[string]inner `json:"deep,omitempty"`
}

type odd struct {
	A    *int64             `json:"a,omitempty"`
	B    []*inner           `json:"b,omitempty"`
	C    map[string]float32 `json:"c,omitempty"`
	D    any                `json:"d,omitempty"`
	E    [2]int             `json:"e"`
	F    []byte             `json:"f,omitempty"`
	G    string             `json:"g"`
	H    uint16             `json:"h"`
	I    [][]float64        `json:"i,omitempty"`
	J    inner              `json:"j"`
	K9   map[string]uint    `json:"k9,omitempty"`
	Num  json.Number        `json:"num,omitempty"`
	Skip int                `json:"-"`
}

func TestWhatDiffersIsReadOrRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		quick int
	}{
		{"numbers of all kinds", []string{`{"a":1,"b":[{"n":1},{"n":-2}],"c":{"x":1,"y":2},"e":[1,2],"h":1,"i":[[1,2],[3]],"j":{"n":1},"k9":{"z":1}}`,
			`{"a":2,"b":[{"n":2},{"n":-1}],"c":{"x":1,"y":16777217},"e":[1,3],"h":7,"i":[[1,2],[4]],"j":{"n":2},"k9":{"z":2}}`,
			`{"a":3,"b":[{"n":2},{"n":-1}],"c":{"x":3,"y":2},"e":[4,3],"h":7,"i":[[0,2],[4]],"j":{"n":3},"k9":{"z":3}}`}, 1},
		{"a part within a part of a map", []string{`{"j":{"n":1,"deep":{"x":{"n":1}}}}`, `{"j":{"n":1,"deep":{"x":{"n":2}}}}`, `{"j":{"n":1,"deep":{"x":{"n":3}}}}`}, 1},
		{"texts and bytes", []string{`{"g":"a1","f":"AAA1","d":{"x":1},"num":5}`, `{"g":"a2","f":"AAA2","d":{"x":2},"num":6}`, `{"g":"a\u00e9 3","f":"AAA3","d":{"x":3},"num":7}`, `{"g":"a3","f":"AAA3","d":{"x":3},"num":7}`}, 0},
		{"texts and bytes, alike", []string{`{"g":"a1","f":"AAA1","d":{"x":1},"num":5}`, `{"g":"a2","f":"AAA2","d":{"x":2},"num":6}`, `{"g":"a4","f":"AAA3","d":{"x":3},"num":7}`}, 1},
		{"escapes with other digits", []string{`{"g":"\u0041"}`, `{"g":"\u0042"}`, `{"g":"\u0043"}`, `{"g":"\u43"}`, `{"g":"\u00431"}`}, 1},
		{"fractions and powers", []string{`{"i":[[1.5e3]]}`, `{"i":[[2.5e3]]}`, `{"i":[[2.25e1]]}`, `{"i":[[02.25e1]]}`}, 1},
		{"a number that does not fit", []string{`{"j":{"n":1}}`, `{"j":{"n":2}}`, `{"j":{"n":127}}`, `{"j":{"n":128}}`, `{"j":{"n":3}}`, `{"j":{"n":4}}`, `{"j":{"n":5}}`}, 2},
		{"a number that is none", []string{`{"h":1}`, `{"h":2}`, `{"h":0}`, `{"h":01}`}, 1},
		{"a negative number of a kind without", []string{`{"h":1}`, `{"h":2}`, `{"h":-2}`}, 0},
		{"another name", []string{`{"k9":{"z1":1}}`, `{"k9":{"z1":2}}`, `{"k9":{"z1":3}}`, `{"k9":{"z2":3}}`, `{"k9":{"z2":4}}`}, 2},
		{"a field that is none", []string{`{"k9":{"z":1}}`, `{"k9":{"z":2}}`, `{"k8":{"z":2}}`}, 0},
		{"a name twice", []string{`{"h":1,"h":2}`, `{"h":2,"h":3}`, `{"h":3,"h":4}`}, 0},
		{"a key twice", []string{`{"k9":{"z":1,"z":2}}`, `{"k9":{"z":1,"z":3}}`, `{"k9":{"z":1,"z":4}}`}, 0},
		{"a name in capitals", []string{`{"H":1}`, `{"H":2}`, `{"H":3}`}, 0},
		{"something after the value", []string{`{"h":1} 2`, `{"h":2} 2`, `{"h":3} 2`}, 0},
		{"spaces", []string{` { "h" : 1 , "i" : [ [ 1 , 2 ] , [ ] ] } `, ` { "h" : 2 , "i" : [ [ 1 , 2 ] , [ ] ] } `, ` { "h" : 3 , "i" : [ [ 1 , 3 ] , [ ] ] } `}, 1},
		{"nothing", []string{`{"a":null,"b":null,"h":1}`, `{"a":null,"b":null,"h":2}`, `{"a":null,"b":null,"h":3}`, `{"a":null,"b":[null],"h":3}`}, 1},
		{"one list more", []string{`{"i":[[1]]}`, `{"i":[[2]]}`, `{"i":[[3]]}`, `{"i":[[3],[4]]}`, `{"i":[[3],[5]]}`, `{"i":[[3],[6]]}`}, 2},
		{"texts that are cut off", []string{`{"h":1}`, `{"h":2}`, `{"h":3`, `{"h":`, `{`, ``}, 0},
	} {
		var texts [][]byte
		for _, x := range c.texts {
			texts = append(texts, []byte(x))
		}
		if quick := follow[odd](t, texts...); quick != c.quick {
			t.Errorf("%s: %d were read quickly, want %d", c.name, quick, c.quick)
		}
	}
}

// A text that is too long, or has too many numbers, is decoded as a whole.
func TestWhatIsKeptIsBounded(t *testing.T) {
	for _, c := range []struct {
		n, digits, quick int
	}{{maxTokens, 1, 1}, {maxTokens + 1, 1, 0}, {5000, 18, 1}, {5000, 20, 0}} {
		var texts [][]byte
		for i := range 3 {
			list := bytes.Repeat(append(bytes.Repeat([]byte("1"), c.digits), ','), c.n-1)
			texts = append(texts, fmt.Appendf(nil, `{"i":[[%s%d]]}`, list, i))
		}
		if quick := follow[odd](t, texts...); quick != c.quick {
			t.Errorf("%d numbers of %d digits: %d were read quickly", c.n, c.digits, quick)
		}
	}
}

// FuzzReader: no text comes out as something else than encoding/json makes of it.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"n":1}],"c":{"x":1},"g":"\u0041","i":[[1.5]]}`), []byte(`{"a":2,"b":[{"n":300}],"c":{"x":01},"g":"\u0042","i":[[2.5]]}`))
	f.Add([]byte(`{"h":1,"j":{"n":1,"deep":{"x":{"n":1}}},"k9":{"z1":1},"d":[1,{"x":2}]}`), []byte(`{"h":-1,"j":{"n":1,"deep":{"x":{"n":2}}},"k9":{"z2":1},"d":[1,{"x":3}]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) { follow[odd](t, a, a, b, a, b, b, a) })
}
