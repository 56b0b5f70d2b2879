package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

// nla is one attribute, padded.
func nla(kind uint16, v ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(v)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, v...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// nftMessage is struct nfgenmsg and what follows.
func nftMessage(family byte, parts ...[]byte) []byte {
	return join([]byte{family, 0, 0, 0}, join(parts...))
}

func text(kind uint16, s string) []byte { return nla(kind, append([]byte(s), 0)...) }

func hook(n uint32, more ...[]byte) []byte {
	return nla(nftChainHook, join(nla(nftHookNumber, be32(n)...), nla(2, be32(0)...), join(more...))...)
}

func TestParseNFTChain(t *testing.T) {
	name := join(text(nftChainTable, "filter"), text(nftChainName, "in"))
	for _, tc := range []struct {
		b    []byte
		want *model.FirewallChain
		bad  bool
	}{
		{b: nftMessage(1, name, hook(1), nla(nftChainPolicy, be32(0)...)), want: &model.FirewallChain{By: "nf_tables", Family: "inet", Table: "filter", Chain: "in", Hook: "input", Policy: "drop"}},
		{b: nftMessage(10, name, hook(3)), want: &model.FirewallChain{By: "nf_tables", Family: "ip6", Table: "filter", Chain: "in", Hook: "output"}},
		{b: nftMessage(5, name, hook(0, text(nftHookDevice, "eth1"))), want: &model.FirewallChain{By: "nf_tables", Family: "netdev", Table: "filter", Chain: "in", Hook: "ingress", Device: "eth1"}},
		{b: nftMessage(5, name, hook(1, nla(nftHookDevices, join(text(1, "eth2"), text(1, "eth3"))...))), want: &model.FirewallChain{By: "nf_tables", Family: "netdev", Table: "filter", Chain: "in", Hook: "egress", Device: "eth2"}},
		{b: nftMessage(3, name, hook(2)), want: &model.FirewallChain{By: "nf_tables", Family: "arp", Table: "filter", Chain: "in", Hook: "forward"}},
		{b: nftMessage(1, name)}, // no hook leads to it
		{b: nftMessage(99, name, hook(1)), bad: true},
		{b: nftMessage(1, hook(1)), bad: true},
		{b: nftMessage(1, name, nla(nftChainHook)), bad: true},
		{b: []byte{1, 0}, bad: true},
		{b: nftMessage(1, []byte{200, 0, 1, 0}), bad: true},
	} {
		got, err := ParseNFTChain(tc.b)
		if (err != nil) != tc.bad || !cmp.Equal(got, tc.want) {
			t.Errorf("%x: %+v, %v", tc.b, got, err)
		}
	}
}

func expr(name string, data ...[]byte) []byte {
	return nla(1, join(text(nftExprName, name), nla(nftExprData, join(data...)...))...)
}

func mask(bits uint32) []byte {
	return nla(nftBitwiseMask, nla(nftDataValue, binary.NativeEndian.AppendUint32(nil, bits)...)...)
}

func verdict(code uint32) []byte {
	return nla(nftImmediateData, nla(nftDataVerdict, nla(nftVerdictCode, be32(code)...)...)...)
}

func rule(exprs ...[]byte) []byte {
	return nftMessage(2, text(nftRuleTable, "t"), text(nftRuleChain, "c"), nla(nftRuleExpressions, join(exprs...)...))
}

func TestParseNFTRule(t *testing.T) {
	state := expr("ct", nla(nftCtKey, be32(ctState)...))
	for name, tc := range map[string]struct {
		b               []byte
		accepts, queues bool
	}{
		"ct state established,related accept": {rule(state, expr("bitwise", mask(6)), expr("cmp"), expr("counter"), expr("immediate", verdict(nfAccept))), true, false},
		"ct state new accept":                 {rule(state, expr("bitwise", mask(8)), expr("cmp"), expr("immediate", verdict(nfAccept))), false, false},
		"ct state invalid drop":               {rule(state, expr("bitwise", mask(1)), expr("cmp"), expr("immediate", verdict(nfDrop))), false, false},
		"ct state vmap":                       {rule(state, expr("lookup", nla(nftLookupTo, be32(0)...))), true, false},
		"ct state in a set, no verdict":       {rule(state, expr("lookup")), false, false},
		"ct mark accept":                      {rule(expr("ct", nla(nftCtKey, be32(3)...)), expr("cmp"), expr("immediate", verdict(nfAccept))), false, false},
		"one port, established, accept":       {rule(expr("payload"), expr("cmp"), state, expr("bitwise", mask(2)), expr("cmp"), expr("immediate", verdict(nfAccept))), false, false},
		"of iptables":                         {rule(expr("match", text(nftName, "conntrack")), expr("counter"), expr("immediate", verdict(nfAccept))), true, false},
		"of iptables, by another match":       {rule(expr("match", text(nftName, "multiport")), expr("immediate", verdict(nfAccept))), false, false},
		"queue":                               {rule(expr("queue")), false, true},
		"NFQUEUE":                             {rule(expr("target", text(nftName, "NFQUEUE"))), false, true},
		"accept":                              {rule(expr("immediate", verdict(nfAccept))), false, false},
		"empty":                               {rule(), false, false},
	} {
		r, err := ParseNFTRule(tc.b)
		if err != nil || r.Family != "ip" || r.Table != "t" || r.Chain != "c" || r.Accepts != tc.accepts || r.Queues != tc.queues {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := ParseNFTRule([]byte{2}); err == nil {
		t.Error("one byte is no rule")
	}
}

// What Linux 6.18 answered of a table of nft(8) with a set, a jump, a verdict map
// and the usual shortcut, of one that hangs on a device, and of iptables-nft.
func TestParseNFTOfAKernel(t *testing.T) {
	b, err := os.ReadFile("testdata/nft.txt")
	if err != nil {
		t.Fatal(err)
	}
	var chains []model.FirewallChain
	var rules []NFTRule
	for line := range strings.Lines(string(b)) {
		kind, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		msg, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "chain" {
			c, err := ParseNFTChain(msg)
			if err != nil {
				t.Fatal(err)
			}
			if c != nil {
				chains = append(chains, *c)
			}
			continue
		}
		r, err := ParseNFTRule(msg)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	CountNFTRules(chains, rules)
	third, first := 2, 0
	want := []model.FirewallChain{
		{By: "nf_tables", Family: "inet", Table: "filter", Chain: "input", Hook: "input", Policy: "drop", Rules: 6, Before: &third},
		{By: "nf_tables", Family: "inet", Table: "filter", Chain: "output", Hook: "output", Policy: "accept"},
		{By: "nf_tables", Family: "inet", Table: "filter", Chain: "forward", Hook: "forward", Policy: "drop", Rules: 1, Before: &first},
		{By: "nf_tables", Family: "netdev", Table: "guard", Chain: "in", Hook: "ingress", Device: "lo", Policy: "accept", Rules: 1},
		{By: "nf_tables", Family: "ip", Table: "filter", Chain: "INPUT", Hook: "input", Policy: "accept", Rules: 2, Before: &first, Queues: true},
	}
	if d := cmp.Diff(want, chains); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestCountNFTRules(t *testing.T) {
	chains := []model.FirewallChain{{Family: "ip", Table: "t", Chain: "c"}, {Family: "ip6", Table: "t", Chain: "c"}}
	in := NFTRule{Family: "ip", Table: "t", Chain: "c"}
	known, queue, other := in, in, in
	known.Accepts, queue.Queues, other.Chain = true, true, "elsewhere"
	CountNFTRules(chains, []NFTRule{in, in, other, known, in, known, queue})
	if c := chains[0]; c.Rules != 6 || c.Before == nil || *c.Before != 2 || !c.Queues {
		t.Errorf("%+v", c)
	}
	if c := chains[1]; c.Rules != 0 || c.Before != nil || c.Queues {
		t.Errorf("%+v", c)
	}
}

// A filter table with its three hooks, a chain of the user's and five rules.
func TestParseIPTInfo(t *testing.T) {
	b := make([]byte, iptInfoLen)
	copy(b, "filter")
	binary.NativeEndian.PutUint32(b[32:], 1<<1|1<<2|1<<3)
	binary.NativeEndian.PutUint32(b[76:], 3+1+5)
	if n, err := ParseIPTInfo(b); err != nil || n != 5 {
		t.Errorf("%d, %v", n, err)
	}
	binary.NativeEndian.PutUint32(b[76:], 2)
	if n, err := ParseIPTInfo(b); err == nil {
		t.Errorf("fewer entries than hooks: %d", n)
	}
	if _, err := ParseIPTInfo(b[:80]); err == nil {
		t.Error("cut short")
	}
}

func FuzzParseNFTChain(f *testing.F) {
	f.Add(nftMessage(1, text(nftChainTable, "t"), text(nftChainName, "c"), hook(1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseNFTChain(b); c != nil && err == nil && (c.Family == "" || c.Table == "" || c.Chain == "") {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzParseNFTRule(f *testing.F) {
	f.Add(rule(expr("immediate", verdict(nfAccept))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseNFTRule(b); err != nil && r.Accepts {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func FuzzParseIPTInfo(f *testing.F) {
	f.Add(make([]byte, iptInfoLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := ParseIPTInfo(b); n < 0 || err != nil && n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}
