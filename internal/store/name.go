package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// tokenLetters omits letters and digits that are easily mistaken for others.
const tokenLetters = "abcdefghjkmnpqrstuvwxyz23456789"

// newID creates an id such as 20261120-234501-demo-x7k2: the UTC time, the command, and a random
// token. Ids sort by time.
func newID(now time.Time, command, token string) string {
	return now.UTC().Format("20060102-150405") + "-" + word(command) + "-" + token
}

// word keeps the first word of a command line, in characters that are safe in file names on every
// system.
func word(command string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(first))
	if out == "" {
		return "run"
	}
	return out[:min(len(out), 24)]
}

func randomToken() (string, error) {
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	for i := range b {
		b[i] = tokenLetters[int(b[i])%len(tokenLetters)]
	}
	return string(b), nil
}

// hostName converts a host's name as the user typed it (lab:client1, user@host:/x) to a file name
// that is safe on every file system. A safe name is kept; any other gets a short hash of the
// original, so that two hosts never share a file.
func hostName(host string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(host))
	safe = strings.TrimLeft(safe, "._-")
	safe = strings.TrimRight(safe[:min(len(safe), 64)], ".")
	if safe == host && !reserved(safe) && host != "" {
		return safe
	}
	sum := sha256.Sum256([]byte(host))
	if safe == "" {
		safe = "host"
	}
	return safe + "-" + hex.EncodeToString(sum[:4])
}

// reserved recognises names that Windows takes for devices, with any extension.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt"))
}
