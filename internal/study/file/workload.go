package file

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/conf"
	"linerate/internal/load"
	"linerate/internal/load/frames"
	"linerate/internal/load/shape"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Kinds of workloads.
const (
	TCP   = "tcp"
	Block = "block"
	Read  = "read"
	// Frames records or plays streams of video.
	Frames = "frames"
	// Copy copies a tree from one host to another.
	Copy = "copy"
)

// Bounds of a workload. No storage traffic has requests above 64 MiB or a queue deeper than
// 1024.
const (
	maxRun     = time.Hour
	maxBuffer  = unit.GiB
	maxRequest = 64 * unit.MiB
	maxDepth   = 1024
	maxThreads = 128
)

// field is one plain value of a workload, with the kinds of work that have it.
type field struct {
	kinds []string
	set   func(w *model.StudyWorkload, text string) error
	level bool // a level of a factor may change it
}

// plainFields are all fields that are one value. They are read the same way in a
// workload and in a level that changes one.
func plainFields() map[string]field {
	tcp, block, every := []string{TCP}, []string{Block}, []string{TCP, Block, Read, Frames}
	trees := []string{Copy}
	files, video, warm := []string{Block, Read}, []string{Frames}, []string{TCP, Block, Read}
	w := func(kinds []string, set func(*model.StudyWorkload, string) error) field {
		return field{kinds, set, true}
	}
	fixed := func(kinds []string, set func(*model.StudyWorkload, string) error) field {
		return field{kinds, set, false}
	}
	return map[string]field{
		"streams":     w([]string{TCP, Frames, Copy}, whole(1, load.MaxStreams, func(w *model.StudyWorkload) *int { return &w.Streams })),
		"clients":     w(every, whole(1, maxHosts, func(w *model.StudyWorkload) *int { return &w.Clients })),
		"congestion":  w(tcp, congestion),
		"recv_buffer": w(tcp, size(maxBuffer, func(w *model.StudyWorkload) *unit.Bytes { return &w.RecvBuffer })),
		"send_buffer": w(tcp, size(maxBuffer, func(w *model.StudyWorkload) *unit.Bytes { return &w.SendBuffer })),
		"write_size":  w(tcp, size(unit.MiB, func(w *model.StudyWorkload) *unit.Bytes { return &w.WriteSize })),
		"exchange":    w(tcp, size(unit.MiB, func(w *model.StudyWorkload) *unit.Bytes { return &w.Exchange })),
		"nodelay":     w(tcp, truth(func(w *model.StudyWorkload) *bool { return &w.NoDelay })),
		"rate":        w(tcp, rate),
		"pattern":     w(block, pattern),
		"read":        w(block, whole(0, 100, func(w *model.StudyWorkload) *int { return &w.Read })),
		"block":       w(files, requests),
		"depth":       w(block, whole(1, maxDepth, func(w *model.StudyWorkload) *int { return &w.Depth })),
		"threads":     w(files, whole(1, maxThreads, func(w *model.StudyWorkload) *int { return &w.Threads })),
		"direct":      w([]string{Block, Read, Frames}, truth(func(w *model.StudyWorkload) *bool { return &w.Direct })),
		"seconds":     fixed(append(every, Copy), seconds),
		"warmup":      fixed(warm, warmup),
		"path":        fixed([]string{Block, Read, Frames, Copy}, func(w *model.StudyWorkload, s string) error { w.Path = s; return nil }),
		"destroy":     fixed(block, func(w *model.StudyWorkload, s string) error { w.Destroy = s; return nil }),
		"to":          fixed(trees, func(w *model.StudyWorkload, s string) error { w.To = s; return nil }),
		"plain":       w(trees, truth(func(w *model.StudyWorkload) *bool { return &w.Plain })),
		"verify_full": w(trees, truth(func(w *model.StudyWorkload) *bool { return &w.Full })),

		"format":         w(video, func(w *model.StudyWorkload, s string) error { w.Format = s; return nil }),
		"fps":            w(video, func(w *model.StudyWorkload, s string) error { w.FPS = s; return nil }),
		"buffer":         w(video, whole(1, frames.MaxBuffer, func(w *model.StudyWorkload) *int { return &w.Buffer })),
		"play":           fixed(video, truth(func(w *model.StudyWorkload) *bool { return &w.Play })),
		"file_per_frame": w(video, truth(func(w *model.StudyWorkload) *bool { return &w.PerFrame })),
	}
}

func whole(low, high int, of func(*model.StudyWorkload) *int) func(*model.StudyWorkload, string) error {
	return func(w *model.StudyWorkload, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q: want a whole number from %d to %d", s, low, high)
		}
		*of(w) = n
		return nil
	}
}

func size(high unit.Bytes, of func(*model.StudyWorkload) *unit.Bytes) func(*model.StudyWorkload, string) error {
	return func(w *model.StudyWorkload, s string) error {
		n, err := unit.ParseBytes(s)
		if err != nil || n < 1 || n > high {
			return fmt.Errorf("%q: want a size from 1 B to %v, such as 256KiB", s, high)
		}
		*of(w) = n
		return nil
	}
}

func congestion(w *model.StudyWorkload, s string) error {
	// TCP_CA_NAME_MAX in include/net/tcp.h, with its final zero.
	if len(s) > 15 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("%q: no name of a congestion control, such as cubic", s)
	}
	w.Congestion = s
	return nil
}

func rate(w *model.StudyWorkload, s string) error {
	r, err := unit.ParseBitRate(s)
	if err != nil || r <= 0 {
		return fmt.Errorf("%q: want a rate above 0, such as 900Mbit", s)
	}
	w.Rate = r
	return nil
}

func pattern(w *model.StudyWorkload, s string) error {
	if err := shape.ParsePattern(s, &shape.Shape{}); err != nil {
		return err
	}
	w.Pattern = s
	return nil
}

// requests reads the size of requests, or sizes with their percentages.
func requests(w *model.StudyWorkload, s string) error {
	if !strings.Contains(s, "/") {
		w.Mix = ""
		return size(maxRequest, func(w *model.StudyWorkload) *unit.Bytes { return &w.Block })(w, s)
	}
	sizes, err := shape.ParseSizes(s)
	if err != nil {
		return err
	}
	if w.Kind != Block {
		return fmt.Errorf("%q: requests of several sizes are for kind block", s)
	}
	w.Mix, w.Block = s, 0
	for _, z := range sizes {
		w.Block = max(w.Block, z.Size)
	}
	if w.Block > maxRequest {
		return fmt.Errorf("%q: want sizes of at most %v", s, maxRequest)
	}
	return nil
}

func truth(of func(*model.StudyWorkload) *bool) func(*model.StudyWorkload, string) error {
	return func(w *model.StudyWorkload, s string) error {
		if s != "true" && s != "false" {
			return fmt.Errorf("%q: want true or false", s)
		}
		*of(w) = s == "true"
		return nil
	}
}

// seconds reads the measured part: a number, since every run of a study is of
// some seconds.
func seconds(w *model.StudyWorkload, s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0.1 && x <= maxRun.Seconds()) {
		return fmt.Errorf("%q: want a number of seconds from 0.1 to %v", s, maxRun.Seconds())
	}
	w.Duration = time.Duration(x * float64(time.Second))
	return nil
}

func warmup(w *model.StudyWorkload, s string) error {
	d, err := unit.ParseTime(s)
	if err != nil || d < 0 || d > maxRun {
		return fmt.Errorf("%q: want a time from 0s to %v, such as 1s", s, maxRun)
	}
	w.Warmup = d
	return nil
}

// workloadKeys are all keys of a workload, of whatever kind.
func workloadKeys() []string {
	out := []string{"name", "kind", "senders", "receivers", "hosts"}
	return slices.Sorted(slices.Values(slices.AppendSeq(out, maps.Keys(plainFields()))))
}

// changeKeys are those that a level may change.
func changeKeys() []string {
	var out []string
	for key, f := range plainFields() {
		if f.level {
			out = append(out, key)
		}
	}
	return slices.Sorted(slices.Values(out))
}

func (r *reader) workload(v conf.Node, hosts map[string]string) model.StudyWorkload {
	t := v.Table("workload", workloadKeys()...)
	w := model.StudyWorkload{
		Name: t.Text("name"), Kind: TCP, Senders: t.Get("senders").Texts(), Receivers: t.Get("receivers").Texts(), Hosts: t.Get("hosts").Texts(),
		Duration: 5 * time.Second, Warmup: time.Second,
	}
	r.nameOf(t, "workload", w.Name)
	r.choice(t, "kind", &w.Kind, TCP, Block, Read, Frames, Copy)
	switch w.Kind {
	case TCP:
		w.Streams = 1
	case Block:
		w.Pattern, w.Read, w.Block, w.Depth, w.Threads = string(shape.Random), 100, 8*unit.KiB, 1, 1
	case Read:
		w.Block, w.Threads = unit.MiB, 1
	case Frames:
		w.Format, w.FPS, w.Streams, w.Buffer, w.Direct, w.Warmup = "hd-yuv10", "25", 1, 4, true, 0
	}
	if w.Kind == Copy {
		w.Warmup = 0
	}
	known := plainFields()
	for _, key := range t.Keys {
		f, plain := known[key]
		switch {
		case !plain:
		case !slices.Contains(f.kinds, w.Kind):
			t.Problem(key, "a workload of kind %s has none; take it out, or change the kind", w.Kind)
		default:
			if err := f.set(&w, t.Text(key)); err != nil {
				t.Problem(key, "%v", err)
			}
		}
	}
	r.ends(t, w, hosts)
	return w
}

// ends checks where a workload runs.
func (r *reader) ends(t conf.Table, w model.StudyWorkload, hosts map[string]string) {
	for key, list := range map[string][]string{"senders": w.Senders, "receivers": w.Receivers, "hosts": w.Hosts} {
		for i, name := range list {
			r.declared(t.Where(key), hosts, name)
			if slices.Contains(list[:i], name) {
				t.Problem(key, "%s stands twice; streams: is how one host makes more of them", name)
			}
		}
	}
	switch w.Kind {
	case TCP:
		r.pairs(t, w)
		return
	case Copy:
		r.copies(t, w)
		return
	}
	if len(w.Senders)+len(w.Receivers) > 0 {
		r.Problem(t.Line, "workload %s: kind %s has hosts:, no senders and receivers", w.Name, w.Kind)
	}
	if len(w.Hosts) == 0 {
		t.Problem("hosts", "workload %s: say which of the hosts do the work", w.Name)
	}
	if w.Path == "" || !strings.HasPrefix(w.Path, "/") {
		t.Problem("path", "%q: want the absolute path of a file or device (of kind frames: a directory) on %s", w.Path, strings.Join(w.Hosts, ", "))
	}
	if w.Destroy != "" && w.Destroy != w.Path {
		t.Problem("destroy", "%q: write the path, %s, again if what is on it may be destroyed", w.Destroy, w.Path)
	}
	if why := incoherent(w); why != "" {
		r.Problem(t.Line, "workload %s: %s", w.Name, why)
	}
}

// pairs checks the ends of a tcp workload: one of the two sides is one host.
func (r *reader) pairs(t conf.Table, w model.StudyWorkload) {
	if len(w.Hosts) > 0 {
		t.Problem("hosts", "workload %s: kind %s has senders and receivers", w.Name, w.Kind)
	}
	for _, key := range []string{"senders", "receivers"} {
		if !t.Has(key) {
			t.Problem(key, "workload %s: say who sends and who receives", w.Name)
		}
	}
	if len(w.Senders) > 1 && len(w.Receivers) > 1 {
		t.Problem("senders", "workload %s: several senders and several receivers: one side is one host", w.Name)
	}
	for _, s := range w.Senders {
		if slices.Contains(w.Receivers, s) {
			t.Problem("senders", "workload %s: %s sends to itself", w.Name, s)
		}
	}
	if why := incoherent(w); why != "" {
		r.Problem(t.Line, "workload %s: %s", w.Name, why)
	}
}

// copies checks the ends of a workload of kind copy.
func (r *reader) copies(t conf.Table, w model.StudyWorkload) {
	r.pairs(t, w)
	if len(w.Senders) > 1 || len(w.Receivers) > 1 {
		t.Problem("senders", "workload %s: kind copy has one sender and one receiver", w.Name)
	}
	for key, path := range map[string]string{"path": w.Path, "to": w.To} {
		if !strings.HasPrefix(path, "/") {
			t.Problem(key, "%q: want an absolute path: path: of the tree on the sender, to: of a directory on the receiver", path)
		}
	}
}

// ShapeOf is the shape of a workload of kind block, without an area.
func ShapeOf(w model.StudyWorkload) (shape.Shape, error) {
	s := shape.Shape{Read: float64(w.Read) / 100, Sizes: []shape.SizeShare{{Size: w.Block, Share: 1}}, Arrivals: shape.Closed}
	var err error
	if w.Mix != "" {
		if s.Sizes, err = shape.ParseSizes(w.Mix); err != nil {
			return s, err
		}
	}
	return s, shape.ParsePattern(w.Pattern, &s)
}

// FramesOf is the load generator's task for a workload of kind frames.
func FramesOf(w model.StudyWorkload) load.FramesSpec {
	return load.FramesSpec{Dir: w.Path, Format: w.Format, FPS: w.FPS, Streams: w.Streams, Buffer: w.Buffer, Play: w.Play, PerFrame: w.PerFrame, Buffered: !w.Direct}
}

// anyArea is large enough for every zone of a pattern: the size of the target is known only
// when the study runs.
const anyArea = 1024 * unit.TiB

// incoherent returns which fields of a workload contradict each other, according to the load
// generator's own checks.
func incoherent(w model.StudyWorkload) string {
	if w.Kind == Block {
		s, err := ShapeOf(w)
		s.Area = anyArea
		if err == nil {
			err = s.Check()
		}
		if err != nil {
			return err.Error()
		}
	}
	if w.Kind == Frames {
		f := FramesOf(w)
		if _, err := f.Run(w.Duration); err != nil {
			return err.Error()
		}
	}
	many := max(len(w.Senders), len(w.Receivers), len(w.Hosts))
	switch {
	case w.Clients > many:
		return fmt.Sprintf("clients: %d of %d", w.Clients, many)
	case w.Kind != TCP:
	case w.Exchange > 0 && w.Exchange < leastExchange:
		return fmt.Sprintf("exchange: requests have %v at least", leastExchange)
	case w.Exchange > 0 && (w.Rate > 0 || w.WriteSize > 0):
		return "exchange: requests that wait for an answer have neither a rate nor a write_size"
	}
	return ""
}

// leastExchange is the smallest request of the load generator, which writes it
// in two pieces.
const leastExchange unit.Bytes = 256

// Applies reports whether a level's changes fit this workload's kind. A level that does not
// fit leaves the workload unchanged and is not compared on it.
func Applies(w model.StudyWorkload, changes map[string]string) bool {
	known := plainFields()
	for key := range changes {
		if !slices.Contains(known[key].kinds, w.Kind) {
			return false
		}
	}
	return true
}

// Change is the workload with a level's changes, in the words of a study file:
// streams: 4. It refuses fields that the kind does not have or that no level may
// change, and values out of bounds.
func Change(w model.StudyWorkload, changes map[string]string) (model.StudyWorkload, error) {
	known := plainFields()
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		f, ok := known[key]
		if !ok || !f.level || !slices.Contains(f.kinds, w.Kind) {
			return w, fmt.Errorf("change workload %s: kind %s has no %s that a level could change", w.Name, w.Kind, key)
		}
		if err := f.set(&w, changes[key]); err != nil {
			return w, fmt.Errorf("change %s of workload %s: %w", key, w.Name, err)
		}
	}
	if why := incoherent(w); why != "" {
		return w, fmt.Errorf("change workload %s: %s", w.Name, why)
	}
	return w, nil
}
