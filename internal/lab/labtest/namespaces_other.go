//go:build !linux

package labtest

func lacksNamespaces() string { return "Linux" }
