# Read only; package frame prepends what look is.
names='kern.ipc.maxsockbuf net.inet.tcp.recvbuf_max net.inet.tcp.sendbuf_max net.inet.tcp.recvbuf_auto net.inet.tcp.sendbuf_auto net.inet.tcp.recvspace net.inet.tcp.sendspace net.inet.tcp.recvbuf_inc net.inet.tcp.delayed_ack net.inet.tcp.rfc1323 net.inet.tcp.sack.enable net.inet.tcp.cc.algorithm kern.ipc.nmbclusters kern.ipc.nmbjumbop kern.ipc.nmbjumbo9 vfs.nfsd.minthreads vfs.nfsd.maxthreads dev.ix.0.fc dev.ix.1.fc'
look nodename uname -n
look release uname -r
look uid id -u
look host sysctl -i -e hw.ncpu hw.physmem kern.ostype
look bootid sysctl -n -x kern.boot_id
look boottime sysctl -n kern.boottime
look values sysctl -i -e $names
look writable sysctl -i -N -W $names
look tunable sysctl -i -N -T $names
look cc sysctl -n net.inet.tcp.cc.available
look links ifconfig -a
look netif netstat -i -b -d -n
look tcpcount netstat -s -p tcp
look mounts mount -p
look nfs nfsstat -m
look exports cat /etc/exports
look zfs zfs get -Hp -t filesystem -o name,property,value,source sync,recordsize,compression,dedup,primarycache,atime
look loader cat /boot/loader.conf
look sysctlconf cat /etc/sysctl.conf
