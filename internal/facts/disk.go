package facts

import (
	"context"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// diskName matches the block devices that store data: no loop devices, RAM disks or optical
// drives.
const diskName = `^(sd[a-z]+|nvme\d+n\d+|vd[a-z]+|xvd[a-z]+|md\d+|dm-\d+)$`

// readDisks reads the queue of every whole disk.
func readDisks(_ context.Context, src kernel.Source, f *model.Facts) error {
	names, err := listed(src, "/sys/class/block")
	if err != nil {
		return err
	}
	whole := regexp.MustCompile(diskName)
	ids, _ := kernel.BlockIDs(src) // a recording may lack them: then its disks go by their names
	for _, name := range names {
		if whole.MatchString(name) {
			d := readDisk(src, name)
			if ids[name] != kernel.BlockByName(name) {
				d.Device = ids[name]
			}
			f.Disks = append(f.Disks, d)
		}
	}
	return nil
}

func readDisk(src kernel.Files, name string) model.Disk {
	dir := "/sys/class/block/" + name
	d := model.Disk{
		Name: name, Rotational: flagged(src, dir+"/queue/rotational"), Scheduler: mapped(word(src, dir+"/queue/scheduler"), parseScheduler),
		Ahead: kib(src, dir+"/queue/read_ahead_kb"), Requests: small(src, dir+"/queue/nr_requests"),
		MaxRequest: kib(src, dir+"/queue/max_sectors_kb"), HWRequest: kib(src, dir+"/queue/max_hw_sectors_kb"),
		Depth: small(src, dir+"/device/queue_depth"),
	}
	if link, err := src.Readlink(dir); err == nil {
		if sid, ok := numbered(link, "session"); ok {
			d.Session = "session" + sid
		}
	}
	// A device that is built on it appears as a link in holders; a recording keeps the link, not
	// the list.
	holders, _ := src.ReadDir(dir + "/holders") // none is the usual case
	for _, h := range holders {
		if _, err := src.Readlink(dir + "/holders/" + h); err == nil {
			d.Holders = append(d.Holders, h)
		}
	}
	return d
}

// parseScheduler returns the one in brackets: "[mq-deadline] kyber none". A device without a
// choice prints one word.
func parseScheduler(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		s, _, _ = strings.Cut(rest, "]")
	}
	return strings.TrimSpace(s)
}

// readISCSI reads the sessions of the kernel's initiator
// (drivers/scsi/scsi_transport_iscsi.c). It reads no password.
func readISCSI(ctx context.Context, src kernel.Source, f *model.Facts) error {
	names, err := listed(src, "/sys/class/iscsi_session")
	if err != nil || len(names) == 0 {
		return err
	}
	conns, err := listed(src, "/sys/class/iscsi_connection")
	if err != nil {
		return err
	}
	tcp, _ := src.TCPConns(ctx, kernel.TCPFilter{}) // without them the local ends are not known
	for _, name := range numberedNames(names, "session") {
		dir := "/sys/class/iscsi_session/" + name + "/"
		s := model.ISCSISession{
			Name: name, Target: word(src, dir+"targetname").Value, State: word(src, dir+"state").Value,
			InitialR2T: flagged(src, dir+"initial_r2t"), Immediate: flagged(src, dir+"immediate_data"),
			FirstBurst: integer(src, dir+"first_burst_len"), MaxBurst: integer(src, dir+"max_burst_len"),
		}
		for _, c := range conns {
			if strings.HasPrefix(c, "connection"+strings.TrimPrefix(name, "session")+":") {
				s.Conns = append(s.Conns, readISCSIConn(src, c, tcp))
			}
		}
		f.ISCSI = append(f.ISCSI, s)
	}
	return nil
}

func readISCSIConn(src kernel.Files, name string, tcp []model.Conn) model.ISCSIConn {
	dir := path.Join("/sys/class/iscsi_connection", name) + "/"
	c := model.ISCSIConn{
		HeaderDigest: flagged(src, dir+"header_digest"), DataDigest: flagged(src, dir+"data_digest"),
		MaxSend: integer(src, dir+"max_xmit_dlength"), MaxRecv: integer(src, dir+"max_recv_dlength"),
	}
	for _, attr := range []string{"", "persistent_"} {
		p, err := parsePortal(word(src, dir+attr+"address").Value, word(src, dir+attr+"port").Value)
		if err == nil {
			c.Portal = p
			break
		}
	}
	for _, t := range tcp {
		if t.State == established && c.Portal.IsValid() && netip.AddrPortFrom(t.Remote.Addr().Unmap(), t.Remote.Port()) == c.Portal {
			c.Local = t.Local.Addr()
			if t.MinRTT > 0 {
				c.MinRTT = model.Known(t.MinRTT)
			}
		}
	}
	return c
}

// readArrays reads the md RAIDs (Documentation/admin-guide/md.rst).
func readArrays(_ context.Context, src kernel.Source, f *model.Facts) error {
	for _, d := range f.Disks {
		if !strings.HasPrefix(d.Name, "md") {
			continue
		}
		dir := "/sys/class/block/" + d.Name + "/md/"
		a := model.Array{
			Name: d.Name, Level: word(src, dir+"level").Value, Action: word(src, dir+"sync_action").Value,
			Degraded: small(src, dir+"degraded"), Stripes: small(src, dir+"stripe_cache_size"),
		}
		if a.Level != "" {
			f.Arrays = append(f.Arrays, a)
		}
	}
	return nil
}
