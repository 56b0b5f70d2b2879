package report

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A host that runs containers has hundreds of interfaces: the line about it names the cards, and
// counts the rest.
func TestAHostWithManyInterfacesIsOneLine(t *testing.T) {
	f := &model.Facts{Kernel: "6.12"}
	for i := range 200 {
		f.NICs = append(f.NICs, model.NIC{Name: fmt.Sprintf("veth%d", i), Up: true, MTU: 1500, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	}
	f.NICs = append(f.NICs, model.NIC{Name: "ens5", Up: true, MTU: 9000, Device: "pci:0000:05:00.0"})
	about := HostCheck{Facts: f}.About()
	if !f.NICs[200].Physical() || !strings.Contains(about, "ens5 MTU 9000") || !strings.HasSuffix(about, "189 more interfaces") || strings.Count(about, "veth") != mostNICs-1 {
		t.Error(about)
	}
	f.NICs = f.NICs[:mostNICs]
	if about := (HostCheck{Facts: f}).About(); strings.Contains(about, "more") || strings.Count(about, "veth") != mostNICs {
		t.Error(about)
	}
}
