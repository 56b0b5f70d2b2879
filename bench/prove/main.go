//go:build linux

// Command prove makes studies in the lab as a user does, with the program as it is
// built, and holds what they found against what has to come out.
//
//	go run ./bench/prove -part wan        # streams × window, against window / RTT
//	go run ./bench/prove -part clients    # one to five NFS clients of one server, six kernels
//	go run ./bench/prove -part dell       # DELL's sequence, by the paper's protocol and by ours
//
// dell makes eight studies, some 30 minutes; with -keep DIR they may be made one by
// one (-only dell-read-reference, …), and the tables are of what is there.
//
// It needs root, and for clients the packages of docs/lab.md. It touches nothing but
// its own labs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
	"linerate/internal/store"
)

func main() {
	part := flag.String("part", "wan", "wan, clients or dell")
	b := bench{log: os.Stderr}
	binary := flag.String("binary", "", "a linerate that is built already; empty builds one")
	flag.DurationVar(&b.reference, "reference", 15*time.Minute, "of dell: time for the runs that tell the true effects")
	flag.StringVar(&b.keep, "keep", "", "of dell: a directory with what was made before; what is missing there is made and kept")
	only := flag.String("only", "", "of dell: make these alone, e.g. dell-read-paper,dell-read-linerate, beside what is kept")
	flag.Parse()
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	parts := map[string]func(bench, context.Context, io.Writer) error{"wan": bench.wan, "clients": bench.clients, "dell": bench.dell}
	kit.Main("prove", func(ctx context.Context) error {
		work, ok := parts[*part]
		if !ok {
			return fmt.Errorf("-part %s: choose wan, clients or dell", *part)
		}
		return kit.WithUser(ctx, "", *binary, func(u kit.User) error {
			b.User = u
			return work(b, ctx, os.Stdout)
		})
	})
}

// bench is a place of its own for labs, studies and results.
type bench struct {
	kit.User
	log       io.Writer
	reference time.Duration
	keep      string
	only      []string
}

func (b bench) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := b.Command(ctx, args...)
	cmd.WaitDelay = 0 // however long it takes to put everything back
	return cmd
}

// inOwnLab has a lab of a topology that is written here up, at its full rates.
func (b bench) inOwnLab(ctx context.Context, topology string, work func(lab.Status) error) error {
	file := filepath.Join(b.Home, "lab.yaml")
	if err := os.WriteFile(file, []byte(topology), 0o600); err != nil {
		return err
	}
	return b.Lab(ctx, []string{file, "--full-rate"}, work)
}

// study makes one study and returns it with the samples of its runs.
func (b bench) study(ctx context.Context, name, text string, args ...string) (*model.Study, store.Samples, error) {
	file := filepath.Join(b.Home, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	cmd := b.command(ctx, append([]string{"study", "run", file, "--yes", "--json", "--seed", "1"}, args...)...)
	cmd.Stderr = b.log
	var s model.Study
	if err := kit.Decode(cmd, &s); err != nil {
		return nil, nil, fmt.Errorf("study %s: %w", name, err)
	}
	if !s.Restored {
		return nil, nil, fmt.Errorf("study %s has not put everything back", name)
	}
	dir, err := store.Resolve(filepath.Join(b.Home, "linerate"), "last")
	if err != nil {
		return nil, nil, err
	}
	bundle, err := store.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	samples, err := bundle.Samples()
	return &s, samples, err
}
