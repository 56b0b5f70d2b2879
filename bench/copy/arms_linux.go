package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// arm is one program, and how it is asked to copy src to dst.
type arm struct {
	name string
	// needs is the program that has to be there; empty: linerate itself.
	needs string
	argv  func(b *bench) []string
}

func (b *bench) rclone(args ...string) []string {
	return append([]string{"rclone", "--config", "/dev/null", "copy"}, args...)
}

// here are copies within this host.
func here() []arm {
	return []arm{
		{"linerate copy", "", func(b *bench) []string { return []string{b.Binary, "copy", b.src + "/", b.dst} }},
		{"linerate copy --verify full", "", func(b *bench) []string { return []string{b.Binary, "copy", "--verify", "full", b.src + "/", b.dst} }},
		{"cp -a", "cp", func(b *bench) []string { return []string{"cp", "-a", b.src + "/.", b.dst} }},
		{"rsync -aHAXS", "rsync", func(b *bench) []string { return []string{"rsync", "-aHAXS", b.src + "/", b.dst} }},
		{"rclone copy -M", "rclone", func(b *bench) []string { return b.rclone("-M", "--links", b.src, b.dst) }},
	}
}

// bySSH are copies to the bench's sshd; all use AES-128-GCM but --plain, mbuffer and xrdcp, which do
// not encrypt.
func bySSH() []arm {
	to := func(b *bench) string { return farHost + ":" + b.dst }
	return []arm{
		{"linerate copy", "", func(b *bench) []string { return []string{b.Binary, "copy", b.src + "/", to(b)} }},
		{"linerate copy --verify full", "", func(b *bench) []string { return []string{b.Binary, "copy", "--verify", "full", b.src + "/", to(b)} }},
		{"linerate copy --plain", "", func(b *bench) []string { return []string{b.Binary, "copy", "--plain", b.src + "/", to(b)} }},
		{"rsync -aHAXS over ssh", "rsync", func(b *bench) []string { return []string{"rsync", "-aHAXS", b.src + "/", to(b)} }},
		{"scp -rp", "scp", func(b *bench) []string {
			return []string{"scp", "-rpq", "-S", filepath.Join(b.far.bin, "ssh"), b.src + "/.", to(b)}
		}},
		{"rclone to sftp", "rclone", func(b *bench) []string {
			return b.rclone("--transfers", "8", b.src, fmt.Sprintf(":sftp,host=%s,port=%d,user=root,key_file=%s:%s", farHost, b.far.port, filepath.Join(b.Home, "far", "user"), b.dst))
		}},
		{"mbuffer, no encryption", "mbuffer", mbuffer},
		{"xrdcp -r, no encryption", "xrdcp", xrdcp},
		{"cp -a, no network", "cp", func(b *bench) []string { return []string{"cp", "-a", b.src + "/.", b.dst} }},
	}
}

// mbuffer copies one file, and nothing else of a tree.
func mbuffer(b *bench) []string {
	if _, err := os.Stat(filepath.Join(b.src, "large")); err != nil {
		return nil
	}
	port, err := freePort()
	if err != nil {
		return nil
	}
	return []string{"sh", "-c", `mbuffer -q -f -I "$2" -o "$1" & sleep 0.2; mbuffer -q -i "$0" -O "127.0.0.1:$2"; wait`,
		filepath.Join(b.src, "large"), filepath.Join(b.dst, "large"), fmt.Sprint(port)}
}

// present leaves out, by name, what is not there.
func (b *bench) present(all []arm) (there []arm) {
	for _, a := range all {
		if a.needs != "" && !b.programs.MatchString(a.name) {
			continue
		}
		if _, err := exec.LookPath(a.needs); a.needs != "" && err != nil {
			b.leaveOut(a.name, a.needs+" is not installed")
			continue
		}
		there = append(there, a)
	}
	return there
}

// runnable leaves out, by name, what is there and cannot be asked here, as a client whose server does not run.
func (b *bench) runnable(all []arm) (can []arm) {
	for _, a := range all {
		if len(a.argv(b)) == 0 {
			b.leaveOut(a.name, "what it copies to does not run here")
			continue
		}
		can = append(can, a)
	}
	return can
}

// leaveOut says once that something is not measured, and why.
func (b *bench) leaveOut(what, why string) {
	if b.out == nil {
		b.out = map[string]bool{}
	}
	line := fmt.Sprintf("left out: %s: %s", what, why)
	if !b.out[line] {
		fmt.Printf("%s\n\n", line)
	}
	b.out[line] = true
}
