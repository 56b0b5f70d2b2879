package profile

import (
	"slices"
	"strings"
	"testing"

	"linerate/internal/guide"
)

func TestBuiltinProfilesAreWhole(t *testing.T) {
	want := "iscsi-initiator media-client nfs-client nfs-server smb-server transfer-node-lan transfer-node-wan zfs-filer"
	if got := strings.Join(Names(), " "); got != want {
		t.Errorf("profiles %s, want %s", got, want)
	}
	settings := map[string]guide.Setting{}
	for _, s := range guide.All() {
		settings[s.ID] = s
	}
	for _, name := range Names() {
		p, ok := builtin(name, book())
		if !ok || p.Name != name || p.Title == "" || p.For == "" || !p.Builtin {
			t.Errorf("%s: %+v", name, p)
		}
		if len(p.Lines) < 10 || len(p.Rejected) < 3 {
			t.Errorf("%s has %d lines and rejects %d", name, len(p.Lines), len(p.Rejected))
		}
		for _, l := range p.Lines {
			known := settings[l.Setting]
			if !slices.Contains([]string{"linux", "any", "illumos", "freebsd", "macos", "windows"}, known.OS()) {
				t.Errorf("%s sets %s, which linerate cannot set", name, l.Setting)
			}
			if strings.Contains(l.Value+l.AtLeast, "need") && known.TimesBDP == 0 {
				t.Errorf("%s: %s has no share of the bandwidth-delay product", name, l.Setting)
			}
			// What trades safety is never a line, except back to the safe side.
			if known.Trades != "" && Trades(known, "", l.Value) != "" {
				t.Errorf("%s: %s trades %s", name, l.Setting, known.Trades)
			}
			if known.NeverLower && !l.amount() {
				t.Errorf("%s: %s may not fall: at_least", name, l.Setting)
			}
		}
	}
	if _, ok := Builtin("../parts/tcp"); ok {
		t.Error("a path is no name")
	}
}

// What the papers have wrong, or what has aged, is told where somebody who
// knows the paper would look for it.
func TestEveryPapersMistakeIsRejectedSomewhere(t *testing.T) {
	rejected := map[string]bool{}
	for _, name := range Names() {
		p, _ := builtin(name, book())
		for _, r := range p.Rejected {
			if r.Why == "" || r.Source == "" {
				t.Errorf("%s: %+v", name, r)
			}
			rejected[r.Guide+r.Setting+r.Value] = true
		}
	}
	n := 0
	for _, key := range []string{"emc-atto-10ge", "dell-bp1057", "napp-it-10ge", "solarflare-nfs", "caltech-40ge"} {
		g, ok := guide.FindGuide(key)
		if !ok {
			t.Fatalf("no guide %s", key)
		}
		for _, a := range g.Advice {
			if a.Status == guide.Valid {
				continue
			}
			n++
			if !rejected[key+a.Setting+a.Value] {
				t.Errorf("%s: %s = %s is %s, and no profile rejects it", key, a.Setting, a.Value, a.Status)
			}
		}
	}
	if n < 40 {
		t.Errorf("compared only %d", n)
	}
}

const good = `v: 1
name: mine
title: Mine
for: a test
lines:
  - setting: linux.sysctl.net.ipv4.tcp_rmem
    at_least: "keep keep {need}"
    cap: memory / 16
    reason: because
    source: me
`

func TestParseTellsTheLine(t *testing.T) {
	if p, err := parse("mine.yaml", []byte(good), book()); err != nil || len(p.Lines) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range []struct{ old, to, want string }{
		{"name: mine", "name: Mine", `mine.yaml:2: profile name "Mine": want small letters`},
		{"name: mine", "name: ../../etc/passwd", "mine.yaml:2: profile name"},
		{"v: 1", "v: 2", "mine.yaml:1: v: this linerate reads profiles of version 1"},
		{"title:", "tittle:", `mine.yaml:3: profile: there is no key "tittle"; did you mean title?`},
		{"tcp_rmem", "tcp_rmen", `mine.yaml:6: setting "linux.sysctl.net.ipv4.tcp_rmen" is not known; near it are linux.sysctl.net.ipv4.tcp_rmem`},
		{"{need}", "{ned}", `mine.yaml:7: linux.sysctl.net.ipv4.tcp_rmem: formula "ned": there is no quantity "ned"`},
		{"{need}", "{need", "mine.yaml:7: linux.sysctl.net.ipv4.tcp_rmem: braces do not pair"},
		{"{need}", "{(need}", "a bracket is not closed"},
		{"{need}", "{need} {}", "it ends where a number or a name is due"},
		{"{need}", "{2 need}", `"need" is no unit`},
		{"{need}", "{sqrt(need)}", "there is no function sqrt"},
		{"keep keep {need}", "{rx=1}", "formula \"rx=1\""},
		{"{need}", "{" + strings.Repeat("(", 100) + "}", "nested too deeply"},
		{"memory / 16", "memoory / 16", `mine.yaml:8: linux.sysctl.net.ipv4.tcp_rmem: cap: formula "memoory / 16": there is no quantity`},
		{"    reason: because\n", "", "mine.yaml:6: linux.sysctl.net.ipv4.tcp_rmem: reason is missing"},
		{"cap:", "value: 1\n    cap:", "give it either a value or at_least"},
		{"source: me", "source: me\n    when: need", `mine.yaml:11: linux.sysctl.net.ipv4.tcp_rmem: condition "need"`},
		{"source: me", "source: me\n    finding: ring-overun", `mine.yaml:11: linux.sysctl.net.ipv4.tcp_rmem: linterate`},
		{"lines:", "base: [nobody]\nlines:", `mine.yaml:5: base: there is no "nobody" to stand on`},
		{"lines:", "base: [mine]\nlines:", `there is no "mine"`},
		{good[strings.Index(good, "lines"):], "", "mine.yaml:1: lines: none"},
		{good, "[1, 2", "mine.yaml:1: not YAML"},
		{good, "- a\n- b", "mine.yaml:1: profile: want key: value pairs"},
		{good, "", "want one YAML document"},
		{"lines:", "lines: 7\nrejected:", "mine.yaml:5: lines: want a list"},
		{"title: Mine", "title: {a: b}", "mine.yaml:3: title: want a single value"},
	} {
		text := strings.Replace(good, c.old, c.to, 1)
		want := strings.Replace(c.want, "linterate", "there is no rule \"ring-overun\"; near it are ring-overrun", 1)
		_, err := parse("mine.yaml", []byte(text), book())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s → %s: %v, want %s", c.old, c.to, err, want)
		}
	}
}

func TestBaseGivesLinesThatOwnOnesReplace(t *testing.T) {
	p, err := parse("mine.yaml", []byte(strings.Replace(good, "lines:", "base: [nfs-client]\nlines:", 1)), book())
	if err != nil {
		t.Fatal(err)
	}
	base, _ := builtin("nfs-client", book())
	if len(p.Lines) != len(base.Lines) || len(p.Rejected) != len(base.Rejected) {
		t.Errorf("%d lines, %d rejected", len(p.Lines), len(p.Rejected))
	}
	if last := p.Lines[len(p.Lines)-1]; last.Source != "me" {
		t.Errorf("last line %+v", last)
	}
	d := Diff(base, p)
	if len(d) != 1 || d[0].One != "at least keep keep {need / streams}, at most memory / 16 / streams" || d[0].Other != "at least keep keep {need}, at most memory / 16" {
		t.Errorf("%+v", d)
	}
}

func TestFormatIsReadBackTheSame(t *testing.T) {
	for _, name := range Names() {
		p, _ := builtin(name, book())
		text := Format(p)
		again, err := parse(name+".yaml", text, book())
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if len(Diff(p, again)) != 0 || len(again.Rejected) != len(p.Rejected) || string(Format(again)) != string(text) {
			t.Errorf("%s changed: %+v", name, Diff(p, again))
		}
		for i, l := range again.Lines {
			if l.Reason != p.Lines[i].Reason || l.Source != p.Lines[i].Source || l.Needs != p.Lines[i].Needs {
				t.Errorf("%s, line %d: %+v, was %+v", name, i, l, p.Lines[i])
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, name := range Names() {
		p, _ := builtin(name, book())
		f.Add(Format(p))
	}
	sick := subject(f, "iscsi-initiator-sick")
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse("f.yaml", text, book())
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Errorf("no place in %q", err)
			}
			return
		}
		again, err := parse("f.yaml", Format(p), book())
		if err != nil || len(Diff(p, again)) != 0 {
			t.Errorf("not read back: %v\n%s", err, Format(p))
		}
		makeRows(book().settings, p, nil, sick, nil)
	})
}
