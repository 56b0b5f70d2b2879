# Read only; package frame prepends what look is.
look nodename uname -n
look release uname -r
look version uname -v
look uid id -u
look cpus psrinfo
look memory prtconf -m
look boot kstat -p unix:0:system_misc:boot_time
look phys dladm show-phys -p -o link,media,state,speed,duplex,device
look link dladm show-link -p -o link,class,mtu,state,over
look linkprop dladm show-linkprop -c -o link,property,perm,value,default,possible -p mtu,flowctrl
look addr ipadm show-addr -p -o addrobj,type,state,addr
look tcp ipadm show-prop -c -o proto,property,perm,current,persistent,default,possible tcp
look tcp_private ipadm show-prop -c -o proto,property,perm,current,persistent,default,possible -p _cwnd_max,_deferred_acks_max,_naglim_def tcp
look nfs sharectl get nfs
look mounts cat /etc/mnttab
look nfsmounts nfsstat -m
look zfs zfs get -Hp -t filesystem -o name,property,value,source sync,recordsize,compression,dedup,primarycache,atime
look lus stmfadm list-lu -v
look pools zpool status
look system cat /etc/system
look ixgbe cat /kernel/drv/ixgbe.conf
look counters kstat -p link:::ierrors link:::oerrors link:::norcvbuf link:::noxmtbuf link:::rbytes64 link:::obytes64
look tcpcount kstat -p tcp:0:tcp:retransSegs tcp:0:tcp:outDataSegs tcp:0:tcp:listenDrop
