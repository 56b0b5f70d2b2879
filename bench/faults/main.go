// Command faults puts mishaps at random moments into commands that work on the hosts of a
// lab, and prints a table of what was left: settings that nothing put back, processes,
// network namespaces, control groups and files after the next start, and words such as
// "everything was put back" where it was not so. Every count is to be 0.
//
// It ends only processes that run the binary which it built for itself. It knows nothing of
// how undoing is done: it compares what hosts show before and after. It does not cut a real
// ssh, set clocks or fill disks: the hosts of a lab are entered, not logged in to.
//
//	go run ./bench/faults -n 10
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// settle is how long after a command the hosts may take to undo by themselves: the time to
// confirm of what is applied here, and a while for a busy machine.
const settle = 45 * time.Second

func main() {
	n := flag.Int("n", 1, "moments of each mishap in each command")
	seed := flag.Uint64("seed", 0, "seed of the moments; 0 draws one")
	only := flag.String("only", "", "only this command")
	stopAfter := flag.Duration("for", 0, "begin no case later than this; 0: all")
	flag.Parse()
	kit.Main("faults", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, *n, *seed, *only, *stopAfter) })
	})
}

func run(ctx context.Context, u kit.User, n int, seed uint64, only string, most time.Duration) error {
	if seed == 0 {
		seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n\n", seed)
	b := bench{User: u, moments: rand.New(rand.NewPCG(seed, 17)), pids: map[int]bool{}}
	if err := os.WriteFile(filepath.Join(u.Home, "study.yaml"), []byte(studyText), 0o600); err != nil {
		return err
	}
	begun := time.Now()
	var rows []row
	err := u.Lab(ctx, []string{"wan-16ms"}, func(lab.Status) error {
		for _, c := range commands(u.Home) {
			if only != "" && c.name != only {
				continue
			}
			usual, err := b.usual(ctx, c)
			if err != nil {
				return fmt.Errorf("%s without a mishap: %w", c.name, err)
			}
			for _, m := range mishaps() {
				r := row{command: c.name, mishap: m.name}
				for range n {
					if most > 0 && time.Since(begun) > most {
						break
					}
					if err := b.one(ctx, c, m, usual, &r); err != nil {
						return errors.Join(fmt.Errorf("%s, %s: %w", c.name, m.name, err), table(append(rows, r)))
					}
				}
				rows = append(rows, r)
				fmt.Fprintf(os.Stderr, "%s, %s: %d cases\n", r.command, r.mishap, r.cases)
			}
		}
		return nil
	})
	return errors.Join(err, table(rows))
}

// table prints the rows and what was seen in those that are not 0.
func table(rows []row) error {
	fmt.Println("| command | mishap | cases | hit | not restored | processes | namespaces | cgroups | files | wrong words |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.cases > 0 {
			fmt.Printf("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", r.command, r.mishap, r.cases, r.hit, r.settings, r.processes, r.namespaces, r.cgroups, r.files, r.words)
		}
	}
	for _, r := range rows {
		for _, s := range r.seen {
			fmt.Printf("\n%s, %s: %s\n", r.command, r.mishap, s)
		}
	}
	return nil
}

// row is what was counted. Of hit the mishap came while the command ran and there was whom
// to hit.
type row struct {
	command, mishap                                                    string
	cases, hit, settings, processes, namespaces, cgroups, files, words int
	seen                                                               []string
}
