package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"linerate/internal/model"
)

// Attributes of nf_tables, from include/uapi/linux/netfilter/nf_tables.h, and
// numbers of include/uapi/linux/netfilter.h and nf_conntrack_common.h. Messages
// begin with struct nfgenmsg, four bytes of which the first is the family;
// numbers in attributes are big-endian unless they are a packet's data.
const (
	nfgenLen = 4

	nftChainTable, nftChainName, nftChainHook, nftChainPolicy = 1, 3, 4, 5
	nftHookNumber, nftHookDevice, nftHookDevices              = 1, 3, 4
	nftRuleTable, nftRuleChain, nftRuleExpressions            = 1, 2, 4
	nftExprName, nftExprData                                  = 1, 2
	nftImmediateRegister, nftImmediateData                    = 1, 2
	nftDataValue, nftDataVerdict                              = 1, 2
	nftVerdictCode                                            = 1
	nftCtKey                                                  = 2
	nftBitwiseMask                                            = 4
	nftLookupTo                                               = 3
	nftName                                                   = 1 // of a match or target of iptables

	nfDrop, nfAccept = 0, 1
	ctState          = 0      // NFT_CT_STATE
	ctEstablished    = 1 << 1 // NF_CT_STATE_BIT(IP_CT_ESTABLISHED)
)

// nftFamily names NFPROTO_* (include/uapi/linux/netfilter.h).
func nftFamily(n byte) string {
	return map[byte]string{1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}[n]
}

// nftHook names a hook of a family: those of netdev are its own.
func nftHook(family string, n uint32) string {
	names := []string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	switch family {
	case "netdev":
		names = []string{"ingress", "egress"}
	case "arp":
		names = []string{"input", "output", "forward"}
	}
	if int64(n) < int64(len(names)) {
		return names[n]
	}
	return ""
}

// ParseNFTChain reads one chain of an answer to NFT_MSG_GETCHAIN. A chain without a hook gives
// nil: packets get there only from other chains.
func ParseNFTChain(b []byte) (*model.FirewallChain, error) {
	a, err := nftAttrs(b)
	if err != nil {
		return nil, err
	}
	c := &model.FirewallChain{By: "nf_tables", Family: nftFamily(b[0]), Table: cstring(a[nftChainTable]), Chain: cstring(a[nftChainName])}
	hook, ok := a[nftChainHook]
	if !ok {
		return nil, nil
	}
	h, err := attrs(hook)
	if err != nil {
		return nil, err
	}
	if len(h[nftHookNumber]) != 4 || c.Family == "" || c.Table == "" || c.Chain == "" {
		return nil, errors.New("parse nf_tables chain: without family, name or hook")
	}
	c.Hook, c.Device = nftHook(c.Family, binary.BigEndian.Uint32(h[nftHookNumber])), cstring(h[nftHookDevice])
	if c.Device == "" {
		// A chain on several devices lists them; only the first is kept.
		err = eachAttr(h[nftHookDevices], func(_ uint16, v []byte) {
			if c.Device == "" {
				c.Device = cstring(v)
			}
		})
	}
	if p := a[nftChainPolicy]; len(p) == 4 {
		c.Policy = map[uint32]string{nfDrop: "drop", nfAccept: "accept"}[binary.BigEndian.Uint32(p)]
	}
	return c, err
}

// NFTRule is the part of a rule that affects throughput.
type NFTRule struct {
	Family, Table, Chain string
	Accepts              bool // packets of established connections, without further conditions
	Queues               bool // packets to a program
}

// ParseNFTRule reads one rule of an answer to NFT_MSG_GETRULE.
func ParseNFTRule(b []byte) (NFTRule, error) {
	a, err := nftAttrs(b)
	if err != nil {
		return NFTRule{}, err
	}
	r := NFTRule{Family: nftFamily(b[0]), Table: cstring(a[nftRuleTable]), Chain: cstring(a[nftRuleChain])}
	known, accepts, narrow := false, false, false
	err = eachAttr(a[nftRuleExpressions], func(_ uint16, v []byte) {
		e, bad := attrs(v)
		data, bad2 := attrs(e[nftExprData])
		if bad != nil || bad2 != nil {
			narrow = true // a rule that cannot be parsed does not count as one that accepts
			return
		}
		switch name := cstring(e[nftExprName]); name {
		case "ct":
			known = known || len(data[nftCtKey]) == 4 && binary.BigEndian.Uint32(data[nftCtKey]) == ctState
			narrow = narrow || !known
		case "bitwise":
			mask, bad := attrs(data[nftBitwiseMask])
			if v := mask[nftDataValue]; bad == nil && len(v) == 4 && binary.NativeEndian.Uint32(v)&ctEstablished == 0 {
				narrow = true
			}
		case "lookup":
			accepts = accepts || len(data[nftLookupTo]) == 4 && binary.BigEndian.Uint32(data[nftLookupTo]) == 0 // a verdict map
		case "immediate":
			accepts = accepts || isAccept(data)
		case "cmp", "counter", "comment", "log":
		case "queue":
			r.Queues, narrow = true, true
		case "match":
			match := cstring(data[nftName])
			known = known || match == "conntrack" || match == "state"
			narrow = narrow || match != "conntrack" && match != "state" && match != "comment"
		case "target":
			r.Queues = r.Queues || cstring(data[nftName]) == "NFQUEUE"
			narrow = true
		default:
			narrow = true
		}
	})
	r.Accepts = known && accepts && !narrow
	return r, err
}

// isAccept: an immediate that loads the verdict accept.
func isAccept(immediate map[uint16][]byte) bool {
	data, err := attrs(immediate[nftImmediateData])
	if err != nil {
		return false
	}
	verdict, err := attrs(data[nftDataVerdict])
	code := verdict[nftVerdictCode]
	return err == nil && len(code) == 4 && binary.BigEndian.Uint32(code) == nfAccept
}

func nftAttrs(b []byte) (map[uint16][]byte, error) {
	if len(b) < nfgenLen {
		return nil, fmt.Errorf("parse nf_tables answer: %d bytes, want at least %d", len(b), nfgenLen)
	}
	return attrs(b[nfgenLen:])
}

// cstring is a string that ends at a zero byte, or where its attribute does.
func cstring(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// CountNFTRules adds rules, in their order, to their chains.
func CountNFTRules(chains []model.FirewallChain, rules []NFTRule) {
	type key struct{ family, table, chain string }
	at := map[key]*model.FirewallChain{}
	for i, c := range chains {
		at[key{c.Family, c.Table, c.Chain}] = &chains[i]
	}
	for _, r := range rules {
		c := at[key{r.Family, r.Table, r.Chain}]
		if c == nil {
			continue
		}
		if r.Accepts && c.Before == nil {
			n := c.Rules
			c.Before = &n
		}
		c.Rules++
		c.Queues = c.Queues || r.Queues
	}
}

// iptInfoLen is the size of struct ipt_getinfo (include/uapi/linux/netfilter_ipv4/ip_tables.h): a
// name of 32 bytes, the hooks in use, twice five offsets, the number of entries and their size.
const iptInfoLen = 32 + 4 + 2*5*4 + 4 + 4

// ParseIPTInfo reads the rules of a table from struct ipt_getinfo: each hook has
// an entry for its policy and the table one at its end; chains of users have two
// each, which cannot be told from rules.
func ParseIPTInfo(b []byte) (rules int, err error) {
	if len(b) < iptInfoLen {
		return 0, fmt.Errorf("parse iptables table: %d bytes, want %d", len(b), iptInfoLen)
	}
	hooks, entries := u32(b, 32), u32(b, 76)
	n := int64(entries) - 1
	for i := range 5 {
		n -= int64(hooks >> i & 1)
	}
	if n < 0 || n > 1<<24 {
		return 0, fmt.Errorf("parse iptables table: %d entries", entries)
	}
	return int(n), nil
}
