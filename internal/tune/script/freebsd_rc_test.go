package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rcRig is a root with an rc.conf, and the two mechanisms of an interface that are kept there.
type rcRig struct {
	t            *testing.T
	root         string
	mtu, offload Mechanism
}

func newRCRig(t *testing.T, text string) *rcRig {
	t.Helper()
	for _, need := range []string{"sh", "sed", "cmp", "tr"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(err)
		}
	}
	r := &rcRig{t: t, root: t.TempDir()}
	r.write("etc/rc.conf", text)
	for setting, m := range map[string]*Mechanism{freebsdMTU: &r.mtu, freebsdOffload: &r.offload} {
		kept, at, err := FreeBSD{}.Keep(setting, "if:ix0")
		if err != nil || at != "/etc/rc.conf" {
			t.Fatalf("%s at %q: %v", setting, at, err)
		}
		*m = kept
	}
	return r
}

func (r *rcRig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rcRig) text() string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.root, "etc/rc.conf"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// sh runs a command of a mechanism with the functions that it has in a script.
func (r *rcRig) sh(command, value string) (string, bool) {
	r.t.Helper()
	dir := r.t.TempDir()
	out, err := exec.Command("sh", "-c", "set -fu\nroot="+Quote(r.root)+"; dir="+Quote(dir)+"; n=1; writing=; value="+Quote(value)+"\nkept() { return 1; }\n"+files+"\ndo_it() { "+command+"; }\ndo_it").CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}

func (r *rcRig) want(m Mechanism, value string) {
	r.t.Helper()
	if got, ok := r.sh(m.Read, ""); !ok || got != value {
		r.t.Errorf("%q (%v), want %q in\n%s", got, ok, value, r.text())
	}
}

func (r *rcRig) set(m Mechanism, value string) {
	r.t.Helper()
	if said, ok := r.sh(m.Write, value); !ok {
		r.t.Fatalf("%s: %s", value, said)
	}
	r.want(m, value)
}

// starts is what ifconfig gets when the host starts: the file as sh reads it.
func (r *rcRig) starts() string {
	r.t.Helper()
	out, err := exec.Command("sh", "-uc", ". "+r.root+"/etc/rc.conf; set -f; echo $ifconfig_ix0").CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

const hostsOwn = "hostname=\"freenas\"\nifconfig_ix0=\"inet 10.0.0.8 netmask 255.255.255.0\" # SAN\nifconfig_ix01=\"DHCP\"\n"

// The words come behind those of the host's own line, so that its addresses stay; without them the
// file is what it was.
func TestAnInterfaceKeepsItsAddressesInRCConf(t *testing.T) {
	r := newRCRig(t, hostsOwn)
	r.want(r.mtu, "unset")
	r.want(r.offload, "unset")
	r.set(r.mtu, "9000")
	if got := r.starts(); got != "inet 10.0.0.8 netmask 255.255.255.0 mtu 9000" {
		t.Errorf("the interface starts with %q", got)
	}
	for i := range 8 { // each combination is written and read
		state := func(bit int) string { return map[bool]string{true: "on", false: "off"}[i>>bit&1 == 1] }
		r.set(r.offload, "lro="+state(0)+",tso4="+state(1)+",tso6="+state(2))
	}
	r.set(r.offload, "lro=off,tso4=on,tso6=off")
	r.want(r.mtu, "9000")
	if got := r.starts(); got != "inet 10.0.0.8 netmask 255.255.255.0 mtu 9000 -lro tso4 -tso6" {
		t.Errorf("the interface starts with %q", got)
	}
	r.set(r.mtu, "unset")
	r.want(r.offload, "lro=off,tso4=on,tso6=off")
	r.set(r.offload, "unset")
	if r.text() != hostsOwn {
		t.Errorf("left behind:\n%s", r.text())
	}
}

// A line of somebody else's behind linerate's decides: linerate's is not in force.
func TestALineBehindDecidesInRCConf(t *testing.T) {
	r := newRCRig(t, hostsOwn)
	r.set(r.mtu, "9000")
	r.write("etc/rc.conf", r.text()+"ifconfig_ix0=\"DHCP\"\n")
	r.want(r.mtu, "unset")
	r.write("etc/rc.conf", strings.Replace(hostsOwn, "# SAN", "", 1)+"ifconfig_ix0=\"$ifconfig_ix0 up\"\n")
	if got, ok := r.sh(r.offload.Read, ""); ok {
		t.Errorf("words of somebody else's are read as %q", got)
	}
}

// Where linerate's line would stand alone, or not decide, nothing is written.
func TestRCConfThatCannotKeepIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"ifconfig_DEFAULT=\"DHCP\"\n":                    "has no ifconfig_ix0= of its own",
		"ifconfig_ix0=\"\"\n":                            "has no ifconfig_ix0= of its own",
		"#ifconfig_ix0=\"DHCP\"\nifconfig_ix01=\"up\"\n": "has no ifconfig_ix0= of its own",
		hostsOwn:                  "",
		"ifconfig_ix0='DHCP'\n":   "",
		"  ifconfig_ix0=DHCP #\n": "",
	} {
		r := newRCRig(t, text)
		for _, m := range []Mechanism{r.mtu, r.offload} {
			if said, ok := r.sh(m.Ready, ""); ok != (want == "") || !strings.Contains(said, want) {
				t.Errorf("%q: %q, %v, want %q", text, said, ok, want)
			}
		}
	}
	for _, other := range []string{"rc.conf.local", "rc.conf.d/netif", "rc.conf.d/network"} {
		r := newRCRig(t, hostsOwn)
		r.write("etc/"+other, "ifconfig_ix0=\"DHCP\"\n")
		if said, ok := r.sh(r.mtu.Ready, ""); ok || !strings.Contains(said, "/etc/"+other+" has ifconfig_ix0= too") {
			t.Errorf("%s: %q, %v", other, said, ok)
		}
	}
}
