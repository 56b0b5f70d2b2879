// Command kernelhost checks linerate on kernels of its own: User-Mode Linux,
// which runs a whole kernel as an ordinary process. By default it boots an NFS
// server and a client joined by two taps and a bridge, does something to the
// link, the client or the application, copies from a real kernel NFS mount and
// runs `linerate explain` on it, as root and as an ordinary user. With -netem
// it runs the demo's loop inside one such kernel, over a netem link.
//
//	go run ./bench/kernelhost             every condition (about 8 min)
//	go run ./bench/kernelhost -netem      the loop on a netem link, per fault (about 2 min)
//
// It needs root and Debian's package user-mode-linux. It knows nothing of how
// a limiter is found, and touches nothing outside its own namespaces, its work
// directory and the kernels it boots: their root is the machine's, read-only.
package main
