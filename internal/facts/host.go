package facts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readHost reads the host's identity. The name is that of the calling thread's UTS namespace.
func readHost(_ context.Context, src kernel.Source, f *model.Facts) error {
	var errs []error
	for file, into := range map[string]*string{
		"/proc/sys/kernel/hostname":       &f.Hostname,
		"/proc/sys/kernel/osrelease":      &f.Kernel,
		"/proc/sys/kernel/random/boot_id": &f.BootID,
	} {
		b, err := src.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
		}
		*into = strings.TrimSpace(string(b))
	}
	return errors.Join(errs...)
}

// readStatus reads the effective user and the CPUs that the process may use.
func readStatus(_ context.Context, src kernel.Source, f *model.Facts) error {
	b, err := src.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	uid, cpus, err := parseStatus(string(b))
	if err != nil {
		return err
	}
	f.UID, f.CPUs = uid, cpus
	return nil
}

func parseStatus(s string) (uid int, cpus []int, err error) {
	uid = -1
	for line := range strings.Lines(s) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Uid": // real, effective, saved, file system
			if ids := strings.Fields(value); len(ids) == 4 {
				uid, err = strconv.Atoi(ids[1])
			}
		case "Cpus_allowed_list":
			cpus, err = kernel.ParseCPUList(value)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("parse /proc/self/status: %w", err)
		}
	}
	if uid < 0 || len(cpus) == 0 {
		return 0, nil, fmt.Errorf("parse /proc/self/status: want the lines Uid and Cpus_allowed_list")
	}
	return uid, cpus, nil
}
