// Log queueing disciplines' counters every SAMPLE_NS of the monotonic clock, until standard input ends.
//
//   queue_log [NAMESPACE DEVICE MAJOR LOG]…
//
// NAMESPACE is a file, MAJOR the discipline's handle in hexadecimal. A record is five host-endian 64-bit integers:
// time (ns), packets and bytes sent, packets dropped, packets queued.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, ANSWER_BYTES = 1 << 16 };
static const int64_t NS = 1000000000, SAMPLE_NS = 10000000;

struct watched {
    int netlink, device;
    uint32_t handle;
    FILE *log;
};
struct sample {
    int64_t time_ns, packets, bytes, drops, queued;
};

static void fail(const char *what) {
    fprintf(stderr, "queue_log: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void read_statistics(struct rtattr *attribute, int bytes, struct sample *taken) {
    for (; RTA_OK(attribute, bytes); attribute = RTA_NEXT(attribute, bytes)) {
        size_t size = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == TCA_STATS_BASIC) {
            struct gnet_stats_basic basic = {0};
            memcpy(&basic, RTA_DATA(attribute), size < sizeof basic ? size : sizeof basic);
            taken->bytes = basic.bytes;
            taken->packets = basic.packets;
        } else if (attribute->rta_type == TCA_STATS_QUEUE) {
            struct gnet_stats_queue queue = {0};
            memcpy(&queue, RTA_DATA(attribute), size < sizeof queue ? size : sizeof queue);
            taken->drops = queue.drops;
            taken->queued = queue.qlen;
        }
    }
}

static void sample(struct watched *one) {
    struct {
        struct nlmsghdr header;
        struct tcmsg body;
    } asked = {
        // The kernel answers only requests with NLM_F_ECHO.
        .header = {.nlmsg_len = sizeof asked, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO},
        .body = {.tcm_family = AF_UNSPEC, .tcm_ifindex = one->device, .tcm_handle = one->handle},
    };
    static char answer[ANSWER_BYTES];
    struct sample taken = {.time_ns = now_ns()};
    if (send(one->netlink, &asked, sizeof asked, 0) < 0) {
        fail("asking");
    }
    int bytes = recv(one->netlink, answer, sizeof answer, 0);
    struct nlmsghdr *header = (struct nlmsghdr *)answer;
    if (bytes < 0 || !NLMSG_OK(header, bytes) || header->nlmsg_type != RTM_NEWQDISC) {
        fail("no such queueing discipline");
    }
    struct rtattr *attribute = TCA_RTA(NLMSG_DATA(header));
    int left = header->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg));
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type == TCA_STATS2) {
            read_statistics(RTA_DATA(attribute), RTA_PAYLOAD(attribute), &taken);
        }
    }
    if (fwrite(&taken, sizeof taken, 1, one->log) != 1) {
        fail("log");
    }
}

int main(int argc, char **argv) {
    static struct watched all[MOST];
    int count = (argc - 1) / 4;
    if (count * 4 != argc - 1 || count > MOST) {
        fprintf(stderr, "queue_log: wrong arguments\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        char **named = argv + 1 + 4 * i;
        int space = open(named[0], O_RDONLY | O_CLOEXEC);
        if (space < 0 || setns(space, CLONE_NEWNET)) {
            fail(named[0]);
        }
        close(space);
        all[i].netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        all[i].device = if_nametoindex(named[1]);
        all[i].handle = strtoul(named[2], NULL, 16) << 16;
        all[i].log = fopen(named[3], "wbe");
        if (all[i].netlink < 0 || !all[i].device || !all[i].log) {
            fail(named[1]);
        }
    }
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        for (int i = 0; i < count; i++) {
            sample(&all[i]);
        }
        int64_t left = SAMPLE_NS - now_ns() % SAMPLE_NS;
        struct timespec timeout = {.tv_nsec = left};
        if (ppoll(&input, 1, &timeout, NULL) > 0) {
            break;
        }
    } while (1);
    for (int i = 0; i < count; i++) {
        if (fclose(all[i].log)) {
            fail("log");
        }
    }
    return 0;
}
