package copy

import (
	"testing"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/wire"
)

// A target that failed has got files that others get too: none is counted twice.
func TestWhatAFailedTargetHadGotIsNotCountedAsMoved(t *testing.T) {
	ends := func(closed, out bool) []*spreadEnd {
		return []*spreadEnd{
			{source: true, sum: SpreadEnd{Bytes: 900}},
			{sum: SpreadEnd{Files: 5, Bytes: 500}, made: move.Summary{Symlinks: 1}},
			{sum: SpreadEnd{Files: 3, Bytes: 400}, made: move.Summary{Symlinks: 2, HardLinks: 1}, closed: closed, out: out},
		}
	}
	total := move.Summary{Files: 8, Bytes: 900, Symlinks: 3, HardLinks: 1}
	for name, c := range map[string]struct {
		closed, out bool
		want        move.Summary
		failed      int64
	}{
		"none failed":                   {false, false, total, 0},
		"one failed, what it has stays": {true, false, move.Summary{Files: 8, Bytes: 500, Symlinks: 3, HardLinks: 1}, 400},
		"one does not answer any more":  {true, true, move.Summary{Files: 5, Bytes: 500, Symlinks: 1}, 400},
	} {
		s := &spreading{total: total, ends: ends(c.closed, c.out)}
		if got, failed := s.arrived(); got != c.want || failed != c.failed {
			t.Errorf("%s: %+v and %d, want %+v and %d", name, got, failed, c.want, c.failed)
		}
	}
}

// The sources share the limit.
func TestTheSourcesOfASpreadShareItsLimit(t *testing.T) {
	s := &spreading{env: app.Env{}, p: mute{}, o: Options{Limit: 30 << 20, Spread: Spread{Targets: []string{"d1:/x", "d2:/x"}}}}
	sources := []*spreadEnd{{source: true}, {source: true}, {source: true}}
	targets := []*spreadEnd{{}, {}}
	if err := s.tasks(sources, targets); err != nil {
		t.Fatal(err)
	}
	for _, e := range sources {
		if e.task.Limit != 10<<20 {
			t.Errorf("%d bytes per second of one of three sources, want %d", e.task.Limit, 10<<20)
		}
	}
	if targets[0].task.Limit != 0 {
		t.Error("a target has a limit, and sends nothing")
	}
}

// Data go through ssh only by way of this host, and no more streams than an agent passes on.
func TestASpreadThroughSSHNeedsThisHost(t *testing.T) {
	for name, c := range map[string]struct {
		sources, targets []string
		streams, want    int // 0: it is refused
	}{
		"from here":            {[]string{"/a"}, []string{"d1:/x", "d2:/y"}, 0, wire.FirstStreams},
		"to here":              {[]string{"s1:/a", "s2:/b"}, []string{"/x", "/y"}, 3, 3},
		"many of one host":     {[]string{"/a"}, []string{"d:/1", "d:/2", "d:/3", "d:/4", "d:/5", "d:/6", "d:/7", "d:/8", "d:/9", "d:/10"}, 0, 3},
		"within one host":      {[]string{"s1:/a"}, []string{"s1:/x", "s1:/y"}, 30, 30},
		"one pair is far":      {[]string{"/a", "s1:/b"}, []string{"d1:/x"}, 0, 0},
		"far, on two":          {[]string{"s1:/b"}, []string{"d1:/x", "/y"}, 0, 0},
		"too many streams":     {[]string{"/a"}, []string{"d:/x", "d:/y"}, 20, 0},
		"as many as there are": {[]string{"/a"}, []string{"d:/x", "d:/y"}, 19, 19},
	} {
		s := &spreading{p: mute{}, o: Options{Sources: c.sources, Far: Far{ThroughSSH: true, Streams: c.streams}, Spread: Spread{Targets: c.targets}}}
		err := s.read()
		if c.want == 0 {
			if failure.KindOf(err) != failure.Usage {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
			continue
		}
		if err == nil {
			err = s.tasks(s.sources(), s.targets())
		}
		if err != nil || s.sources()[0].task.Streams != c.want {
			t.Errorf("%s: %d streams, want %d: %v", name, s.sources()[0].task.Streams, c.want, err)
		}
	}
}

// Whichever end tells first why a pair parted, the one that failed is named.
func TestThePartThatFailedIsNamed(t *testing.T) {
	p := &spreadPair{from: &spreadEnd{side: side{as: "src1:/a"}}, to: &spreadEnd{side: side{as: "dst1:/x"}}}
	for _, c := range []struct {
		told       *spreadEnd
		text, want string
	}{
		{p.from, "the other end: no space left on device", "dst1:/x: no space left on device"},
		{p.from, "finish: the other end: no space left on device", "dst1:/x: no space left on device"},
		{p.to, "no space left on device", "dst1:/x: no space left on device"},
		{p.from, "connection reset by peer", "src1:/a: connection reset by peer"},
	} {
		if got := p.blamed(c.told, c.text); got != c.want {
			t.Errorf("%q of %s: %q, want %q", c.text, c.told.as, got, c.want)
		}
	}
}

// Two sources at one name, and a target in a source, are refused before any host is reached.
func TestASpreadThatCannotBeIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ sources, targets []string }{
		"one name":     {[]string{"s1:/data", "s2:/data"}, []string{"d:/x"}},
		"inside":       {[]string{"s1:/a/", "s2:/b"}, []string{"d:/x"}},
		"twice":        {[]string{"s1:/a"}, []string{"d:/x", "d:/x/"}},
		"in itself":    {[]string{"s1:/a"}, []string{"d:/x", "s1:/a/b"}},
		"without path": {[]string{"s1:/a"}, []string{"d"}},
	} {
		s := &spreading{o: Options{Sources: c.sources, Spread: Spread{Targets: c.targets}}}
		if name == "without path" {
			s.o.Spread.Targets = []string{"d:"}
		}
		if err := s.read(); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	s := &spreading{o: Options{Sources: []string{"s1:/a", "s2:/b", "s1:/c"}, Spread: Spread{Targets: []string{"d1:/x", "d2:/x", "s1:/ab"}}}}
	if err := s.read(); err != nil || len(s.sources()) != 2 || len(s.targets()) != 3 || len(s.sources()[0].task.Read) != 2 {
		t.Errorf("%d sources, %d targets, %v", len(s.sources()), len(s.targets()), err)
	}
}
