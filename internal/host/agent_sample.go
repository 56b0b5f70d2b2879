package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"linerate/internal/host/delta"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// maxSamplers bounds the samplings that run at once: one for each direction of each load with
// an end on this host.
const maxSamplers = 64

// minInterval keeps sampling from becoming a load of its own.
const minInterval = 10 * time.Millisecond

// Samples travel in batches.
const (
	batchTime  = 500 * time.Millisecond
	batchBytes = 256 << 10 // of text, beyond which one does not wait
	streamTime = 30 * time.Second
	briefTime  = 10 * time.Minute // of a stream of brief samples, whose beginning is long, while they are taken
	mostKeep   = 10 * time.Minute
)

// sampling is one running sampler. One goroutine reads and packs, another sends, so that what is
// read does not depend on who takes it.
type sampling struct {
	cancel context.CancelFunc
	done   chan struct{}
	reader *measure.Sampler // read its Blind only after done
	ring   *ring
	id     int

	// Of the goroutine that reads.
	pack  *delta.Writer
	texts [][]byte
	size  int
	every time.Duration
	reads []time.Duration // how long the last ones took
	skip  int             // how many samples are left out from now on
	n     int             // number of the next batch's first sample
	since time.Time       // when the last batch was made
	begun time.Time       // when its stream began
	brief brief
	crowd crowd
	read  error // read it only after done

	count int   // of samples that were sent; read it and sent only after done
	sent  error // why no more could be
}

func (a *agent) startSampling(ctx context.Context, p sampleParams) (idResult, error) {
	if p.Interval < minInterval || p.Interval > time.Hour || p.Keep < batchTime || p.Keep > mostKeep || p.Conns < 0 {
		return idResult{}, fmt.Errorf("start sampling: interval %v, want %v to an hour; %v kept, want %v to %v", p.Interval, minInterval, p.Keep, batchTime, mostKeep)
	}
	reader, err := measure.NewSampler(a.src, p.Watch, a.o.Now)
	if err != nil {
		return idResult{}, err
	}
	at := time.Since(a.began)
	first, err := reader.Read(ctx)
	if err != nil {
		return idResult{}, err
	}
	first.At = at
	run, cancel := context.WithCancel(context.Background())
	s := &sampling{cancel: cancel, done: make(chan struct{}), reader: reader, ring: newRing(p.Keep), pack: &delta.Writer{}, brief: brief{most: p.Brief}, crowd: crowd{most: p.Conns}, every: p.Interval}
	if s.id, err = a.samples.add(s); err != nil {
		cancel()
		return idResult{}, err
	}
	go func() {
		defer s.ring.end()
		s.read = s.loop(run, a, first, p.Interval)
	}()
	go func() {
		defer close(s.done)
		s.sent = s.send(run, a)
	}()
	return idResult{s.id}, nil
}

// loop takes samples at fixed times; a time that was missed is skipped, not made up for. The place of a
// sample is when its reading began, since connections are read first and all else may take long on a busy
// host; it is a time that no setting of the clock moves.
func (s *sampling) loop(ctx context.Context, a *agent, first model.Sample, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	if err := s.add(first); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return s.flush()
		case <-tick.C:
		}
		if s.rests() {
			continue
		}
		at := time.Since(a.began)
		sample, err := s.reader.Read(ctx)
		s.took(time.Since(a.began) - at)
		if ctx.Err() != nil {
			return s.flush()
		}
		if err != nil {
			return errors.Join(err, s.flush())
		}
		sample.At = at
		if err := s.add(sample); err != nil {
			return err
		}
	}
}

// add takes a sample into the next batch.
func (s *sampling) add(sample model.Sample) error {
	s.crowd.take(sample)
	if s.brief.most > 0 {
		return s.addBrief(sample)
	}
	text, err := json.Marshal(s.crowd.tell(sample))
	if err != nil {
		return fmt.Errorf("write sample: %w", err)
	}
	s.texts, s.size = append(s.texts, text), s.size+len(text)
	if s.rest() > 0 {
		return s.flushCrowd()
	}
	if time.Since(s.since) < batchTime-minInterval && s.size < batchBytes {
		return nil
	}
	return s.flush()
}

// flush makes a batch of the samples that have come together.
func (s *sampling) flush() error {
	if len(s.texts) == 0 {
		return nil
	}
	now := time.Now()
	return s.batch(now, s.begins(now, streamTime), turns{}, 0)
}

// flushCrowd makes a batch of a sample of a crowd alone, which has to say that the next one comes later.
func (s *sampling) flushCrowd() error {
	last := s.texts[len(s.texts)-1]
	s.texts = s.texts[:len(s.texts)-1]
	if err := s.flush(); err != nil {
		return err
	}
	s.texts, s.skip = [][]byte{last}, s.rest()
	now := time.Now()
	return s.batch(now, s.begins(now, streamTime), turns{}, s.skip)
}

// took notes how long it took to read a sample.
func (s *sampling) took(long time.Duration) {
	const mostReads = 8
	s.reads = append(s.reads[max(0, len(s.reads)-mostReads+1):], long)
}

// rest is how many samples are left out after one, since reading takes long. What counts is the shortest of some
// readings: a machine that is busy for a moment makes one long.
func (s *sampling) rest() int {
	if len(s.reads) == 0 {
		return 0
	}
	apart := s.crowd.apart(slices.Min(s.reads))
	return max(1, min(mostShare, int((apart+s.every-1)/s.every))) - 1
}

// rests tells that the sample whose time it is is left out, for the room or time that the one before took.
func (s *sampling) rests() bool {
	if s.skip == 0 {
		return false
	}
	s.skip--
	return true
}

// begins tells whether the next batch has to begin a stream, of those that last so long.
func (s *sampling) begins(now time.Time, last time.Duration) bool {
	return s.ring.trim(now) || s.begun.IsZero() || now.Sub(s.begun) > last
}

// batch makes a batch of the samples that have come together.
func (s *sampling) batch(now time.Time, fresh bool, t turns, rest int) error {
	if fresh {
		s.begun = now
	}
	b, err := s.pack.Pack(s.texts, fresh)
	if err != nil {
		return err
	}
	s.ring.put(batchPush{ID: s.id, N: s.n, Count: len(s.texts), Fresh: b.Fresh, Bytes: b.Bytes, Data: b.Data, turns: t, Rest: rest}, now)
	s.n += len(s.texts)
	s.texts, s.size, s.since = nil, 0, now
	return nil
}

// send sends batches until there will be no more. ctx is not what ends it: what was read before the
// end belongs to the sampling.
func (s *sampling) send(ctx context.Context, a *agent) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for {
		b, ok := s.ring.next()
		if !ok {
			return err
		}
		if err != nil { // only the end is waited for
			continue
		}
		if err = a.push(ctx, notifySamples, b); err != nil {
			err = fmt.Errorf("send sample %d: %w", b.N, err)
			s.cancel()
			continue
		}
		s.count += b.Count
	}
}

// stop ends the sampling and waits for its last reading.
func (s *sampling) stop() sampledResult {
	s.cancel()
	<-s.done
	r := sampledResult{Count: s.count, Dropped: s.ring.lost(), Blind: s.reader.Blind()}
	for _, err := range []error{s.sent, s.read} {
		if err != nil {
			r.Error = err.Error()
		}
	}
	return r
}

func (a *agent) stopSampling(_ context.Context, p idParams) (sampledResult, error) {
	s, ok := a.samples.remove(p.ID)
	if !ok {
		return sampledResult{}, fmt.Errorf("stop sampling %d: there is none", p.ID)
	}
	return s.stop(), nil
}
