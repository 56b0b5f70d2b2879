package rules

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A host with a thousand interfaces in one subnet, with 15,000 routes around it,
// is told of in as many lines as a reader can read, and in time.
func TestManyInterfacesAreFewFindings(t *testing.T) {
	f := server()
	template := f.NICs[0]
	f.NICs, f.Routes = nil, nil
	for i := range 1200 {
		n := template
		n.Name, n.MTU = fmt.Sprint("e", i), 1500+i%2
		n.ARPIgnore, n.RPFilter = model.Known(0), model.Known(1)
		n.Addrs = []netip.Prefix{netip.MustParsePrefix("10.0.0.9/8")}
		f.NICs = append(f.NICs, n)
	}
	for i := range 15000 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		f.Routes = append(f.Routes, model.Route{Dst: netip.PrefixFrom(a, 32), Dev: "e7"})
	}
	f.Routes = append(f.Routes, model.Route{Dst: netip.MustParsePrefix("10.0.0.0/8"), Dev: "e0"})
	of := map[string]int{}
	for _, found := range Check(f, Context{}) {
		of[found.Rule]++
		if len(found.Observed) > 16<<10 {
			t.Errorf("%s: %d bytes", found.Rule, len(found.Observed))
		}
	}
	for _, rule := range []string{"same-subnet-arp-flux", "mtu-differs-in-subnet", "strict-reverse-path", "route-detour"} {
		if of[rule] != mostFindings+1 {
			t.Errorf("%s: %d findings", rule, of[rule])
		}
	}
	for rule, n := range of {
		if n > mostFindings+1 {
			t.Errorf("%s: %d findings", rule, n)
		}
	}
	arp := only(Check(f, Context{}), "same-subnet-arp-flux")
	if last := arp[len(arp)-1]; !strings.HasPrefix(last.Title, "1167 more") || last.Severity != Medium || last.Fix == "" {
		t.Errorf("the last is %+v", last)
	}
}

// What two interfaces of three share is found whichever of them comes first.
func TestSameSubnetFindsEveryInterface(t *testing.T) {
	nic := func(name, kind string, addrs ...string) model.NIC {
		n := model.NIC{Name: name, Kind: kind, Up: true}
		for _, a := range addrs {
			n.Addrs = append(n.Addrs, netip.MustParsePrefix(a))
		}
		return n
	}
	for _, tt := range []struct {
		name string
		nics []model.NIC
		want string
	}{
		{"two", []model.NIC{nic("a", "", "10.0.0.1/24"), nic("b", "", "10.0.0.2/24")}, "a-b"},
		{"three", []model.NIC{nic("a", "", "10.0.0.1/24"), nic("b", "", "10.0.0.2/24"), nic("c", "", "10.0.0.3/24")}, "a-b a-c"},
		{"a macvlan beside its parent", []model.NIC{nic("a", "", "10.0.0.1/24"), nic("m", "macvlan", "10.0.0.2/24")}, ""},
		{"another port after the macvlan", []model.NIC{nic("m", "macvlan", "10.0.0.2/24"), nic("a", "", "10.0.0.1/24"), nic("b", "", "10.0.0.3/24")}, "a-b"},
		{"two networks, once", []model.NIC{nic("a", "", "10.0.0.1/24", "10.1.0.1/24"), nic("b", "", "10.1.0.2/24", "10.0.0.2/24")}, "a-b"},
		{"single addresses", []model.NIC{nic("a", "", "10.0.0.1/32"), nic("b", "", "10.0.0.1/32")}, ""},
	} {
		var got []string
		for _, p := range sameSubnet(&model.Facts{NICs: tt.nics}) {
			got = append(got, p.a.Name+"-"+p.b.Name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.want)
		}
	}
}
