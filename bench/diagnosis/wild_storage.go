package main

import (
	"time"

	"linerate/internal/lab/fault"
	"linerate/internal/model"
)

// Faults of storage that are in no catalogue: at the server's disk, its CPU and its
// daemons, and at the client that reads. They act on the storage roads (storage.go), where
// the diagnosis sees the client alone, and both ends in a second view.

// diskOf is shell that finds the disk that a kernel host serves from: its name in D, its
// number in N and its mount in M. G is the control group that bounds it.
const diskOf = `set -- $(awk '$3=="ext4" && $2 ~ "^/srv/" {print $1, $2; exit}' /proc/mounts); D=${1##*/}; M=$2; N=$(cat /sys/block/$D/dev); G=/run/blkio; `

// throttled bounds what the server's disk carries, by a file of the block layer's limits.
func throttled(file string, value string) hook {
	at := `"$G/blkio.throttle.` + file + `"`
	return shell(receiver, diskOf+`echo "$N `+value+`" >`+at, diskOf+`echo "$N 0" >`+at)
}

// diskStalls lets the server's disk do next to nothing for v seconds of each 1.5.
func diskStalls(v float64) []hook {
	const at = `"$G/blkio.throttle.read_bps_device"`
	return only(shell(receiver, "true", diskOf+`echo "$N 0" >`+at),
		runs(receiver, "stalls", "sh", "-c", diskOf+text(`while :; do echo "$N 65536" >%s; sleep %.2f; echo "$N 0" >%s; sleep %.2f; done`, at, v, at, 1.5-v)))
}

// burners compute on a host, without end, n of them.
func burners(host, nice string, n float64) []hook {
	var out []hook
	for range int(n + 0.5) {
		out = append(out, runs(host, "burner", "nice", "-n", nice, "sh", "-c", "while :; do :; done"))
	}
	return out
}

// seizes takes the CPU of a host with a kernel of its own, before all else, for busy of
// each period.
func seizes(host string, busy float64, period time.Duration) hook {
	s := period.Seconds()
	return runs(host, "seizes", "chrt", "-f", "20", "sh", "-c",
		text(`while :; do timeout %.3f chrt -f 10 sh -c 'while :; do :; done'; sleep %.3f; done`, busy*s, (1-busy)*s))
}

// readerStops stops the reader for off of each period, on a client with a kernel and
// processes of its own.
func readerStops(share float64, period time.Duration) []hook {
	const all = "$(pgrep -f 'judge-rea[d]')"
	s := period.Seconds()
	return only(shell(sender, "true", "kill -CONT "+all+" 2>/dev/null || true"),
		looped(sender, text("sleep %.3f; P=%s; kill -STOP $P 2>/dev/null; sleep %.3f; kill -CONT $P 2>/dev/null", s*(1-share), all, s*share)))
}

// storageAddr is the data address of a host on the storage roads.
func storageAddr(host string) string {
	if host == receiver {
		return "10.77.0.2"
	}
	return "10.77.0.1"
}

// daemonStops stops the processes that hold the server's connections for off at once.
func daemonStops(share float64, off time.Duration) hook {
	on := time.Duration(float64(off) * (1/share - 1))
	return runs(receiver, "halt", fault.Self, meddleRole, "halt", storageAddr(receiver), on.String(), off.String())
}

// clientFile writes an attribute of the client's iSCSI disk.
func clientFile(file string, v float64) hook {
	const at = `F=$(ls -d /sys/block/sd?/queue | head -1)/`
	return shell(sender, at+file+text(`; cp $F /run/was-%s; echo %.0f >$F`, file, v), at+file+text(`; cat /run/was-%s >$F`, file))
}

// byStorage are those of NFS, SMB and iSCSI.
func byStorage() []mechanism {
	var out []mechanism
	at := func(r fault.Road, name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) {
		out = append(out, mechanism{road: r, name: string(r) + "-" + name, class: "storage", right: right, low: low, high: high, unit: unit, hooks: hooks})
	}
	slow := is(model.ServerTime)
	for _, r := range []fault.Road{nfsRoad, iscsiRoad} {
		at(r, "disk-requests", slow, 15, 300, "requests/s of the server's disk", func(v float64) []hook {
			return only(throttled("read_iops_device", text("%.0f", v)))
		})
		at(r, "disk-stalls", slow, 0.2, 1, "s of each 1.5 s the server's disk stands still", diskStalls)
		at(r, "server-crowded", slow, 1, 6, "programs compute on the server", func(v float64) []hook { return burners(receiver, "0", v) })
	}
	for _, r := range []fault.Road{nfsRoad, smbRoad} {
		at(r, "reader-stops", is(model.ApplicationSink, model.ReceiverCPU), 0.4, 0.85, "of each second the reader is stopped", func(v float64) []hook { return readerStops(v, time.Second) })
		at(r, "client-crowded", is(model.ReceiverCPU, model.ApplicationSink), 2, 8, "programs compute on the client", func(v float64) []hook { return burners(sender, "-5", v) })
	}
	at(nfsRoad, "server-seized", slow, 0.3, 0.8, "of each 0.4 s the server's CPU is another's", func(v float64) []hook {
		return only(seizes(receiver, v, 400*time.Millisecond))
	})
	at(nfsRoad, "disk-shared", slow, 2, 8, "others read the server's disk, which carries 60 MB/s", func(v float64) []hook {
		h := only(throttled("read_bps_device", "60000000"))
		for range int(v + 0.5) {
			h = append(h, runs(receiver, "other reader", "sh", "-c", diskOf+`while :; do dd if=/dev/$D of=/dev/null bs=1M count=200 iflag=direct status=none; done`))
		}
		return h
	})
	at(nfsRoad, "frozen-at-times", nil, 0.2, 0.8, "s of each 1.5 s the file system is frozen, which stops writers alone", func(v float64) []hook {
		return only(shell(receiver, "true", diskOf+`fsfreeze -u $M 2>/dev/null || true`),
			runs(receiver, "freezes", "sh", "-c", diskOf+text(`while :; do fsfreeze -f $M; sleep %.2f; fsfreeze -u $M; sleep %.2f; done`, v, 1.5-v)))
	})
	at(nfsRoad, "disk-reads-little-ahead", slow, 4, 64, "KiB read ahead on a disk of 200 requests/s", func(v float64) []hook {
		return only(throttled("read_iops_device", "200"),
			shell(receiver, diskOf+text(`F=/sys/block/$D/queue/read_ahead_kb; cp $F /run/was-ahead; echo %.0f >$F`, v), diskOf+`cat /run/was-ahead >/sys/block/$D/queue/read_ahead_kb`))
	})
	at(iscsiRoad, "little-read-ahead", is(model.RequestConcurrency, model.ApplicationSink), 16, 256, "KiB read ahead by the client", func(v float64) []hook { return only(clientFile("read_ahead_kb", v)) })
	at(smbRoad, "daemon-stops", slow, 0.3, 0.8, "of the time the server's daemon is stopped, 100 ms at once", func(v float64) []hook {
		return only(daemonStops(v, 100*time.Millisecond))
	})
	at(smbRoad, "daemon-stops-long", slow, 0.2, 0.7, "of the time the server's daemon is stopped, 700 ms at once", func(v float64) []hook {
		return only(daemonStops(v, 700*time.Millisecond))
	})
	at(smbRoad, "daemon-quota", slow, 2, 12, "% of a core for the server's daemon", func(v float64) []hook {
		return only(group(receiver, "cpu", "cpu.cfs_period_us", "100000"), group(receiver, "cpu", "cpu.cfs_quota_us", text("%.0f", 1000*v)))
	})
	return out
}
