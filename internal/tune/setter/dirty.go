package setter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Dirty sets how much written data may wait in memory. The kernel has two forms of each bound, a
// share of memory and bytes, and writing one sets the other to 0
// (Documentation/admin-guide/sysctl/vm.rst), which could not be restored separately. So they are
// one setting here: the id is that of the share, linux.sysctl.vm.dirty_ratio or
// linux.sysctl.vm.dirty_background_ratio, and the value is percent ("20") or "bytes=268435456".
type Dirty struct{ Tree Tree }

func dirtyFiles(setting string) (ratio, bytes string, ok bool) {
	switch setting {
	case sysctlPrefix + "vm.dirty_ratio":
		return "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes", true
	case sysctlPrefix + "vm.dirty_background_ratio":
		return "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes", true
	}
	return "", "", false
}

func (Dirty) Owns(setting string) bool { _, _, ok := dirtyFiles(setting); return ok }

// Canonical implements Setter. No kernel accepts less than two pages, of at least 4 KiB.
func (Dirty) Canonical(at Place, value string) (string, error) {
	if _, _, ok := dirtyFiles(at.Setting); !ok || at.Target != "" {
		return "", fmt.Errorf("%s: want linux.sysctl.vm.dirty_ratio or dirty_background_ratio, and no device: %w", at, ErrValue)
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if n, ok := strings.CutPrefix(words[0], "bytes="); ok && len(words) == 1 {
		_, err := numberIn(at, "bytes", n, limits{8192, 1<<62 - 1, false})
		return words[0], err
	}
	return oneNumber(at, value, limits{0, 100, false})
}

func (d Dirty) Read(_ context.Context, at Place, _ string) (string, error) {
	ratio, bytes, ok := dirtyFiles(at.Setting)
	if !ok || at.Target != "" {
		return "", fmt.Errorf("read %s: no such setting here: %w", at, ErrValue)
	}
	now := [2]string{}
	for i, file := range []string{ratio, bytes} {
		b, err := d.Tree.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", at, err)
		}
		now[i] = strings.TrimSpace(string(b))
	}
	n, err := strconv.ParseInt(now[1], 10, 64)
	if err != nil {
		return "", fmt.Errorf("read %s: %s holds %q: %w", at, bytes, now[1], err)
	}
	if n != 0 {
		return "bytes=" + now[1], nil
	}
	return d.Canonical(at, now[0])
}

func (d Dirty) Write(_ context.Context, at Place, value string) error {
	value, err := d.Canonical(at, value)
	if err != nil {
		return err
	}
	file, bytes, _ := dirtyFiles(at.Setting)
	n, inBytes := strings.CutPrefix(value, "bytes=")
	if inBytes {
		file = bytes
	}
	if err := d.Tree.WriteFile(file, []byte(n+"\n")); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

func (d Dirty) Shell(at Place, _ string) (Shell, error) {
	ratio, bytes, ok := dirtyFiles(at.Setting)
	if !ok || at.Target != "" {
		return Shell{}, fmt.Errorf("%s: no such setting here: %w", at, ErrValue)
	}
	ratio, bytes = Quote(d.Tree.Path(ratio)), Quote(d.Tree.Path(bytes))
	return Shell{
		Read:  "now=$(cat " + bytes + `) && if [ "$now" != 0 ]; then echo "bytes=$now"; else cat ` + ratio + "; fi",
		Write: `case "$value" in bytes=*) echo "${value#*=}" > ` + bytes + ` ;; *) echo "$value" > ` + ratio + " ;; esac",
	}, nil
}
