package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// ethtool is a socket for the SIOCETHTOOL ioctl, in the network namespace of the thread that
// opened it. No library makes this ioctl, because the available ones hide the buffer's address
// from the garbage collector and print to stdout, which carries the agent's protocol.
type ethtool struct{ fd int }

func openEthtool() (ethtool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return ethtool{}, fmt.Errorf("open a socket for ethtool: %w", err)
	}
	return ethtool{fd}, nil
}

func (e ethtool) close() { _ = unix.Close(e.fd) } // nothing was written to it

// ifreqData is struct ifreq with ifr_data.
type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

// call passes b, which starts with the command, to the driver, which writes its answer into b.
func (e ethtool) call(ifname string, cmd uint32, b []byte) error {
	if len(ifname) >= unix.IFNAMSIZ {
		return fmt.Errorf("interface name %q is longer than %d characters", ifname, unix.IFNAMSIZ-1)
	}
	binary.NativeEndian.PutUint32(b, cmd)
	req := ifreqData{data: unsafe.Pointer(unsafe.SliceData(b))}
	copy(req.name[:], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	runtime.KeepAlive(b)
	if errno != 0 {
		return errno
	}
	return nil
}

func (e ethtool) featureNames(ifname string) ([]string, error) {
	info := make([]byte, 16+4)
	binary.NativeEndian.PutUint64(info[8:], 1<<ethSetOfStrings)
	if err := e.call(ifname, ethGetSetInfo, info); err != nil {
		return nil, err
	}
	n := min(u32(info, 16), ethMaxFeatures)
	b := make([]byte, 12+ethNameLen*int(n))
	binary.NativeEndian.PutUint32(b[4:], ethSetOfStrings)
	binary.NativeEndian.PutUint32(b[8:], n)
	if err := e.call(ifname, ethGetStrings, b); err != nil {
		return nil, err
	}
	return parseFeatureNames(b), nil
}

func (e ethtool) features(ifname string) (map[string]bool, error) {
	names, err := e.featureNames(ifname)
	if err != nil {
		return nil, err
	}
	blocks := (len(names) + 31) / 32
	b := make([]byte, 8+16*blocks)
	binary.NativeEndian.PutUint32(b[4:], uint32(blocks))
	if err := e.call(ifname, ethGetFeatures, b); err != nil {
		return nil, err
	}
	return parseFeatures(names, b), nil
}

// ReadFeatures returns which offload features of an interface of the calling
// thread's network namespace are active, by the kernel's names
// (tx-tcp-segmentation, rx-gro, …). It needs no privilege.
func ReadFeatures(ifname string) (map[string]bool, error) {
	e, err := openEthtool()
	if err != nil {
		return nil, err
	}
	defer e.close()
	f, err := e.features(ifname)
	if err != nil {
		return nil, fmt.Errorf("read offload features of %s: %w", ifname, err)
	}
	return f, nil
}

// SetFeatures switches offload features on or off, by the kernel's names. The kernel may accept a
// request and leave a feature as it was (a fixed one, or one that another needs), so read back.
// An unknown name is an error, and nothing is changed.
func SetFeatures(ifname string, want map[string]bool) error {
	e, err := openEthtool()
	if err != nil {
		return err
	}
	defer e.close()
	names, err := e.featureNames(ifname)
	if err != nil {
		return fmt.Errorf("read the names of the offload features of %s: %w", ifname, err)
	}
	b, err := featureRequest(names, want)
	if err != nil {
		return fmt.Errorf("%s: %w", ifname, err)
	}
	if err := e.call(ifname, ethSetFeatures, b); err != nil {
		return fmt.Errorf("set offload features of %s: %w", ifname, err)
	}
	return nil
}

// Port reads what the driver of an interface reports.
func (Live) Port(ifname string) Port {
	e, err := openEthtool()
	if err != nil {
		return Port{Driver: lost[string](err), Mbps: lost[int](err), Duplex: lost[string](err), Features: lost[map[string]bool](err)}
	}
	defer e.close()
	var p Port
	b := make([]byte, 196)
	if err := e.call(ifname, ethGetDriver, b); err != nil {
		p.Driver = lost[string](err)
	} else {
		name, firmware, bus := parseDriver(b)
		p.Driver, p.BusInfo = model.Known(name), bus
		p.Firmware = model.Known(firmware)
		if firmware == "" || firmware == "N/A" {
			p.Firmware = model.Unknown[string](model.Unsupported, "the driver names no firmware")
		}
	}
	p.fillEthnl(ifname)
	p.Mbps, p.Duplex = e.settings(ifname)
	f, err := e.features(ifname)
	p.Features = model.Known(f)
	if err != nil {
		p.Features = lost[map[string]bool](err)
	}
	return p
}

func (e ethtool) settings(ifname string) (model.Fact[int], model.Fact[string]) {
	b := make([]byte, 44)
	if err := e.call(ifname, ethGetSettings, b); err != nil {
		return lost[int](err), lost[string](err)
	}
	mbps, duplex := parseSettings(b)
	speed := model.Known(mbps)
	if mbps < 0 {
		speed = model.Unknown[int](model.Unsupported, "the driver reports no speed")
	}
	if duplex == "" {
		return speed, model.Unknown[string](model.Unsupported, "the driver reports no duplex")
	}
	return speed, model.Known(duplex)
}

// lost tells why there is no value, by the error.
func lost[T any](err error) model.Fact[T] {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return model.Unknown[T](model.Denied, err.Error())
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
		return model.Unknown[T](model.Unsupported, "the driver does not tell: "+err.Error())
	}
	return model.Unknown[T](model.Absent, err.Error())
}
