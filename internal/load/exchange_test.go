package load

import "testing"

func TestExchangesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*Spec)
		want string
	}{
		{"tiny", func(s *Spec) { s.Exchange = 255 }, "want 256 B to 1 MiB"},
		{"huge", func(s *Spec) { s.Exchange = block + 1 }, "want 256 B to 1 MiB"},
		{"negative", func(s *Spec) { s.Exchange = -1 }, "want 256 B to 1 MiB"},
		{"with a rate", func(s *Spec) { s.Exchange, s.Rate = 1024, 1e6 }, "neither a rate"},
		{"with small writes", func(s *Spec) { s.Exchange, s.WriteSize = 1024, 100 }, "neither a rate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testSpec(Sink)
			s.MaxConns = 34
			tc.edit(&s)
			wantError(t, s.Check(), tc.want)
		})
	}
	s := testSpec(Sink)
	s.MaxConns = 34
	s.Exchange = leastExchange
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
