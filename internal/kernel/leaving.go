package kernel

import (
	"fmt"
	"net"
)

// HardwareAddrs lists the hardware address of each interface that has one.
func HardwareAddrs() (map[string]string, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list hardware addresses: %w", err)
	}
	out := map[string]string{}
	for _, i := range list {
		if len(i.HardwareAddr) > 0 {
			out[i.Name] = i.HardwareAddr.String()
		}
	}
	return out, nil
}
