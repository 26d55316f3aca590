package executor

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"
)

// ifaceWait is how long the address of a host's name is waited for.
const ifaceWait = 5 * time.Second

// ifaceOf is the network interface that has the address of host, for programs
// that want its name; empty where none has, as behind address translation.
func ifaceOf(host string) string {
	ctx, cancel := context.WithTimeout(context.Background(), ifaceWait)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return ""
	}
	for i, a := range addresses {
		addresses[i] = a.Unmap().WithZone("")
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range interfaces {
		own, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range own {
			if p, err := netip.ParsePrefix(a.String()); err == nil && slices.Contains(addresses, p.Addr().Unmap()) {
				return i.Name
			}
		}
	}
	return ""
}
