package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/store"
)

// record is a rollout as it is on disk, from before the first change.
type record struct {
	V       int           `json:"v"`
	ID      string        `json:"id"`
	Site    string        `json:"site"`
	Of      string        `json:"of,omitempty"`
	Confirm time.Duration `json:"confirm_within_ns"`
	Persist bool          `json:"persist,omitempty"`
	Peer    string        `json:"peer,omitempty"`
	PeerTo  netip.Addr    `json:"peer_to,omitzero"`
	Members []*member     `json:"hosts"`
	Ended   bool          `json:"ended,omitempty"`
}

// recordVersion is the version of records that this build writes.
const recordVersion = 1

const recordEnd = ".json"

func recordsDir(e app.Env) (string, error) {
	dir, err := store.DataDir(e.Getenv)
	return filepath.Join(dir, "waves"), err
}

// begin takes the place of the record: no second process goes on with it.
func (r *rollout) begin() error {
	dir, err := recordsDir(r.env)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of waves: %w", err)
	}
	if err := r.hold(dir); err != nil {
		return err
	}
	return r.write()
}

func (r *rollout) hold(dir string) (err error) {
	r.lock, err = kernel.LockFile(filepath.Join(dir, r.id+".lock"))
	if errors.Is(err, kernel.ErrLocked) {
		return failure.Of(failure.Usage, "%s goes on in another process", r.id)
	}
	return err
}

func (r *rollout) write() error { return r.put(false) }

func (r *rollout) put(ended bool) error {
	dir, err := recordsDir(r.env)
	if err != nil {
		return err
	}
	rec := record{V: recordVersion, ID: r.id, Site: r.o.Site, Of: r.o.Of, Confirm: r.o.Confirm, Persist: r.o.Persist, PeerTo: r.peerTo, Ended: ended}
	if r.o.Peer != nil {
		rec.Peer = r.o.Peer.String()
	}
	for _, w := range r.waves {
		rec.Members = append(rec.Members, w...)
	}
	return fleet.WritePrivate(filepath.Join(dir, r.id+recordEnd), rec)
}

// end lets the record go; whole: there is nothing to resume.
func (r *rollout) end(whole bool) error {
	err := r.put(whole || r.count(Planned)+r.count(UndoneSince) == r.countChanged())
	if r.lock != nil {
		// The file stays: were it removed, who has it open already could lock it, and somebody else a
		// new one of that name.
		err = errors.Join(err, kernel.UnlockFile(r.lock))
		r.lock = nil
	}
	return err
}

func (r *rollout) countChanged() (n int) {
	for _, w := range r.waves {
		n += len(w)
	}
	return n
}

// Resume goes on with a change of many hosts that was stopped, interrupted or killed; without an
// ID with the newest that is not at its end. First it asks each host what is so: a plan that waits
// to be confirmed is put back there, and what was undone since it was confirmed is left so.
func Resume(ctx context.Context, e app.Env, id string, p app.Progress) (SitePlan, error) {
	dir, err := recordsDir(e)
	if err != nil {
		return SitePlan{}, err
	}
	rec, err := findRecord(dir, id)
	if err != nil {
		return SitePlan{}, err
	}
	r := newRollout(e, SiteRequest{Site: rec.Site, Of: rec.Of}, p, rec.ID)
	r.o.Confirm, r.o.Persist, r.peerTo, r.members = rec.Confirm, rec.Persist, rec.PeerTo, rec.Members
	if rec.Peer != "" {
		n, err := host.ParseName(rec.Peer)
		if err != nil {
			return SitePlan{}, err
		}
		r.o.Peer = &n
	}
	for _, m := range r.members {
		if m.host, err = host.ParseName(m.Name); err != nil {
			return SitePlan{}, err
		}
		for len(r.waves) < m.Wave {
			r.waves = append(r.waves, nil)
		}
		r.waves[m.Wave-1] = append(r.waves[m.Wave-1], m)
		m.proposal = Proposal{V: 1, Host: m.Name, Plan: []Line{}, Refused: []Refusal{}}
		for _, c := range m.Plan.Changes {
			m.proposal.Plan = append(m.proposal.Plan, lineOf(m.Name, c))
		}
	}
	if err := r.hold(dir); err != nil {
		return SitePlan{}, err
	}
	if err := r.settle(ctx); err != nil {
		return r.document(), errors.Join(err, r.end(false))
	}
	return r.finish(ctx)
}

// findRecord reads a record; of no ID the newest that is not at its end.
func findRecord(dir, id string) (*record, error) {
	if strings.ContainsAny(id, "/\x00") {
		return nil, failure.Of(failure.Usage, "%q is no id of a plan", id)
	}
	names := []string{id + recordEnd}
	if id == "" {
		all, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for waves: %w", err)
		}
		names = nil
		for _, f := range all {
			if strings.HasSuffix(f.Name(), recordEnd) {
				names = append(names, f.Name())
			}
		}
		slices.Sort(names) // by their time
		slices.Reverse(names)
	}
	for _, name := range names {
		var rec record
		err := fleet.ReadPrivate(filepath.Join(dir, name), &rec)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, failure.Of(failure.Usage, "no change of many hosts is called %s here", id)
		case err != nil:
			return nil, err
		case rec.V != recordVersion:
			return nil, fmt.Errorf("%s is of version %d, and this linerate knows %d", name, rec.V, recordVersion)
		case !rec.Ended:
			return &rec, nil
		case id != "":
			return nil, failure.Of(failure.Nothing, "%s is finished: nothing is left to do", id)
		}
	}
	return nil, failure.Of(failure.Nothing, "no change of many hosts is unfinished here")
}

// settle finds out what is so on each host, whatever the record says.
func (r *rollout) settle(ctx context.Context) error {
	r.tell.Say("%s: asking %d hosts how far they are", r.id, len(r.members))
	err := r.all(ctx, r.members, func(ctx context.Context, m *member) error {
		if m.State == UndoneSince {
			return nil
		}
		was := m.State
		if m.err = r.settleHost(ctx, m); m.err == nil {
			return nil
		}
		err := m.err
		m.err = nil // it was looked at when the plan was made
		if was == Planned {
			m.why = "confirmed before, and not asked again: " + failure.FirstLine(err)
			return nil
		}
		m.State, m.why = Unknown, failure.FirstLine(err)
		return err
	})
	if err != nil {
		return failure.Of(failure.Failed, "ask how far hosts are: %w; nothing was begun; a host undoes by itself what was not confirmed", err)
	}
	return r.keep()
}

// settleHost sets what is so on one host. A plan that is there in part, or waits, is put back.
func (r *rollout) settleHost(ctx context.Context, m *member) (err error) {
	if m.agent, err = r.dial(ctx, m.host); err != nil {
		m.agent = nil
		return err
	}
	defer func() { _ = m.agent.Close(); m.agent = nil }() // it has told what we want to know
	in, waits, err := r.standing(ctx, m)
	all := len(m.Plan.Changes)
	switch {
	case err != nil:
		return err
	case in == all && !waits:
		m.State, m.why = Planned, ""
	case m.State == Planned && !waits:
		m.State, m.why = UndoneSince, fmt.Sprintf("%d of its %d changes are in force no longer, since they were undone or the host was restarted; it is left so", all-in, all)
	case in > 0:
		m.State = Before
		return r.takeBack(ctx, m)
	default:
		m.State = Before
	}
	return nil
}
