// One end of a flow on the host's TCP stack. It starts as root, to choose any congestion control and open its log, and
// gives up root before the first packet.
//
//   traffic receive tcp|udp ADDRESS PORT SCHEME LOG UID GID START_NS STOP_NS
//   traffic send tcp … RATE_BPS BYTES
//   traffic send udp … RATE_BPS PERIODS
//
// A tcp sender's application writes BYTES (0: unlimited) at RATE_BPS, a segment at a time (0: as fast as possible). Rates
// count a packet of 1,500 bytes for each 1,448. The sender stops when all of its BYTES are acknowledged.
//
// The program prints "ready" on standard output and reads the run's origin, in ns of the monotonic clock, from standard
// input; START_NS and STOP_NS count from it. PERIODS is a file of pairs of 64-bit integers, begin and end of a udp
// sender's sending periods in ns from the origin. At its end a program prints on standard error how late it was
// ("late_ns N") and, if all BYTES are acknowledged, when ("completed_ns N").
//
// SIGTERM ends a program as STOP_NS does.
//
// With AWAKE in its environment, a second thread at the lowest priority keeps the processor from halting.
//
// Logs are records of host-endian integers. A tcp sender logs every SAMPLE_NS: time (ns from the origin), sizes of
// tcp_info and tcp_cc_info, then both in fields of INFO_BYTES and CC_BYTES. All others log at most every millisecond:
// time of the last event, and the total of bytes read, or of datagrams sent or received.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "awake.h"

#ifndef TCP_CC_INFO
#define TCP_CC_INFO 26
#endif

enum { INFO_BYTES = 280, CC_BYTES = 24, CHUNK_BYTES = 1 << 18, DATAGRAM_BYTES = 1472, UDP_BUFFER_BYTES = 1 << 23 };
enum { SEGMENT_BYTES = 1448 };
static const int64_t LATE_NS = 5000000, NS = 1000000000, SAMPLE_NS = 10000000, LOG_NS = 1000000, PACKET_BITS = 12000,
                     ACKED_NS = 200000;

struct sample {
    int64_t time_ns;
    uint32_t info_bytes, cc_bytes;
    uint8_t info[INFO_BYTES], cc[CC_BYTES];
};
struct count {
    int64_t time_ns, count;
};

static int64_t origin_ns;
static FILE *log_file;
static struct count counted;
// Sum of a sender's wake-up delays above LATE_NS.
static int64_t late_ns;
static volatile sig_atomic_t is_terminated;

static void fail(const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, ": %s\n", strerror(error));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec - origin_ns;
}

static void sleep_until(int64_t time_ns) {
    int64_t at = time_ns + origin_ns;
    struct timespec until = {.tv_sec = at / NS, .tv_nsec = at % NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR && !is_terminated) {
    }
}

static void terminate(int unused) {
    (void)unused;
    is_terminated = 1;
}

static void note_late(int64_t due) {
    int64_t late = now_ns() - due;
    if (late > LATE_NS) {
        late_ns += late;
    }
}

// Wait for an event on a socket until a time; false at that time.
static int wait_for(int fd, short events, int64_t until_ns) {
    int64_t left = until_ns - now_ns();
    if (left <= 0 || is_terminated) {
        return 0;
    }
    struct timespec timeout = {.tv_sec = left / NS, .tv_nsec = left % NS};
    struct pollfd waiting = {.fd = fd, .events = events};
    return ppoll(&waiting, 1, &timeout, NULL) > 0;
}

static void write_log(const void *record, size_t bytes) {
    if (fwrite(record, bytes, 1, log_file) != 1) {
        fail("log");
    }
}

// Count an event; first log the count so far if the last event was in another millisecond.
static void count(int64_t amount) {
    int64_t now = now_ns();
    if (counted.count && now / LOG_NS != counted.time_ns / LOG_NS) {
        write_log(&counted, sizeof counted);
    }
    counted.time_ns = now;
    counted.count += amount;
}

static void finish(void) {
    if (counted.count) {
        write_log(&counted, sizeof counted);
    }
    if (fclose(log_file)) {
        fail("log");
    }
    fprintf(stderr, "late_ns %" PRId64 "\n", late_ns);
    exit(0);
}

static void sample(int fd, int64_t now) {
    struct sample taken = {.time_ns = now};
    socklen_t info = INFO_BYTES, cc = CC_BYTES;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, taken.info, &info)) {
        fail("TCP_INFO");
    }
    if (getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, taken.cc, &cc)) {
        cc = 0;
    }
    taken.info_bytes = info;
    taken.cc_bytes = cc;
    write_log(&taken, sizeof taken);
}

// An application's progress, and when it may write the next segment.
struct application {
    int64_t rate_bps, bytes, written, due_ns, remainder;
};

// Return how many bytes the application can write now.
static int64_t writable(const struct application *from, int64_t now) {
    int64_t left = from->bytes ? from->bytes - from->written : CHUNK_BYTES, most = CHUNK_BYTES;
    if (from->rate_bps) {
        if (now < from->due_ns) {
            return 0;
        }
        // Write all segments that are due in one call.
        most = ((now - from->due_ns) * from->rate_bps / (PACKET_BITS * NS) + 1) * SEGMENT_BYTES;
        most = most < CHUNK_BYTES ? most : CHUNK_BYTES / SEGMENT_BYTES * SEGMENT_BYTES;
    }
    return left < most ? left : most;
}

static void note_written(struct application *from, int64_t bytes) {
    from->written += bytes;
    if (from->rate_bps) {
        int64_t work = bytes * PACKET_BITS / SEGMENT_BYTES * NS + from->remainder;
        from->due_ns += work / from->rate_bps;
        from->remainder = work % from->rate_bps;
    }
}

static int is_acknowledged(int fd) {
    int waiting;
    if (ioctl(fd, SIOCOUTQ, &waiting)) {
        fail("SIOCOUTQ");
    }
    return !waiting;
}

static void send_stream(int fd, const struct sockaddr_in *to, int64_t stop, struct application from) {
    static char chunk[CHUNK_BYTES];
    struct linger at_end = {.l_onoff = 1};  // abort at once
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_end, sizeof at_end);
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) && errno != EINPROGRESS) {
        fail("connect");
    }
    // Send the last, partial segment of a transfer at once.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    int64_t next = now_ns() / SAMPLE_NS * SAMPLE_NS + SAMPLE_NS, now;
    int connected = 0;
    from.due_ns = now_ns();
    while (!is_terminated && (now = now_ns()) < stop) {
        if (now >= next) {
            note_late(next);
            if (connected) {
                sample(fd, now);
            }
            next = now / SAMPLE_NS * SAMPLE_NS + SAMPLE_NS;
        }
        int64_t until = next < stop ? next : stop, bytes = writable(&from, now);
        if (from.bytes && from.written == from.bytes) {
            if (is_acknowledged(fd)) {
                // Close without a reset, so that the receiver can read the rest.
                at_end.l_onoff = 0;
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_end, sizeof at_end);
                break;
            }
            sleep_until(now + ACKED_NS < until ? now + ACKED_NS : until);
            continue;
        }
        if (!bytes) {
            sleep_until(from.due_ns < until ? from.due_ns : until);
            continue;
        }
        if (!wait_for(fd, POLLOUT, until)) {
            continue;
        }
        ssize_t sent = send(fd, chunk, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            // The kernel gave up the connection, for instance after minutes without an ACK: the flow ends early.
            fprintf(stderr, "send: %s\n", strerror(errno));
            return;
        }
        if (sent > 0) {
            connected = 1;
            note_written(&from, sent);
        }
    }
    if (connected) {
        sample(fd, now_ns());
    }
    if (from.bytes && from.written == from.bytes && is_acknowledged(fd)) {
        fprintf(stderr, "completed_ns %" PRId64 "\n", now_ns());
    }
}

static void receive_stream(int listener, int64_t stop) {
    int fd = -1;
    while (fd < 0) {
        if (!wait_for(listener, POLLIN, stop)) {
            return;
        }
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    }
    while (wait_for(fd, POLLIN, stop)) {
        // MSG_TRUNC discards the bytes without copying them.
        ssize_t bytes = recv(fd, NULL, 1 << 30, MSG_TRUNC);
        if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) {
            return;
        }
        if (bytes > 0) {
            count(bytes);
        }
    }
}

static void send_datagrams(int fd, const struct sockaddr_in *to, int64_t rate_bps, const char *periods) {
    static char datagram[DATAGRAM_BYTES];
    FILE *file = fopen(periods, "rb");
    if (!file) {
        fail("%s", periods);
    }
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    // Carry over division remainders and the gap left at a period's end, so that the long-run rate is exact.
    int64_t period[2], gap = 0, remainder = 0;
    while (fread(period, sizeof period, 1, file) == 1) {
        int64_t due = period[0] + gap;
        while (!is_terminated && due < period[1]) {
            if (due > now_ns()) {
                sleep_until(due);
                note_late(due);
            }
            sendto(fd, datagram, sizeof datagram, 0, (const struct sockaddr *)to, sizeof *to);
            count(1);
            int64_t work = PACKET_BITS * NS + remainder;
            due += work / rate_bps;
            remainder = work % rate_bps;
        }
        gap = due - period[1];
    }
}

static void receive_datagrams(int fd, int64_t stop) {
    char datagram[DATAGRAM_BYTES];
    while (wait_for(fd, POLLIN, stop)) {
        while (recv(fd, datagram, sizeof datagram, MSG_DONTWAIT) >= 0) {
            count(1);
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || argc != (strcmp(argv[1], "send") ? 11 : 13)) {
        fprintf(stderr, "traffic: wrong arguments\n");
        return 2;
    }
    int sends = !strcmp(argv[1], "send"), stream = !strcmp(argv[2], "tcp"), one = 1, big = UDP_BUFFER_BYTES;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[4]))};
    inet_pton(AF_INET, argv[3], &address.sin_addr);
    uid_t uid = strtoul(argv[7], NULL, 10);
    gid_t gid = strtoul(argv[8], NULL, 10);
    int64_t start = strtoll(argv[9], NULL, 10), stop = strtoll(argv[10], NULL, 10);

    int fd = socket(AF_INET, (stream ? SOCK_STREAM : SOCK_DGRAM) | (stream ? SOCK_NONBLOCK : 0), 0);
    if (fd < 0) {
        fail("socket");
    }
    // Set the flow's scheme at both ends, because the machine's default may be any.
    if (stream && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, argv[5], strlen(argv[5]))) {
        fail("scheme %s", argv[5]);
    }
    if (!stream) {
        setsockopt(fd, SOL_SOCKET, sends ? SO_SNDBUFFORCE : SO_RCVBUFFORCE, &big, sizeof big);
    }
    if (!sends) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) || (stream && listen(fd, 1))) {
            fail("listen on %s:%s", argv[3], argv[4]);
        }
    }
    log_file = fopen(argv[6], "wbe");
    if (!log_file) {
        fail("%s", argv[6]);
    }
    if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) {
        fail("giving up root");
    }
    if ((errno = keep_awake())) {
        fail("pthread_create");
    }

    sigaction(SIGTERM, &(struct sigaction){.sa_handler = terminate}, NULL);
    printf("ready\n");
    fflush(stdout);
    if (scanf("%" SCNd64, &origin_ns) != 1) {
        return 3;  // the parent process has ended
    }
    if (sends) {
        sleep_until(start);
        note_late(start);
    }
    if (sends && stream) {
        struct application from = {.rate_bps = strtoll(argv[11], NULL, 10), .bytes = strtoll(argv[12], NULL, 10)};
        send_stream(fd, &address, stop, from);
    } else if (sends) {
        send_datagrams(fd, &address, strtoll(argv[11], NULL, 10), argv[12]);
    } else if (stream) {
        receive_stream(fd, stop);
    } else {
        receive_datagrams(fd, stop);
    }
    finish();
}
