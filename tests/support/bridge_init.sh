#!/bin/busybox sh
# Init of a guest in which leo-bridge runs. Each `until` waits for a state; if it never comes, the limit ends the
# guest. Flows end by their bytes, not by time. The kernel's messages go to the first serial line, all else to the
# second, whose last close waits until it is written. The test puts in OPTIONS, NAMES, STOP and BYTES.
export PATH=/bin
for name in cat grep kill mount poweroff rm sleep tail tr; do alias $name="/bin/busybox $name"; done
names() { cat /proc/sys/net/ipv4/tcp_available_congestion_control; }
serve() {
    rm -f /tmp/told  # the last daemon said "serving", too
    leo-bridge run OPTIONS --socket @bridge >/tmp/told 2>&1 &
    bridge=$!
    until grep -qs serving /tmp/told; do sleep 0.1; done
    guardian=$(for process in /proc/[0-9]*; do
        grep -qs leo-guardian $process/comm && echo ${process#/proc/}
    done)
}
main() {
    /bin/busybox uname -r
    leo-bridge check
    serve
    echo "served: $(names)"
    for scheme in NAMES; do
        echo 0 | traffic receive tcp 127.0.0.1 5000 reno /tmp/log 0 0 0 STOP >/tmp/receiver 2>&1 &
        receiver=$!
        until grep -qs ready /tmp/receiver; do sleep 0.1; done
        echo 0 | traffic send tcp 127.0.0.1 5000 $scheme /tmp/sent 0 0 0 STOP 0 BYTES 2>&1 &
        wait $receiver $!
        echo "$scheme: $(tail -c 8 /tmp/log | /bin/busybox od -An -tu8 | tr -d ' ') bytes"
        rm /tmp/receiver /tmp/log
    done
    leo-bridge status --socket @bridge
    kill -9 $bridge
    until ! names | grep -q t_; do sleep 0.1; done
    echo "killed: $(names)"
    serve
    if [ -n "$guardian" ]; then
        kill -9 $guardian
        until [ ! -e /proc/$guardian ] || grep -q Z /proc/$guardian/stat; do sleep 0.1; done
    fi
    kill -9 $bridge
    wait $bridge
    echo "left: $(names)"
    leo-bridge clean
    echo "clean: $(names)"
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
/bin/ip link set lo up
main >/dev/ttyS1 2>&1
poweroff -f
