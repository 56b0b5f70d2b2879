package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"time"

	"linerate/internal/explain"
	"linerate/internal/host/delta"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// sizes are hosts of which it is measured what they send.
var sizes = []struct{ cores, conns, nics int }{{2, 1, 2}, {16, 4, 4}, {64, 16, 8}, {128, 100, 8}}

// sent prints what made-up samples of hosts weigh on their way: every counter there is of a sample
// grows by a random number each time, which is more than a host does.
func sent() error {
	fmt.Print("\nWhat a host sends, of made-up samples in which every counter grows by a random number:\n\n")
	fmt.Println("| cores, connections, interfaces | a sample as JSON | once a second | ten times a second |")
	fmt.Println("|---|---|---|---|")
	for _, s := range sizes {
		plain, slow, err := packed(s.cores, s.conns, s.nics, 1, 1)
		if err != nil {
			return err
		}
		_, fast, err := packed(s.cores, s.conns, s.nics, 10, 5)
		if err != nil {
			return err
		}
		fmt.Printf("| %d, %d, %d | %v | %v/s | %v/s |\n", s.cores, s.conns, s.nics, plain, slow, fast)
	}
	return nil
}

// packed is what so many samples a second weigh, in batches of some, after the first ten seconds.
func packed(cores, conns, nics, rate, batch int) (plain, each unit.Bytes, err error) {
	w := &delta.Writer{}
	rng := rand.New(rand.NewPCG(1, 1))
	s := grown(cores, conns, nics)
	const seconds, from = 60, 10
	var texts [][]byte
	for i := range seconds * rate {
		s.At += time.Second / time.Duration(rate)
		s.HostAt = time.Unix(1795000000, 0).Add(s.At + time.Duration(rng.IntN(1e6)))
		grow(rng, reflect.ValueOf(&s).Elem(), 1000/rate)
		b, err := json.Marshal(s)
		if err != nil {
			return 0, 0, err
		}
		plain = unit.Bytes(len(b))
		if texts = append(texts, b); len(texts) < batch {
			continue
		}
		made, err := w.Pack(texts, i < batch)
		if err != nil {
			return 0, 0, err
		}
		if texts = nil; i >= from*rate {
			each += unit.Bytes(len(made.Data))
		}
	}
	return plain, each / (seconds - from), nil
}

// grown is a sample with all that a host of that size counts.
func grown(cores, conns, nics int) (s model.Sample) {
	s.V = 1
	for i := range conns {
		s.Conns = append(s.Conns, model.Conn{Local: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(40000+i)), Remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 2}), 2049), Inode: uint32(i)})
	}
	s.CPUs, s.Softnet = make([]model.CPUTime, cores), make([]model.Softnet, cores)
	for i := range nics {
		s.NICs = append(s.NICs, model.NICCount{Name: fmt.Sprintf("eth%d", i)})
	}
	s.SNMP = map[string]int64{}
	for i, name := range explain.Counters() {
		s.SNMP[name] = int64(1000 * i)
	}
	return s
}

// grow adds to the counters of a value: a tenth of those of the protocols, as on a host that is busy, and
// all others.
func grow(rng *rand.Rand, v reflect.Value, most int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && v.Type() != reflect.TypeFor[time.Time]() {
				grow(rng, f, most)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			grow(rng, v.Index(i), most)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if rng.IntN(10) == 0 && v.Type().Elem().Kind() == reflect.Int64 {
				v.SetMapIndex(k, reflect.ValueOf(v.MapIndex(k).Int()+int64(rng.IntN(most))))
			}
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + int64(rng.IntN(most)))
	case reflect.Uint64:
		v.SetUint(v.Uint() + uint64(rng.IntN(most)))
	}
}
