package data

import (
	"net/netip"
	"time"

	"linerate/internal/model"
)

type run struct {
	Label    string     `parquet:"label"`
	Started  *time.Time `parquet:"started,optional,timestamp(nanosecond)"`
	Sender   string     `parquet:"sender"`
	Receiver string     `parquet:"receiver"`
	From     string     `parquet:"from"`
	To       string     `parquet:"to"`
	Streams  int64      `parquet:"streams"` // 0: watched only
	CC       string     `parquet:"cc"`
	Warmup   int64      `parquet:"warmup_ns"`
	Window   int64      `parquet:"window_ns"`
	Bytes    int64      `parquet:"bytes"`
	Goodput  float64    `parquet:"goodput_bps"`
	Warnings int64      `parquet:"warnings"`
}

func runs(all []model.Run) writer {
	var out rows[run]
	for _, r := range all {
		w := r.Workload
		out = append(out, run{r.Label, moment(r.Started), w.Sender, w.Receiver, address(w.From), address(w.To), int64(w.Streams), w.CC, int64(w.Warmup), int64(r.Window),
			int64(r.Bytes), float64(r.Goodput), int64(len(r.Warnings))})
	}
	return out
}

type point struct {
	Name  string  `parquet:"name"`
	From  int64   `parquet:"from_s"` // of the measured part
	To    int64   `parquet:"to_s"`
	Value float64 `parquet:"value"` // mean over that time
	Unit  string  `parquet:"unit"`
}

func series(l *model.Load) writer {
	var out rows[point]
	for _, s := range l.Series {
		each := int64(max(1, s.Each))
		for i, v := range s.Values {
			out = append(out, point{s.Name, int64(i) * each, (int64(i) + 1) * each, v, s.Unit})
		}
	}
	return out
}

func address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

type connection struct {
	Run           string  `parquet:"run"`
	Host          string  `parquet:"host"`
	At            int64   `parquet:"at_ns"` // on the controller's clock, from the start of the run
	Local         string  `parquet:"local"`
	Remote        string  `parquet:"remote"`
	CC            string  `parquet:"cc"`
	State         int64   `parquet:"state"`
	RTT           int64   `parquet:"rtt_ns"`
	RTTVar        int64   `parquet:"rttvar_ns"`
	MinRTT        int64   `parquet:"min_rtt_ns"`
	MSS           int64   `parquet:"snd_mss"`
	Cwnd          int64   `parquet:"cwnd"`
	Ssthresh      int64   `parquet:"ssthresh"`
	Unacked       int64   `parquet:"unacked"`
	Lost          int64   `parquet:"lost"`
	Retrans       int64   `parquet:"total_retrans"`
	BytesAcked    int64   `parquet:"bytes_acked"`
	BytesReceived int64   `parquet:"bytes_received"`
	BytesSent     int64   `parquet:"bytes_sent"`
	BytesRetrans  int64   `parquet:"bytes_retrans"`
	DeliveryRate  float64 `parquet:"delivery_rate_bps"`
	PacingRate    float64 `parquet:"pacing_bps"` // negative: not paced
	Busy          int64   `parquet:"busy_ns"`
	RwndLimited   int64   `parquet:"rwnd_limited_ns"`
	SndbufLimited int64   `parquet:"sndbuf_limited_ns"`
	SndWnd        int64   `parquet:"snd_wnd"`
	RcvWnd        int64   `parquet:"rcv_wnd"`
	RecvQ         int64   `parquet:"recv_q"`
	SendQ         int64   `parquet:"send_q"`
	RcvBuf        int64   `parquet:"rcvbuf"`
	SndBuf        int64   `parquet:"sndbuf"`
	InfoLen       int64   `parquet:"info_len"` // what lies past it the kernel did not give: 0 there says nothing
	From          string  `parquet:"from"`     // empty: tcp_info; else what showed it, and much is 0 because it is not shown
}

// each calls f for every sample, by run, then host, then time.
func each(labels []string, s Samples, f func(run, host string, x model.Sample)) {
	for _, l := range labels {
		for _, h := range sorted(s[l]) {
			for _, x := range s[l][h] {
				f(l, h, x)
			}
		}
	}
}

func connections(labels []string, s Samples) writer {
	var out rows[connection]
	each(labels, s, func(run, host string, x model.Sample) {
		for _, c := range x.Conns {
			out = append(out, connection{run, host, int64(x.At), c.Local.String(), c.Remote.String(), c.CC, int64(c.State), int64(c.RTT), int64(c.RTTVar), int64(c.MinRTT),
				int64(c.SndMSS), int64(c.Cwnd), int64(c.Ssthresh), int64(c.Unacked), int64(c.Lost), int64(c.TotalRetrans), c.BytesAcked, c.BytesReceived, c.BytesSent, c.BytesRetrans,
				float64(c.DeliveryRate), float64(c.PacingRate), int64(c.Busy), int64(c.RwndLimited), int64(c.SndbufLimited), c.SndWnd, c.RcvWnd, c.RecvQ, c.SendQ, c.RcvBuf, c.SndBuf, int64(c.InfoLen), string(c.From)})
		}
	})
	return out
}

type cpu struct {
	Run     string `parquet:"run"`
	Host    string `parquet:"host"`
	At      int64  `parquet:"at_ns"`
	CPU     int64  `parquet:"cpu"`
	User    int64  `parquet:"user_ns"`
	System  int64  `parquet:"system_ns"`
	SoftIRQ int64  `parquet:"softirq_ns"`
	IRQ     int64  `parquet:"irq_ns"`
	Idle    int64  `parquet:"idle_ns"`
	IOWait  int64  `parquet:"iowait_ns"`
	Steal   int64  `parquet:"steal_ns"`
}

func cpus(labels []string, s Samples) writer {
	var out rows[cpu]
	each(labels, s, func(run, host string, x model.Sample) {
		for _, c := range x.CPUs {
			out = append(out, cpu{run, host, int64(x.At), int64(c.CPU), int64(c.User), int64(c.System), int64(c.SoftIRQ), int64(c.IRQ), int64(c.Idle), int64(c.IOWait), int64(c.Steal)})
		}
	})
	return out
}

type iface struct {
	Run       string `parquet:"run"`
	Host      string `parquet:"host"`
	At        int64  `parquet:"at_ns"`
	Name      string `parquet:"name"`
	RxBytes   int64  `parquet:"rx_bytes"`
	TxBytes   int64  `parquet:"tx_bytes"`
	RxPackets int64  `parquet:"rx_packets"`
	TxPackets int64  `parquet:"tx_packets"`
	RxErrors  int64  `parquet:"rx_errors"`
	TxErrors  int64  `parquet:"tx_errors"`
	RxDropped int64  `parquet:"rx_dropped"`
	TxDropped int64  `parquet:"tx_dropped"`
	RxCRC     int64  `parquet:"rx_crc"`
	RxMissed  int64  `parquet:"rx_missed"`
}

func interfaces(labels []string, s Samples) writer {
	var out rows[iface]
	each(labels, s, func(run, host string, x model.Sample) {
		for _, n := range x.NICs {
			out = append(out, iface{run, host, int64(x.At), n.Name, n.RxBytes, n.TxBytes, n.RxPackets, n.TxPackets, n.RxErrors, n.TxErrors, n.RxDropped, n.TxDropped, n.RxCRC, n.RxMissed})
		}
	})
	return out
}
