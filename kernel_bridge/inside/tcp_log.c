// Log all TCP connections of network namespaces every SAMPLE_NS of the monotonic clock, and each one at its end, until
// standard input ends.
//
//   tcp_log [NAMESPACE LOG]…
//
// With AWAKE in its environment, a second thread keeps the processor from halting. A record is a `struct sample`, host-endian; ports and addresses are in network order (sock_diag(7)).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

enum { MOST = 64, ANSWER_BYTES = 1 << 16, INFO_BYTES = 280, SCHEME_BYTES = 16, ANSWERS = 1 << 22 };
static const int64_t NS = 1000000000, SAMPLE_NS = 10000000;

struct sample {
    int64_t time_ns;
    uint64_t cookie;
    uint8_t here[16], there[16];
    uint16_t here_port, there_port;
    uint32_t info_bytes;
    char scheme[SCHEME_BYTES];
    uint8_t info[INFO_BYTES];
};
struct watched {
    int netlink, ended;
    FILE *log;
};

static void fail(const char *what) {
    fprintf(stderr, "tcp_log: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void note(const struct watched *space, struct nlmsghdr *header) {
    struct inet_diag_msg *message = NLMSG_DATA(header);
    struct sample taken = {.time_ns = now_ns()};
    taken.cookie = (uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0];
    memcpy(taken.here, message->id.idiag_src, sizeof taken.here);
    memcpy(taken.there, message->id.idiag_dst, sizeof taken.there);
    taken.here_port = message->id.idiag_sport;
    taken.there_port = message->id.idiag_dport;
    struct rtattr *attribute = (struct rtattr *)(message + 1);
    int left = header->nlmsg_len - NLMSG_LENGTH(sizeof *message);
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        size_t size = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == INET_DIAG_INFO) {
            taken.info_bytes = size < INFO_BYTES ? size : INFO_BYTES;
            memcpy(taken.info, RTA_DATA(attribute), taken.info_bytes);
        } else if (attribute->rta_type == INET_DIAG_CONG) {
            memcpy(taken.scheme, RTA_DATA(attribute), size < SCHEME_BYTES ? size : SCHEME_BYTES);
        }
    }
    // Requests to connect have no information yet.
    if (taken.info_bytes && fwrite(&taken, sizeof taken, 1, space->log) != 1) {
        fail("log");
    }
}

// Read the messages that wait; return 1 at the end of a list.
static int read_messages(const struct watched *space, int from, int flags) {
    static char answer[ANSWER_BYTES];
    int bytes = recv(from, answer, sizeof answer, flags);
    if (bytes < 0) {
        if (errno != EAGAIN) {
            fail("answer");
        }
        return 1;
    }
    for (struct nlmsghdr *header = (struct nlmsghdr *)answer; NLMSG_OK(header, bytes);
         header = NLMSG_NEXT(header, bytes)) {
        if (header->nlmsg_type == NLMSG_DONE) {
            return 1;
        }
        if (header->nlmsg_type == NLMSG_ERROR) {
            errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
            fail("sock_diag");
        }
        note(space, header);
    }
    return 0;
}

static void sample(const struct watched *space) {
    while (!read_messages(space, space->ended, MSG_DONTWAIT)) {
    }
    for (int family = AF_INET;; family = AF_INET6) {
        struct {
            struct nlmsghdr header;
            struct inet_diag_req_v2 body;
        } asked = {
            .header = {.nlmsg_len = sizeof asked,
                       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
            .body = {.sdiag_family = family,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
                     .idiag_states = ~(1u << TCP_LISTEN | 1u << TCP_TIME_WAIT | 1u << TCP_CLOSE)},
        };
        if (send(space->netlink, &asked, sizeof asked, 0) < 0) {
            fail("asking");
        }
        while (!read_messages(space, space->netlink, 0)) {
        }
        if (family == AF_INET6) {
            return;
        }
    }
}

int main(int argc, char **argv) {
    static struct watched all[MOST];
    int count = (argc - 1) / 2;
    if (count * 2 != argc - 1 || count > MOST) {
        fprintf(stderr, "tcp_log: wrong arguments\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        char **named = argv + 1 + 2 * i;
        int space = open(named[0], O_RDONLY | O_CLOEXEC);
        if (space < 0 || setns(space, CLONE_NEWNET)) {
            fail(named[0]);
        }
        close(space);
        all[i].netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        all[i].ended = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        all[i].log = fopen(named[1], "wbe");
        struct sockaddr_nl ends = {.nl_family = AF_NETLINK,
                                   .nl_groups = 1 << (SKNLGRP_INET_TCP_DESTROY - 1) |
                                                1 << (SKNLGRP_INET6_TCP_DESTROY - 1)};
        if (all[i].netlink < 0 || all[i].ended < 0 || !all[i].log ||
            setsockopt(all[i].ended, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ANSWERS}, sizeof(int)) ||
            bind(all[i].ended, (struct sockaddr *)&ends, sizeof ends)) {
            fail(named[1]);
        }
    }
    if ((errno = keep_awake())) {
        fail("pthread_create");
    }
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec timeout;
    do {
        for (int i = 0; i < count; i++) {
            sample(&all[i]);
        }
        timeout = (struct timespec){.tv_nsec = SAMPLE_NS - now_ns() % SAMPLE_NS};
    } while (ppoll(&input, 1, &timeout, NULL) == 0);
    for (int i = 0; i < count; i++) {
        sample(&all[i]);
        if (fclose(all[i].log)) {
            fail("log");
        }
    }
    return 0;
}
