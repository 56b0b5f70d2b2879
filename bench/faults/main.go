// Command faults puts mishaps at random moments into commands at work, and prints a table of
// what was left: settings that nothing put back, processes, network namespaces, control groups
// and files after the next start, and words that were not so, such as "everything was put
// back". Every count is to be 0.
//
// Each station is a process of this bench in mount and network namespaces of its own, with a
// home, a lab, and an sshd that it made: whatever breaks there is gone with it. A station ends
// only processes that run the binary which was built for it, its own ssh and its own sshd. It
// knows nothing of how undoing is done: it compares what hosts show before and after. It needs
// root, and for clocks that are set User-Mode Linux.
//
//	go run ./bench/faults -cases 500 -stations 6 -json faults.json
//	go run ./bench/faults faults.json more.json    # the table of runs that are over
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"linerate/bench/kit"
)

// options of a run.
type options struct {
	cases, stations int
	seed            uint64
	only            *regexp.Regexp
	most            time.Duration
	json            string
}

func main() {
	var o options
	flag.IntVar(&o.cases, "cases", 100, "how many moments, over all works and mishaps")
	flag.IntVar(&o.stations, "stations", 4, "how many at the same time")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the moments; 0 draws one")
	only := flag.String("only", "", "only cases whose \"work, mishap\" matches this regular expression")
	flag.DurationVar(&o.most, "for", 0, "begin no case later than this; 0: all")
	flag.StringVar(&o.json, "json", "", "file for every case as JSON, brought up to date while it runs")
	at := flag.Int("station", 0, "used by the bench itself")
	binary := flag.String("binary", "", "used by the bench itself")
	home := flag.String("home", "", "used by the bench itself")
	churn := flag.Bool("churn", false, "used by the bench itself")
	slew := flag.Int64("slew", 0, "used by the bench itself")
	flag.Parse()
	kit.Main("faults", func(ctx context.Context) (err error) {
		if o.only, err = regexp.Compile(*only); err != nil {
			return err
		}
		switch {
		case *churn:
			return churnMain(ctx)
		case *slew != 0:
			return slewMain(*slew)
		case *at > 0:
			return stationMain(ctx, *at, *binary, *home)
		case flag.NArg() > 0:
			return retold(flag.Args())
		}
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, o) })
	})
}

// order is a case to be made.
type order struct {
	Work   string        `json:"work"`
	Mishap string        `json:"mishap"`
	Seed   uint64        `json:"seed"`
	Usual  time.Duration `json:"usual_ns"`          // how long the work takes without a mishap
	Life   time.Duration `json:"life_ns,omitempty"` // how long there are processes of its role meanwhile
	Try    int           `json:"try,omitempty"`     // how often it met nobody before
}

func (o order) String() string { return o.Work + ", " + o.Mishap }

// run makes every work once without a mishap, and then the cases.
func run(ctx context.Context, u kit.User, o options) error {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n\n", o.seed)
	r := rand.New(rand.NewPCG(o.seed, 17))
	begun := time.Now()
	var first []order
	for _, w := range works() {
		if one := (order{Work: w.name, Mishap: nothing}); o.wants(one, w) {
			first = append(first, one)
		}
	}
	p := &pool{u: u, o: o, begun: begun}
	err := p.make(ctx, first)
	usual := map[string]outcome{}
	for _, c := range p.done {
		usual[c.Work] = c
	}
	if err == nil {
		err = p.make(ctx, cases(r, o, usual))
	}
	fmt.Printf("%s\n", table(p.done))
	return err
}

// wants tells whether a control of this work is needed.
func (o options) wants(c order, w work) bool {
	if o.only.MatchString(c.String()) {
		return true
	}
	for _, m := range mishaps() {
		if m.fits(w) && o.only.MatchString(order{Work: w.name, Mishap: m.name}.String()) {
			return true
		}
	}
	return false
}

// cases draws what is to be made: every pair of a work and a mishap that fits it in turn, as
// often as both weigh.
func cases(r *rand.Rand, o options, usual map[string]outcome) []order {
	var all []order
	for _, w := range works() {
		for _, m := range mishaps() {
			u := usual[w.name]
			c := order{Work: w.name, Mishap: m.name, Usual: u.Took, Life: u.Lives[m.role]}
			if m.fits(w) && c.lasts(m) > 0 && o.only.MatchString(c.String()) {
				for range w.weight * m.weight {
					all = append(all, c)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	var out []order
	for len(out) < o.cases {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		out = append(out, all...)
	}
	out = out[:o.cases]
	for i := range out {
		out[i].Seed = r.Uint64()
	}
	return out
}

// pool is the stations and what came of their cases.
type pool struct {
	u     kit.User
	o     options
	begun time.Time

	mu   sync.Mutex
	done []outcome
}

// make has the stations make these cases. A station that fails is replaced.
func (p *pool) make(ctx context.Context, todo []order) error {
	queue := make(chan order, len(todo))
	for _, c := range todo {
		queue <- c
	}
	close(queue)
	var wg sync.WaitGroup
	errs := make([]error, p.o.stations)
	for i := range p.o.stations {
		wg.Go(func() {
			for len(queue) > 0 && errs[i] == nil && !p.over(ctx) {
				errs[i] = p.station(ctx, i+1, queue)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *pool) over(ctx context.Context) bool {
	return ctx.Err() != nil || p.o.most > 0 && time.Since(p.begun) > p.o.most
}

// station starts one in namespaces of its own and feeds it until it fails or nothing is left.
func (p *pool) station(ctx context.Context, n int, queue <-chan order) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp(p.u.Home, "s"+strconv.Itoa(n)+"-")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-station", strconv.Itoa(n), "-binary", p.u.Binary, "-home", home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a station: %w", err)
	}
	defer func() {
		_ = in.Close() // ends the station
		if werr := cmd.Wait(); err != nil || !p.over(ctx) {
			err = errors.Join(err, werr)
		}
	}()
	return p.feed(ctx, bufio.NewReader(out), in, queue)
}

func (p *pool) feed(ctx context.Context, from *bufio.Reader, to io.Writer, queue <-chan order) error {
	for c := range queue {
		// A moment that met nobody is drawn again, nearer to the beginning.
		for again := true; again; c.Try, c.Seed = c.Try+1, c.Seed+1 {
			if p.over(ctx) {
				return nil
			}
			got, err := ask(from, to, c)
			if err != nil {
				return fmt.Errorf("%s (seed %d): %w", c, c.Seed, err)
			}
			if err := p.record(got); err != nil {
				return err
			}
			again = !got.Hit && c.Mishap != nothing && c.Try < tries
		}
	}
	return nil
}

// tries is how often a case that met nobody is made again.
const tries = 2

// ask has a station make a case.
func ask(from *bufio.Reader, to io.Writer, c order) (got outcome, err error) {
	if err := json.NewEncoder(to).Encode(c); err != nil {
		return got, err
	}
	line, err := from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	return got, err
}

// document is a run as JSON.
type document struct {
	V     int       `json:"v"`
	Seed  uint64    `json:"seed"`
	Cases []outcome `json:"cases"`
}

// retold prints one table of all the runs in these files.
func retold(files []string) error {
	var all []outcome
	for _, f := range files {
		var d document
		b, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(b, &d)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f, err)
		}
		all = append(all, d.Cases...)
	}
	fmt.Print(table(all))
	return nil
}

// record keeps an outcome, also in the file.
func (p *pool) record(c outcome) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, c)
	fmt.Fprintf(os.Stderr, "%s %d %s: %v\n", time.Now().Format(time.TimeOnly), len(p.done), c.order, c.Seen)
	if p.o.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(document{1, p.o.seed, p.done}, "", " ")
	if err != nil {
		return err
	}
	fresh := p.o.json + ".new"
	if err := os.WriteFile(fresh, b, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Clean(p.o.json))
}
