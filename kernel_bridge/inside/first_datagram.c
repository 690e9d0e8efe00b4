// Write when the first UDP packet from or to a port passes the devices of a network namespace, until standard input ends.
//
//   first_datagram [NAMESPACE from|to PORT FILE]…
//
// FILE gets the time in ns of the monotonic clock, as text; it is empty if no packet passes.
//
// With AWAKE in its environment, a second thread at the lowest priority keeps the processor from halting.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "awake.h"

static void fail(const char *what) {
    fprintf(stderr, "first_datagram: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Return a socket that gets IPv4 UDP packets with a port at an offset of their header, in the current network namespace.
static int watch(uint32_t offset, uint16_t port) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40, 0, 6),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 4),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, offset),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    // Without a protocol until the filter is in place.
    int packets = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    if (packets < 0 || setsockopt(packets, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ||
        setsockopt(packets, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int)) ||
        bind(packets, (struct sockaddr *)&all, sizeof all)) {
        fail("packets");
    }
    return packets;
}

// Write the time of the packet that waits.
static void write_time(int packets, FILE *file, const char *name) {
    char packet[1], control[256];
    struct iovec vector = {packet, sizeof packet};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *stamp = recvmsg(packets, &message, 0) < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (!stamp) {
        fail(name);
    }
    struct timespec at;
    memcpy(&at, CMSG_DATA(stamp), sizeof at);
    int64_t ago_ns = now_ns(CLOCK_REALTIME) - (at.tv_sec * INT64_C(1000000000) + at.tv_nsec);
    if (fprintf(file, "%" PRId64 "\n", now_ns(CLOCK_MONOTONIC) - ago_ns) < 0 || fclose(file)) {
        fail(name);
    }
}

int main(int argc, char **argv) {
    int count = (argc - 1) / 4;
    if (count * 4 != argc - 1) {
        fprintf(stderr, "first_datagram: wrong arguments\n");
        return 2;
    }
    struct pollfd *events = calloc(count + 1, sizeof *events);
    FILE **files = calloc(count + 1, sizeof *files);
    if (!events || !files) {
        fail("memory");
    }
    for (int i = 0; i < count; i++) {
        char **named = argv + 1 + 4 * i;
        int space = open(named[0], O_RDONLY | O_CLOEXEC);
        if (space < 0 || setns(space, CLONE_NEWNET)) {
            fail(named[0]);
        }
        close(space);
        files[i] = fopen(named[3], "we");
        if (!files[i]) {
            fail(named[3]);
        }
        uint32_t offset = strcmp(named[1], "from") ? 2 : 0;
        events[i] = (struct pollfd){.fd = watch(offset, strtoul(named[2], NULL, 10)), .events = POLLIN};
    }
    events[count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    errno = keep_awake();
    if (errno) {
        fail("thread");
    }
    do {
        if (poll(events, count + 1, -1) < 0) {
            fail("poll");
        }
        for (int i = 0; i < count; i++) {
            if (events[i].revents) {
                write_time(events[i].fd, files[i], argv[4 + 4 * i]);
                close(events[i].fd);
                events[i].fd = -1;  // poll passes over it
            }
        }
    } while (!events[count].revents);
    return 0;
}
