# Read only. Each command's output goes into a frame: name, exit code, bytes.
LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/bin:/usr/sbin:/bin:/sbin"; export PATH
n=0
look() {
	name=$1; shift
	said=$("$@" 2>&1 </dev/null); code=$?
	size=$(printf %s "$said" | wc -c | tr -d ' ')
	printf 'begin %s %s %s\n%s\n' "$name" "$code" "$size" "$said"
	n=$((n + 1))
}
names='efs.bam.fnprefetch.enable_streaming efs.bam.fnprefetch.enable_concurrent efs.bam.fnprefetch.lookahead_streaming efs.bam.fnprefetch.lookahead_concurrent efs.bam.fnprefetch.prefetch_ll_all efs.bam.fnprefetch.prefetch_ll_size_limit'
echo 'linerate-frames 1'
look nodename uname -n
look release uname -r
look uid id -u
look host sysctl -i -e hw.ncpu hw.physmem kern.ostype
look boottime sysctl -n kern.boottime
look values sysctl -i -e $names
look links ifconfig -a
echo "linerate-frames end $n"
