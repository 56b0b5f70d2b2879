package copy

import "testing"

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
