package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ProcessBegan tells when a process of this host began: on Windows in units of 100 ns since 1601. With it a
// process is told from a later one of the same number. fs.ErrNotExist: there is none, or it has ended.
func ProcessBegan(pid int) (uint64, error) {
	began, err := processBegan(uint32(pid))
	if err != nil {
		return 0, fmt.Errorf("read start of process %d: %w", pid, err)
	}
	return began, nil
}

func processBegan(pid uint32) (uint64, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, pid)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return 0, fs.ErrNotExist
	}
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(h) // only read: a close that fails loses nothing
	// Who else holds a handle keeps a process on the list that has ended.
	switch event, err := windows.WaitForSingleObject(h, 0); {
	case err != nil:
		return 0, err
	case event == windows.WAIT_OBJECT_0:
		return 0, fs.ErrNotExist
	}
	var created, ended, inKernel, inUser windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &ended, &inKernel, &inUser); err != nil {
		return 0, err
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), nil
}

// ProcessFamily is a process and its descendants, pid first.
func ProcessFamily(pid int) ([]int, error) {
	parents, err := processParents()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return familyOf(pid, parents, ProcessBegan), nil
}

// processParents is each process of this host, with the number of the one that started it.
func processParents() (map[int]int, error) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(snap) // only read
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	parents := map[int]int{}
	for err = windows.Process32First(snap, &entry); err == nil; err = windows.Process32Next(snap, &entry) {
		parents[int(entry.ProcessID)] = int(entry.ParentProcessID)
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, err
	}
	return parents, nil
}
