package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/load/storage"
	"linerate/internal/model"
)

// StorageLoad is a load on storage at one host. It implements measure.Party, for
// the phase it is in.
type StorageLoad struct {
	c     *Client
	name  string
	id    int
	phase int
}

// StartStorage starts a load on storage, which goes as far as the barrier. Loads
// that begin together have names of their own.
func (c *Client) StartStorage(ctx context.Context, name string, t storage.Task) (*StorageLoad, error) {
	var r idResult
	s := &StorageLoad{c: c, name: name}
	end := func(ctx context.Context) error {
		s.id = r.ID
		return s.Stop(ctx)
	}
	if err := c.begin(ctx, methodStorage, t, &r, end); err != nil {
		return nil, err
	}
	s.id = r.ID
	return s, nil
}

// Name implements measure.Party.
func (s *StorageLoad) Name() string { return s.name }

// Clock implements measure.Party.
func (s *StorageLoad) Clock(ctx context.Context) (model.Clock, error) { return s.c.Clock(ctx) }

// event waits for one of the phase's events.
func (s *StorageLoad) event(ctx context.Context, k storage.Kind) (storage.Event, error) {
	var e storage.Event
	if err := s.c.callUnbounded(ctx, methodStorageEvent, eventParams{s.id, k, s.phase}, &e); err != nil {
		return e, err
	}
	switch {
	case e.Kind == storage.Failed && e.Refused:
		return e, &storage.RefusalError{Err: errors.New(e.Text)}
	case e.Kind == storage.Failed:
		return e, errors.New(e.Text)
	case e.Kind != k || e.Phase != s.phase:
		return e, errors.New("the load is over")
	}
	return e, nil
}

// Ready implements measure.Party.
func (s *StorageLoad) Ready(ctx context.Context) error {
	_, err := s.event(ctx, storage.Ready)
	return err
}

// Arm implements measure.Party.
func (s *StorageLoad) Arm(ctx context.Context, at time.Time) error {
	if err := s.c.call(ctx, methodStorageArm, armParams{s.id, at}, &none{}); err != nil {
		return err
	}
	_, err := s.event(ctx, storage.Armed)
	return err
}

// Began implements measure.Party.
func (s *StorageLoad) Began(ctx context.Context) (time.Time, error) {
	e, err := s.event(ctx, storage.Started)
	return e.At, err
}

// Finished waits for what the phase did, and goes on to the next one. A run takes
// as long as it does: ctx is its bound.
func (s *StorageLoad) Finished(ctx context.Context) (storage.Result, error) {
	e, err := s.event(ctx, storage.Finished)
	if err != nil {
		return storage.Result{}, err
	}
	if e.Result == nil {
		return storage.Result{}, fmt.Errorf("host %s: a load on storage ended without a result", s.Name())
	}
	s.phase++
	return *e.Result, nil
}

// Seen is what was completed so far, and the longest latency since the last look.
func (s *StorageLoad) Seen(ctx context.Context) (storage.Work, error) {
	var w storage.Work
	err := s.c.call(ctx, methodStorageSeen, idParams{s.id}, &w)
	return w, err
}

// Interrupt has the phase end with what it has measured until then.
func (s *StorageLoad) Interrupt(ctx context.Context) error {
	return s.c.call(ctx, methodStorageStop, idParams{s.id}, &none{})
}

// Stop implements measure.Party.
func (s *StorageLoad) Stop(ctx context.Context) error {
	select {
	case <-s.c.ended:
		return nil // a worker does not outlive its agent
	default:
	}
	return s.c.call(ctx, methodStorageEnd, idParams{s.id}, &none{})
}
