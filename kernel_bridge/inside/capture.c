// Write the IP packets of a network namespace's devices, but not of its loopback device, to a file that tcpdump and
// Wireshark read, until standard input ends.
//
//   capture [NAMESPACE FILE]…
//
// The format is libpcap's (pcap-savefile(5)) with nanoseconds and without link headers.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, PACKET_BYTES = 1 << 16, BUFFER_BYTES = 1 << 26 };

struct watched {
    int socket;
    FILE *file;
};
static const struct {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t zone, accuracy, packet_bytes, link_type;
} HEADER = {0xa1b23c4d, 2, 4, 0, 0, PACKET_BYTES, 101};  // LINKTYPE_RAW

static void fail(const char *what) {
    fprintf(stderr, "capture: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void write_all(const struct watched *space, const void *data, size_t bytes) {
    if (fwrite(data, bytes, 1, space->file) != 1) {
        fail("file");
    }
}

// Write a packet that waits; return 0 if none does.
static int write_packet(const struct watched *space) {
    static char packet[PACKET_BYTES], control[256];
    struct sockaddr_ll from;
    struct iovec vector = {packet, sizeof packet};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t bytes = recvmsg(space->socket, &message, MSG_DONTWAIT);
    if (bytes < 0) {
        if (errno != EAGAIN) {
            fail("packet");
        }
        return 0;
    }
    struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
    int is_ip = from.sll_protocol == htons(ETH_P_IP) || from.sll_protocol == htons(ETH_P_IPV6);
    if (from.sll_hatype == ARPHRD_LOOPBACK || !is_ip || !stamp) {
        return 1;
    }
    struct timespec at;
    memcpy(&at, CMSG_DATA(stamp), sizeof at);
    uint32_t header[4] = {at.tv_sec, at.tv_nsec, bytes, bytes};
    write_all(space, header, sizeof header);
    write_all(space, packet, bytes);
    return 1;
}

int main(int argc, char **argv) {
    static struct watched all[MOST];
    static struct pollfd events[MOST + 1];
    int count = (argc - 1) / 2;
    if (count * 2 != argc - 1 || count > MOST) {
        fprintf(stderr, "capture: wrong arguments\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        char **named = argv + 1 + 2 * i;
        int space = open(named[0], O_RDONLY | O_CLOEXEC);
        if (space < 0 || setns(space, CLONE_NEWNET)) {
            fail(named[0]);
        }
        close(space);
        all[i].socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
        all[i].file = fopen(named[1], "wbe");
        if (all[i].socket < 0 || !all[i].file ||
            setsockopt(all[i].socket, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int)) ||
            setsockopt(all[i].socket, SOL_SOCKET, SO_RCVBUFFORCE, &(int){BUFFER_BYTES}, sizeof(int))) {
            fail(named[1]);
        }
        write_all(&all[i], &HEADER, sizeof HEADER);
        events[i] = (struct pollfd){.fd = all[i].socket, .events = POLLIN};
    }
    events[count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    do {
        if (ppoll(events, count + 1, NULL, NULL) < 0) {
            fail("poll");
        }
        for (int i = 0; i < count; i++) {
            while (write_packet(&all[i])) {
            }
        }
    } while (!events[count].revents);
    for (int i = 0; i < count; i++) {
        if (fclose(all[i].file)) {
            fail("file");
        }
    }
    return 0;
}
