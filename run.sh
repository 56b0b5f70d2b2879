stty cols $1
export NO_COLOR=1
 load block f --read 50 --block 4k/60:64k/40 --seconds 0.3 --runs 2 --sync after:8 --compress 2 2>/dev/null
 load block f --with g --fill --seconds 0.3 --runs 2 --qd 4 2>/dev/null
 load tcp --seconds 2 --streams 2 --both 2>/dev/null
 load frames d --format ntsc-yuv8 --fps 25 --streams 1..2 --seconds 1 2>/dev/null
