package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"linerate/bench/kit"
	"linerate/internal/kernel"
)

// portions are runs of faults that add up to one table, in a file: each has its own seed.
type portions struct {
	V    int       `json:"v"`
	Runs []portion `json:"portions"`
}

// portion is what one run has counted.
type portion struct {
	Seed    uint64    `json:"seed"`
	Program string    `json:"program"` // the beginning of its SHA-256
	Kinds   []counted `json:"kinds"`
}

// counted is the tally of one kind by name.
type counted struct {
	Name  string `json:"name"`
	Tally tally  `json:"cases_cut_wrong_falsedone_unfinished"`
}

// MarshalJSON implements json.Marshaler.
func (t tally) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int{t.cases, t.cut, t.wrong, t.falseDone, t.unfinished})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *tally) UnmarshalJSON(b []byte) error {
	var n [5]int
	err := json.Unmarshal(b, &n)
	*t = tally{n[0], n[1], n[2], n[3], n[4]}
	return err
}

// portions begins the portion of this run, and gives what keeps its counts. Without a file nothing is
// kept. Several runs may keep theirs in one file at once.
func (b *bench) portions() (keep func([]fault, []tally) error, err error) {
	if b.portionsAt == "" {
		return func([]fault, []tally) error { return nil }, nil
	}
	err = changePortions(b.portionsAt, func(p *portions) error { return p.begin(b.seed, b.Binary) })
	return func(kinds []fault, tallies []tally) error {
		return changePortions(b.portionsAt, func(p *portions) error { return p.count(b.seed, kinds, tallies) })
	}, err
}

// changePortions changes a file of portions while nobody else does.
func changePortions(path string, change func(*portions) error) error {
	lock, err := kernel.LockFile(path + ".lock")
	for errors.Is(err, kernel.ErrLocked) {
		time.Sleep(10 * time.Millisecond) // another run holds it for about as long
		lock, err = kernel.LockFile(path + ".lock")
	}
	if err != nil {
		return fmt.Errorf("lock portions: %w", err)
	}
	defer lock.Close() // which unlocks it
	p, err := readPortions(path)
	if err == nil {
		err = change(&p)
	}
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o644); err != nil {
		return fmt.Errorf("keep portions: %w", err)
	}
	return os.Rename(path+".new", path)
}

// printSum prints what all portions add up to.
func (b *bench) printSum() error {
	if b.portionsAt == "" {
		return nil
	}
	p, err := readPortions(b.portionsAt)
	if err == nil {
		fmt.Printf("\n%d portions:\n\n", len(p.Runs))
		printTallies(p.sum())
	}
	return err
}

// readPortions reads a file of portions; one that is not there has none.
func readPortions(path string) (p portions, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return portions{V: 1}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read portions: %w", err)
	}
	if p.V != 1 {
		return p, fmt.Errorf("read portions: %s is of version %d", path, p.V)
	}
	return p, nil
}

// begin adds the portion of a program. A seed draws the same cases again, which do not count twice.
func (p *portions) begin(seed uint64, binary string) error {
	if slices.ContainsFunc(p.Runs, func(r portion) bool { return r.Seed == seed }) {
		return fmt.Errorf("the cases of -seed %d are counted already: take another one", seed)
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	p.Runs = append(p.Runs, portion{Seed: seed, Program: fmt.Sprintf("%.6x", sha256.Sum256(b))})
	return nil
}

// count has the portion of a seed be what it has counted until now.
func (p *portions) count(seed uint64, kinds []fault, tallies []tally) error {
	i := slices.IndexFunc(p.Runs, func(r portion) bool { return r.Seed == seed })
	if i < 0 {
		return fmt.Errorf("the portion of -seed %d is not in the file any more", seed)
	}
	p.Runs[i].Kinds = nil
	for k, t := range tallies {
		p.Runs[i].Kinds = append(p.Runs[i].Kinds, counted{kinds[k].name, t})
	}
	return nil
}

// sum is the table of all portions.
func (p *portions) sum() (kinds []fault, tallies []tally) {
	for _, r := range p.Runs {
		for _, c := range r.Kinds {
			i := slices.IndexFunc(kinds, func(k fault) bool { return k.name == c.Name })
			if i < 0 {
				i = len(kinds)
				kinds, tallies = append(kinds, fault{name: c.Name}), append(tallies, tally{})
			}
			tallies[i] = tallies[i].plus(c.Tally)
		}
	}
	return kinds, tallies
}

func (t tally) plus(u tally) tally {
	return tally{t.cases + u.cases, t.cut + u.cut, t.wrong + u.wrong, t.falseDone + u.falseDone, t.unfinished + u.unfinished}
}

func printTallies(kinds []fault, tallies []tally) {
	kit.Head(os.Stdout, "fault", "cases", "copies cut by it", "wrong files under their names", `"done" that was not`, "not right in the end")
	var sum tally
	row := func(name string, t tally) {
		fmt.Printf("| %s | %d | %d | %d | %d | %d |\n", name, t.cases, t.cut, t.wrong, t.falseDone, t.unfinished)
	}
	for i, t := range tallies {
		row(kinds[i].name, t)
		sum = sum.plus(t)
	}
	row("all", sum)
}
