# Read only; package frame prepends what look is.
names='efs.bam.fnprefetch.enable_streaming efs.bam.fnprefetch.enable_concurrent efs.bam.fnprefetch.lookahead_streaming efs.bam.fnprefetch.lookahead_concurrent efs.bam.fnprefetch.prefetch_ll_all efs.bam.fnprefetch.prefetch_ll_size_limit'
look nodename uname -n
look release uname -r
look uid id -u
look host sysctl -i -e hw.ncpu hw.physmem kern.ostype
look boottime sysctl -n kern.boottime
look values sysctl -i -e $names
for one in $names; do look "cluster:$one" isi_sysctl_cluster "$one"; done
look links ifconfig -a
look subnets isi network subnets list --format json
look pools isi network pools list --format json
look pattern isi get -d /ifs
