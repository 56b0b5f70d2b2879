package facts

import (
	"context"
	"testing"

	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
)

// A disk goes by its id where it has one; a recording without /sys/block has
// names only.
func TestDisksHaveIDs(t *testing.T) {
	const disks = `-- sys/class/block/sda/queue/scheduler --
[none]
-- sys/class/block/vdb/queue/scheduler --
[none]
`
	for text, want := range map[string]string{
		disks: "",
		disks + `-- sys/block/sda/device/wwid --
naa.600
-- sys/block/vdb/size --
1
`: "wwid:naa.600",
	} {
		var f model.Facts
		if err := readDisks(context.Background(), kerneltest.Parse([]byte(text)), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Disks) != 2 || f.Disks[0].Device != want || f.Disks[1].Device != "" {
			t.Errorf("%+v, want %q", f.Disks, want)
		}
	}
}
