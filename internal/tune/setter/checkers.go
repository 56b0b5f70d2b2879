package setter

// Checkers are all mechanisms without a host behind them: they tell which ids they own (Owns) and
// which values exist (Canonical), so that a file can be checked without a host. They can read and
// write nothing.
func Checkers() []Setter {
	return []Setter{
		Sysctl{}, Link{}, Features{}, Ethtool{}, RSS{}, Queue{}, Dirty{}, Interrupts(nil, nil), Queues(nil, nil), CPU(nil),
		NewBlock(nil), Route{}, NFSReadAhead(nil), NFSD(nil), Module{}, ZFS{}, ISCSI{}, Samba{}, Mount{}, Remount{}, Service{},
	}
}
