package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OwnEstats are the calls of this host: of iphlpapi.dll, as learn.microsoft.com documents them.
func OwnEstats() (Estats, error) {
	if strconv.IntSize != 64 {
		return nil, unsupported("read TCP statistics in a 32-bit program")
	}
	dll := windows.NewLazySystemDLL("iphlpapi.dll")
	e := iphlpapi{
		table: dll.NewProc("GetExtendedTcpTable"),
		get:   [2]*windows.LazyProc{dll.NewProc("GetPerTcpConnectionEStats"), dll.NewProc("GetPerTcp6ConnectionEStats")},
		set:   [2]*windows.LazyProc{dll.NewProc("SetPerTcpConnectionEStats"), dll.NewProc("SetPerTcp6ConnectionEStats")},
	}
	for _, p := range []*windows.LazyProc{e.table, e.get[0], e.get[1], e.set[0], e.set[1]} {
		if err := p.Find(); err != nil {
			return nil, fmt.Errorf("read TCP statistics: this Windows does not show them: %w", err)
		}
	}
	return e, nil
}

type iphlpapi struct {
	table    *windows.LazyProc
	get, set [2]*windows.LazyProc // IPv4, IPv6
}

// Table asks again while the table outgrows the room for it.
func (e iphlpapi) Table(ipv6 bool) ([]byte, error) {
	const connections = 4 // TCP_TABLE_OWNER_PID_CONNECTIONS
	family := uintptr(windows.AF_INET)
	if ipv6 {
		family = windows.AF_INET6
	}
	size := uint32(64 << 10)
	for range 10 {
		b := make([]byte, size)
		code, _, _ := e.table.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0, family, connections, 0)
		if code == 0 {
			return b[:min(int(size), len(b))], nil
		}
		if windows.Errno(code) != windows.ERROR_INSUFFICIENT_BUFFER {
			return nil, windows.Errno(code)
		}
		size += 16 << 10 // connections that came meanwhile
	}
	return nil, errors.New("the table grows faster than it can be read")
}

func (e iphlpapi) Read(row []byte, g EstatsGroup, rod []byte) (byte, error) {
	var rw byte
	code, _, _ := e.get[kindOf(row)].Call(uintptr(unsafe.Pointer(&row[0])), uintptr(g),
		uintptr(unsafe.Pointer(&rw)), 0, 1, 0, 0, 0, uintptr(unsafe.Pointer(&rod[0])), 0, uintptr(len(rod)))
	runtime.KeepAlive(row)
	return rw, estatsError(code)
}

func (e iphlpapi) Switch(row []byte, g EstatsGroup, on bool) error {
	var rw byte
	if on {
		rw = 1
	}
	code, _, _ := e.set[kindOf(row)].Call(uintptr(unsafe.Pointer(&row[0])), uintptr(g), uintptr(unsafe.Pointer(&rw)), 0, 1, 0)
	runtime.KeepAlive(row)
	return estatsError(code)
}

func kindOf(row []byte) int {
	if len(row) == plainRow6 {
		return 1
	}
	return 0
}

// estatsError is a code that the calls return; ERROR_ACCESS_DENIED is fs.ErrPermission.
func estatsError(code uintptr) error {
	switch windows.Errno(code) {
	case 0:
		return nil
	case windows.ERROR_NOT_FOUND:
		return ErrNoConn
	}
	return windows.Errno(code)
}
