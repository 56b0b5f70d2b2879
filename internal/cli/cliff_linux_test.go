package cli

import (
	"strings"
	"testing"
)

// cachedDisk is a slow disk behind a write cache of 30 MiB (dm-writecache), as a controller or
// flash has one. It is written past the page cache at a steady 2 MiB/s, which the cache takes
// until it is full; what lies behind it takes a second for each piece (dm-delay). A machine that
// stands still meanwhile writes another picture, so that it may be made twice.
const cachedDisk = `
export DM_DISABLE_UDEV=1
modprobe -a dm-mod dm-writecache dm-delay && modprobe brd rd_nr=2 rd_size=65536 && command -v dmsetup >/dev/null || { echo LACKS; exit 0; }
S=$(blockdev --getsz /dev/ram0)
dmsetup create cache --table "0 61440 linear /dev/ram1 0"
dmsetup create slow --table "0 $S delay /dev/ram0 0 0 /dev/ram0 0 1000"
for try in 1 2; do
	dd if=/dev/zero of=/dev/mapper/cache bs=1M count=1 conv=fsync 2>/dev/null
	dmsetup create disk --table "0 $S writecache s /dev/mapper/slow /dev/mapper/cache 4096 2 writeback_jobs 1"
	dmsetup mknodes
	$L load block /dev/mapper/disk --pattern random --read 0 --block 64k --qd 4 --rate 32 --arrivals uniform --direct --for 40s --destroy /dev/mapper/disk --json > /run/load.json
	sed 's/^/JSON /' /run/load.json | grep -E '"(kind|cache|at_s|after_bytes|before_bytes_per_s|behind_bytes_per_s)"|cliff'
	grep -o '"written_bytes": [0-9]*' /run/load.json | tr '\n' ' '; echo
	grep -q '"kind": "cliff"' /run/load.json && break
	dmsetup remove disk
done
$L report last -o /run/page.html >/dev/null && grep -o 'cliff at [0-9]* s' /run/page.html | head -1 | sed 's/^/PAGE /'
`

func TestCliffOfACachedDiskOnAKernelHost(t *testing.T) {
	out := onKernelHost(t, "back-to-back", "server1", cachedDisk)
	if strings.Contains(out, "LACKS") {
		t.Skip("needs dmsetup, and the modules dm-writecache, dm-delay and brd for User-Mode Linux")
	}
	for _, want := range []string{`"kind": "cliff"`, `"cache": "target"`, "a cliff: it fell from", "PAGE cliff at "} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %s", want)
		}
	}
}
