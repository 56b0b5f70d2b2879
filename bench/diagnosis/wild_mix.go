package main

import (
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// byMixing are two causes at once, of which one may hide the other, causes that are there
// for a part of a run only, and ends that are unusual without being wrong.
func byMixing() []mechanism {
	at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) mechanism {
		return mechanism{name: name, class: "mix", right: right, low: low, high: high, unit: unit, hooks: hooks}
	}
	works := func(m mechanism, change func(w *model.Workload, v float64)) mechanism {
		m.workload = change
		return m
	}
	sometimes := func(on, off time.Duration, change func(s *topology.Shape, v float64)) func(v float64) []hook {
		return func(v float64) []hook {
			return only(pulses(farLink, 0, on, off, func(s *topology.Shape) { change(s, v) }))
		}
	}
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	// A shaper above what the losses leave holds bursts back, and the rate not.
	shaped := text("tbf rate %.0fkbit burst 20k limit 2m", 0.9*float64(wildRate)/1e3)
	return []mechanism{
		at("losses-under-a-loose-shaper", is(model.PathLoss), 0.001, 0.02, "lost, 270 Mbit/s shaped", func(v float64) []hook {
			return only(qdisc(sender, "eth0", shaped), losing(v))
		}),
		works(at("slow-writer-under-a-loose-shaper", is(model.ApplicationSource), 20e6, 150e6, "bit/s", func(float64) []hook {
			return only(qdisc(sender, "eth0", shaped))
		}), func(w *model.Workload, v float64) { w.Rate = unit.BitRate(v) }),
		at("window-under-a-loose-shaper", is(model.ReceiverWindow), 20e3, 90e3, "bytes of SO_RCVBUF", func(v float64) []hook {
			return only(qdisc(sender, "eth0", shaped), option(receiver, solSocket, soRcvBuf, int(v)))
		}),
		at("tiny-own-queue", is(model.LocalQdisc), 2, 20, "packets", func(v float64) []hook {
			return only(qdisc(sender, "eth0", text("pfifo limit %.0f", v)))
		}),
		works(at("slow-writer-and-losses", is(model.ApplicationSource, model.PathLoss), 0.0003, 0.003, "lost, 100 Mbit/s written", func(v float64) []hook {
			return only(losing(v))
		}), func(w *model.Workload, _ float64) { w.Rate = 100 * unit.Mbit }),
		works(at("slow-reader-with-much-room", is(model.ApplicationSink), 20e6, 150e6, "bit/s read, SO_RCVBUF 3 MB", nil), func(w *model.Workload, v float64) {
			w.ReadRate, w.RecvBuffer = unit.BitRate(v), 3*unit.MB
		}),
		works(at("slow-reader-and-losses", is(model.ApplicationSink, model.PathLoss), 0.0003, 0.003, "lost, 60 Mbit/s read", func(v float64) []hook {
			return only(losing(v))
		}), func(w *model.Workload, _ float64) { w.ReadRate = 60 * unit.Mbit }),
		at("late-and-lost", is(model.PathLoss, model.Reordering), 0.0005, 0.005, "lost, 5% late by 8 ms", func(v float64) []hook {
			return only(link(farLink, 0, func(s *topology.Shape) { s.Loss, s.Reorder, s.ReorderBy = v, 0.05, 8*time.Millisecond }))
		}),
		at("bonded", is(model.Reordering), 1, 12, "ms later, each second packet", func(v float64) []hook {
			return only(link(farLink, 0, func(s *topology.Shape) { s.Reorder, s.ReorderBy = 0.5, ms(v) }))
		}),
		at("small-window-slow-acks", is(model.ReceiverWindow, model.LinkRate), 64, 400, "kbit/s back, SO_RCVBUF 60 kB", func(v float64) []hook {
			return only(qdisc(router, "eth0", text("tbf rate %.0fkbit burst 4k limit 200k", v)), option(receiver, solSocket, soRcvBuf, 60e3))
		}),
		at("polices-with-a-great-burst", is(model.PathQueue), 2000, 20000, "kB/s after 12 MB at once", func(v float64) []hook {
			return only(filter(router, "forward", text("%s limit rate over %.0f kbytes/second burst 12000 kbytes drop", data, v)))
		}),
		at("shapes-with-a-great-burst", is(model.LinkRate, model.PathQueue), 20e3, 200e3, "kbit/s after 10 MB at once", func(v float64) []hook {
			return only(qdisc(router, "eth1", text("tbf rate %.0fkbit burst 10m limit 400k", v)))
		}),
		at("bloated", is(model.LinkRate), 20e3, 200e3, "kbit/s with a queue of 8 MB", func(v float64) []hook {
			return only(qdisc(router, "eth1", text("tbf rate %.0fkbit burst 64k limit 8m", v)))
		}),
		at("loses-later", is(model.PathLoss), 0.002, 0.02, "lost after 60 MB", func(v float64) []hook {
			return only(filter(router, "forward", text("%s ct original bytes > 60000000 numgen random mod 100000 < %.0f drop", data, 1e5*v)))
		}),
		at("loses-at-first", is(model.PathLoss), 0.002, 0.02, "lost of the first 15 MB", func(v float64) []hook {
			return only(filter(router, "forward", text("%s ct original bytes > 100000 ct original bytes < 15000000 numgen random mod 100000 < %.0f drop", data, 1e5*v)))
		}),
		at("window-shrinks-later", is(model.ReceiverWindow), 200, 4000, "in each ACK's window after 60 MB", func(v float64) []hook {
			return only(filter(router, "forward", text("%s tcp flags & (syn|ack) == ack ct original bytes > 60000000 tcp window set %.0f", acks, v)))
		}),
		at("slow-for-a-while", is(model.LinkRate, model.PathQueue), 0.05, 0.5, "of the rate, 2 s of each 6 s", sometimes(2*time.Second, 4*time.Second, func(s *topology.Shape, v float64) {
			s.Rate = wildRate * unit.BitRate(v)
		})),
		at("lossy-for-a-while", is(model.PathLoss), 0.002, 0.05, "lost, 2 s of each 6 s", sometimes(2*time.Second, 4*time.Second, func(s *topology.Shape, v float64) {
			s.Loss = v
		})),
		at("longer-way-for-a-while", nil, 20, 150, "ms more, 2 s of each 6 s", sometimes(2*time.Second, 4*time.Second, func(s *topology.Shape, v float64) {
			s.Delay += ms(v)
		})),
		at("loses-and-slows-in-turn", is(model.PathLoss, model.LinkRate, model.PathQueue), 0.1, 0.5, "of the rate, 1% lost otherwise", func(v float64) []hook {
			return append(only(losing(0.01)), pulses(farLink, 0, 1500*time.Millisecond, 1500*time.Millisecond, func(s *topology.Shape) {
				s.Loss, s.Rate = 0, wildRate*unit.BitRate(v)
			}))
		}),
		at("small-window-and-gone-at-times", is(model.ReceiverWindow, model.PathLoss, model.Outage), 0.2, 1.2, "s of each 3 s gone, SO_RCVBUF 200 kB", func(v float64) []hook {
			gone := time.Duration(v * float64(time.Second))
			return only(pulses(farLink, 0, gone, 3*time.Second-gone, func(s *topology.Shape) { s.Loss = 1 }), option(receiver, solSocket, soRcvBuf, 200e3))
		}),
		works(at("slow-writer-and-gone-at-times", is(model.ApplicationSource, model.PathLoss, model.Outage), 0.2, 1.2, "s of each 3 s gone, 150 Mbit/s written", func(v float64) []hook {
			gone := time.Duration(v * float64(time.Second))
			return only(pulses(farLink, 0, gone, 3*time.Second-gone, func(s *topology.Shape) { s.Loss = 1 }))
		}), func(w *model.Workload, _ float64) { w.Rate = 150 * unit.Mbit }),
		works(at("one-paced-of-two", is(model.Pacing, model.PathLoss), 0.0005, 0.005, "lost, 4 connections paced at 30 Mbit/s", func(v float64) []hook {
			return only(losing(v))
		}), func(w *model.Workload, _ float64) { w.MaxPacing, w.Streams = 30*unit.Mbit, 4 }),
		works(at("buffer-behind-a-queue", is(model.LinkRate, model.PathQueue), 20e3, 120e3, "kbit/s, SO_SNDBUF 300 kB", func(v float64) []hook {
			return only(qdisc(router, "eth1", text("tbf rate %.0fkbit burst 64k limit 2m", v)))
		}), func(w *model.Workload, _ float64) { w.SendBuffer = 300 * unit.KB }),
		at("busy-now-and-then", is(model.ReceiverCPU, model.ApplicationSink), 0.3, 1.5, "s of each 3 s stopped", func(v float64) []hook {
			off := time.Duration(v * float64(time.Second))
			return only(halts(receiver, 3*time.Second-off, off))
		}),
		at("writes-in-bursts", is(model.ApplicationSource, model.SenderCPU), 0.3, 1.5, "s of each 3 s stopped", func(v float64) []hook {
			off := time.Duration(v * float64(time.Second))
			return only(halts(sender, 3*time.Second-off, off))
		}),
		at("others-for-a-while", is(model.LinkRate, model.PathQueue), 0.5, 1, "of the rate, 2 s of each 6 s", func(v float64) []hook {
			return only(blasts(router, receiverAddr, v*float64(wildRate), 2*time.Second, 4*time.Second))
		}),
	}
}

// byStoragePath are faults of the path to a server, which a client's requests feel as time
// alone, by themselves and beside a slow disk.
func byStoragePath() []mechanism {
	const line, toClient, toServer = "client1-server1", 1, 0
	var out []mechanism
	for _, r := range storageRoads() {
		at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) {
			out = append(out, mechanism{road: r, name: string(r) + "-" + name, class: "mix", right: right, low: low, high: high, unit: unit, hooks: hooks})
		}
		loses := func(v float64) hook { return link(line, toClient, func(s *topology.Shape) { s.Loss = v }) }
		at("path-loses", is(model.PathLoss), 0.0005, 0.03, "lost", func(v float64) []hook { return only(loses(v)) })
		at("path-gone-at-times", is(model.PathLoss, model.Outage), 0.1, 0.6, "s of each 1.5 s", func(v float64) []hook {
			gone := time.Duration(v * float64(time.Second))
			return only(pulses(line, toClient, gone, 1500*time.Millisecond-gone, func(s *topology.Shape) { s.Loss = 1 }))
		})
		at("acks-slow", is(model.LinkRate), 64, 1000, "kbit/s to the server", func(v float64) []hook {
			return only(link(line, toServer, func(s *topology.Shape) { s.Rate, s.Queue = unit.BitRate(1000*v), 32*unit.KB }))
		})
		at("path-late", is(model.Reordering, model.PathLoss), 2, 30, "% late by 6 ms", func(v float64) []hook {
			return only(link(line, toClient, func(s *topology.Shape) { s.Reorder, s.ReorderBy = v/100, 6*time.Millisecond }))
		})
		at("path-slow-for-a-while", is(model.LinkRate, model.PathQueue), 0.1, 0.6, "of the rate, 2 s of each 6 s", func(v float64) []hook {
			return only(pulses(line, toClient, 2*time.Second, 4*time.Second, func(s *topology.Shape) { s.Rate = storageRate * unit.BitRate(v) }))
		})
		if r != smbRoad {
			at("path-loses-before-a-slow-disk", is(model.PathLoss, model.ServerTime), 0.0005, 0.01, "lost, the disk has 15 MB/s", func(v float64) []hook {
				return only(loses(v), throttled("read_bps_device", "15000000"))
			})
		}
	}
	return out
}
