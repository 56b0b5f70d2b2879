//go:build !linux

package kernel

// This file stands for all *_linux.go files on other systems: its functions fail with
// errors.ErrUnsupported, or do nothing where there is nothing to undo.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"time"

	"linerate/internal/model"
)

func unsupported(what string) error {
	return fmt.Errorf("%s: unsupported on %s: %w", what, runtime.GOOS, errors.ErrUnsupported)
}

// OS is the operating system by its GOOS word.
func (Live) OS() string { return runtime.GOOS }
func (Live) TCPConns(context.Context, TCPFilter) ([]model.Conn, error) {
	return nil, unsupported("list TCP connections")
}
func (Live) TCPAgain(context.Context, []model.Conn) ([]model.Conn, error) {
	return nil, unsupported("look up TCP connections")
}
func (Live) Links(context.Context) ([]Link, error) { return nil, unsupported("list interfaces") }
func (Live) Addrs(context.Context) (map[int][]netip.Prefix, error) {
	return nil, unsupported("list addresses")
}
func (Live) Routes(context.Context) ([]model.Route, error) { return nil, unsupported("list routes") }
func (Live) Qdiscs(context.Context) (map[int]model.QdiscCount, error) {
	return nil, unsupported("list queueing disciplines")
}
func (Live) Firewall(context.Context) ([]model.FirewallChain, error) {
	return nil, unsupported("list firewall rules")
}

func (Live) Port(string) Port {
	why := unsupported("ask the driver").Error()
	return Port{
		Driver:   model.Unknown[string](model.Unsupported, why),
		Mbps:     model.Unknown[int](model.Unsupported, why),
		Duplex:   model.Unknown[string](model.Unsupported, why),
		Features: model.Unknown[map[string]bool](model.Unsupported, why),
	}
}
func (Live) Pauses(string) *model.PauseCount       { return nil }
func ReadFeatures(string) (map[string]bool, error) { return nil, unsupported("read offload features") }
func SetFeatures(string, map[string]bool) error    { return unsupported("set offload features") }

func ReadLink(string) (LinkState, error)                 { return LinkState{}, unsupported("read an interface") }
func SetMTU(string, int) error                           { return unsupported("set MTU") }
func SetTxQueueLen(string, int) error                    { return unsupported("set transmit queue length") }
func Remount(string, []string, string) error             { return unsupported("remount") }
func ReadEth(string, EthGroup) (map[string]int64, error) { return nil, unsupported("ask the driver") }
func SetEth(string, EthGroup, map[string]int64) error    { return unsupported("set the driver") }
func ReadRSS(string) (RSS, error)                        { return RSS{}, unsupported("read the RSS table") }
func SetRSS(string, []uint32) error                      { return unsupported("set the RSS table") }
func ReadRoute(RouteKey) (RouteMetrics, error)           { return RouteMetrics{}, unsupported("read a route") }
func SetRoute(RouteKey, RouteMetrics) error              { return unsupported("change a route") }
func ReadQdisc(string) (Qdisc, error)                    { return Qdisc{}, unsupported("read a queueing discipline") }
func SetQdisc(string, string) error                      { return unsupported("set a queueing discipline") }
func SetFQMaxRate(string, uint32) error                  { return unsupported("pace an interface") }

func AddVeth(v Veth) error                         { return unsupported("make veth pair " + v.Name) }
func DeleteInterface(name string) error            { return unsupported("remove interface " + name) }
func SetInterface(want Interface) error            { return unsupported("set interface " + want.Name) }
func AddRoute(to netip.Prefix, _ netip.Addr) error { return unsupported("add route to " + to.String()) }
func SetTokenBucket(t TokenBucket) error           { return unsupported("shape " + t.Dev) }
func SetNetem(n Netem) error                       { return unsupported("put netem on " + n.Dev) }

func AddBridge(name string, _ int, _ ...string) error { return unsupported("make bridge " + name) }

func LeavingTo(netip.Addr, netip.Addr) (model.Leaving, error) {
	return model.Leaving{}, unsupported("find a route")
}

func HearLLDP(context.Context, time.Duration) ([]Heard, error) { return nil, unsupported("hear LLDP") }

func PingWhole(context.Context, netip.Addr, int) error {
	return unsupported("send a packet that must not be fragmented")
}

// InNewNamespaces leaves cmd as it is: the functions that the process would call there fail.
func InNewNamespaces(*exec.Cmd, Namespaces) {}

func Detach(*exec.Cmd)                 {}
func SetHostname(string) error         { return unsupported("set host name") }
func MountOwnSys() error               { return unsupported("mount /sys") }
func JoinNamespaces(int, uint64) error { return unsupported("enter namespaces") }
func JoinNetwork(int, uint64) error    { return unsupported("enter network namespace") }
func Replace([]string, []string) error { return unsupported("replace process") }
func EndGroup(int) error               { return unsupported("end process group") }
func KillProcess(int, uint64) error    { return unsupported("end process") }

func HasNetAdmin() (bool, error) { return false, unsupported("read capabilities") }
func RunInUserNamespace(*exec.Cmd, <-chan os.Signal) error {
	return unsupported("make user namespace")
}
func PrivateDir(string) error { return unsupported("make private directory") }

func OwnedByMe(string) bool { return false }

func Affinity() ([]int, error)           { return nil, unsupported("read CPU affinity") }
func SetAffinity([]int) error            { return unsupported("bind to CPUs") }
func SetThreadAffinity(int, []int) error { return unsupported("bind to CPUs") }
func SetNice(int, int) error             { return unsupported("set nice value") }
func RunFirst() error                    { return unsupported("set real-time priority") }
func PreciseTimers() error               { return unsupported("set timer slack") }

type PacketPort struct{}

func OpenPacketPort(name string, _ int) (*PacketPort, error) {
	return nil, unsupported("open packet port " + name)
}
func (*PacketPort) Next() ([]byte, time.Time) { return nil, time.Time{} }
func (*PacketPort) Release()                  {}

type PacketPoller struct{}

func NewPacketPoller(...*PacketPort) *PacketPoller   { return &PacketPoller{} }
func (*PacketPoller) Wait(time.Duration, bool) error { return unsupported("wait for frames") }
func (*PacketPort) Send([]byte) (bool, error)        { return false, unsupported("send frame") }
func (*PacketPort) Drops() (uint64, error)           { return 0, unsupported("read packet statistics") }
func (*PacketPort) Close() error                     { return nil }

func LoadModule(string, string) error { return unsupported("load module") }
func (m Mount) Do() error             { return unsupported("mount " + m.Source) }
func SwitchRoot(string) error         { return unsupported("switch root") }
func OpenVirtioPort(context.Context, string) (*os.File, error) {
	return nil, unsupported("open virtio port")
}

func SocketPair() (near, far *os.File, err error) { return nil, nil, unsupported("make cable") }
func AddTap(string, int) error                    { return unsupported("make tap") }
func RenameInterface(string, string) error        { return unsupported("rename interface") }
func Confine(string, string) error                { return unsupported("make mounts of its own") }
