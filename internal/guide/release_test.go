package guide

import "testing"

func TestRange(t *testing.T) {
	for _, c := range []struct {
		span, release string
		want          bool
	}{
		{"any", "2.6.32", true},
		{"before 6.16", "6.15.99-generic", true},
		{"before 6.16", "6.16", false},
		{"6.16 and later", "6.16.0-rc1", true},
		{"6.16 and later", "6.9", false},
		{"4.20 to 6.5", "6.5.13", true},
		{"4.20 to 6.5", "6.6", false},
		{"4.20 to 6.5", "4.19.300", false},
	} {
		g, err := ParseRange(c.span)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRelease(c.release)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Has(r); got != c.want {
			t.Errorf("%s has %s: %v, want %v", c.span, c.release, got, c.want)
		}
	}
	g, _ := ParseRange("before 6.16")
	if g.Has(nil) {
		t.Error("a release that is not known is before 6.16")
	}
	for _, bad := range []string{"", "6.16", "before", "before x", "6 and later", "since 6.1", "1.2 to"} {
		if g, err := ParseRange(bad); err == nil {
			t.Errorf("ParseRange(%q) = %+v", bad, g)
		}
	}
	for _, bad := range []string{"", "6", "x.y", "-1.2", "6..1"} {
		if r, err := ParseRelease(bad); err == nil {
			t.Errorf("ParseRelease(%q) = %v", bad, r)
		}
	}
}

func TestCondition(t *testing.T) {
	for _, c := range []struct {
		when, value string
		want        bool
	}{
		{"any", "", true},
		{"= 0", " 0 ", true},
		{"= enabled", "Enabled", true},
		{"= 0", "1", false},
		{"> 30000", "250000", true},
		{"> 30000", "4096 87380 16777216", true},
		{"> 30000", "many", false},
		{"< 30", "0x8", true},
		{"< 30", "60", false},
		{"~ SO_RCVBUF", "TCP_NODELAY so_rcvbuf=65536", true},
	} {
		got, err := ParseCondition(c.when)
		if err != nil {
			t.Fatal(err)
		}
		if got.Holds(c.value) != c.want {
			t.Errorf("%q holds for %q: %v", c.when, c.value, !c.want)
		}
	}
	for _, bad := range []string{"", "=", "> x", "!= 1", "<1"} {
		if c, err := ParseCondition(bad); err == nil {
			t.Errorf("ParseCondition(%q) = %+v", bad, c)
		}
	}
}
