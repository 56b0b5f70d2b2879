# Read only; package frame prepends what look is.
names='kern.ipc.maxsockbuf net.inet.tcp.sendspace net.inet.tcp.recvspace net.inet.tcp.autorcvbufmax net.inet.tcp.autosndbufmax net.inet.tcp.doautorcvbuf net.inet.tcp.doautosndbuf net.inet.tcp.delayed_ack net.inet.tcp.rfc1323 net.inet.tcp.win_scale_factor net.inet.tcp.mssdflt net.inet.tcp.use_newreno'
look nodename uname -n
look release uname -r
look product sw_vers -productVersion
look uid id -u
look host sysctl -i -e hw.ncpu hw.memsize kern.ostype
look bootid sysctl -n kern.bootsessionuuid
look values sysctl -i -e $names
look ports networksetup -listallhardwareports
look links ifconfig -a
look netif netstat -i -b -d -n
look tcpcount netstat -s -p tcp
look mounts mount
look nfs nfsstat -m
look smb smbutil statshares -a
look sysctlconf cat /etc/sysctl.conf
look nsmb cat /etc/nsmb.conf
