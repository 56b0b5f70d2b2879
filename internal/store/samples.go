package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/model"
)

// Bounds on decoding one samples file: a few kilobytes of zstd can expand to any amount of JSON,
// and three bytes of JSON to half a kilobyte of Conn.
const (
	maxLine    = 2 << 20   // one sample as JSON
	maxDecoded = 512 << 20 // one bundle as JSON
	maxMemory  = 512 << 20 // one bundle as Samples
	maxWindow  = 16 << 20  // zstd window
)

// budget is the remaining memory for a bundle's samples, in bytes.
type budget struct{ decoded, memory int64 }

// line is one line of samples/<host>.jsonl.zst.
type line struct {
	Run    string       `json:"run"`
	Sample model.Sample `json:"sample"`
}

// Samples writes the samples of all runs, one samples/<host>.jsonl.zst per
// host that has any, in the order of the runs. It is called once.
func (w *Writer) Samples(runs []model.Run) error {
	var hosts []string
	for _, r := range runs {
		for h := range r.Samples {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	for _, h := range slices.Compact(hosts) {
		fill := func(out io.Writer) error { return encodeSamples(out, runs, h) }
		if err := w.file(samplesDir+hostName(h)+samplesExt, h, fill); err != nil {
			return err
		}
	}
	return nil
}

func encodeSamples(out io.Writer, runs []model.Run, host string) error {
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
	if err != nil {
		return fmt.Errorf("compress samples: %w", err)
	}
	for _, r := range runs {
		for _, s := range r.Samples[host] {
			if err := encodeLine(z, line{Run: r.Label, Sample: s}); err != nil {
				return errors.Join(err, z.Close())
			}
		}
	}
	return z.Close()
}

func encodeLine(out io.Writer, l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode sample of run %q: %w", l.Run, err)
	}
	if len(b) >= maxLine {
		return fmt.Errorf("encode sample of run %q: it takes %d bytes, more than the %d a bundle holds", l.Run, len(b), maxLine)
	}
	_, err = out.Write(append(b, '\n'))
	return err
}

// decodeSamples reads a samples file and passes each line to each. It fails at the first line
// that is not a sample of a known version, and beyond any bound.
func decodeSamples(in io.Reader, left *budget, each func(run string, s model.Sample)) error {
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer z.Close()
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, maxLine)
	for n := 1; sc.Scan(); n++ {
		l, err := decodeLine(sc.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		left.decoded -= int64(len(sc.Bytes()))
		left.memory -= footprint(&l.Sample)
		if left.decoded < 0 || left.memory < 0 {
			return fmt.Errorf("line %d: %w: the bundle decompresses to more samples than the %d MiB allowed", n, ErrDamaged, maxMemory>>20)
		}
		each(l.Run, l.Sample)
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

func decodeLine(b []byte) (line, error) {
	var head struct {
		Sample struct {
			V int `json:"v"`
		} `json:"sample"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return line{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := knownVersion("sample", head.Sample.V, model.SampleVersion); err != nil {
		return line{}, err
	}
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return line{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return l, nil
}

// knownVersion refuses versions without a decoder. A new version gets its own decoder beside the
// old one's, chosen where this function is called.
func knownVersion(part string, have, known int) error {
	switch {
	case have > known:
		return newer(part, have, known)
	case have < 1:
		return fmt.Errorf("decode %s: %w: version %d was never written", part, ErrDamaged, have)
	}
	return nil
}

// footprint is roughly the memory of a decoded sample, in bytes.
func footprint(s *model.Sample) int64 {
	n := sizeOf[model.Sample]() + 64*len(s.SNMP)
	n += len(s.Conns)*sizeOf[model.Conn]() + len(s.CPUs)*sizeOf[model.CPUTime]()
	n += len(s.NICs)*sizeOf[model.NICCount]() + len(s.Qdiscs)*sizeOf[model.QdiscCount]()
	n += len(s.Softnet)*sizeOf[model.Softnet]() + len(s.Tasks)*sizeOf[model.Task]()
	if s.Pressure != nil {
		n += sizeOf[model.Pressure]()
	}
	if s.NFS != nil {
		n += len(s.NFS.Ops) * sizeOf[model.NFSOp]()
	}
	return int64(n)
}

// sizeOf is the memory of one T, without what it points to, in bytes.
func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }
