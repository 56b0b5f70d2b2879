//go:build !race

package drive

const fewer = 1
