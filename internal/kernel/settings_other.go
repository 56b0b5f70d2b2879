//go:build !linux

package kernel

// ReadLink is not available on this operating system yet.
func ReadLink(string) (LinkState, error) { return LinkState{}, notHere("read an interface") }

// SetMTU is not available on this operating system yet.
func SetMTU(string, int) error { return notHere("set MTU") }

// SetTxQueueLen is not available on this operating system yet.
func SetTxQueueLen(string, int) error { return notHere("set transmit queue length") }

// ReadEth is not available on this operating system yet.
func ReadEth(string, EthGroup) (map[string]int64, error) { return nil, notHere("ask the driver") }

// SetEth is not available on this operating system yet.
func SetEth(string, EthGroup, map[string]int64) error { return notHere("set the driver") }

// ReadRSS is not available on this operating system yet.
func ReadRSS(string) (RSS, error) { return RSS{}, notHere("read the RSS table") }

// SetRSS is not available on this operating system yet.
func SetRSS(string, []uint32) error { return notHere("set the RSS table") }

// ReadRoute is not available on this operating system yet.
func ReadRoute(RouteKey) (RouteMetrics, error) { return RouteMetrics{}, notHere("read a route") }

// SetRoute is not available on this operating system yet.
func SetRoute(RouteKey, RouteMetrics) error { return notHere("change a route") }

// ReadQdisc is not available on this operating system yet.
func ReadQdisc(string) (Qdisc, error) { return Qdisc{}, notHere("read a queueing discipline") }

// SetQdisc is not available on this operating system yet.
func SetQdisc(string, string) error { return notHere("set a queueing discipline") }

// SetFQMaxRate is not available on this operating system yet.
func SetFQMaxRate(string, uint32) error { return notHere("pace an interface") }
