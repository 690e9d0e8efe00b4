// Write a file of QEMU's firmware configuration to standard output.
//
//   firmware_file NAME
//
// Linux has a driver for it (qemu_fw_cfg), but that skips to each page's position byte by byte: a path trace with a
// terminal's frames (18 MB) took hours. This asks for a page at a time by direct memory access
// (https://www.qemu.org/docs/master/specs/fw_cfg.html).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DMA_PORT = 0x514, DIRECTORY = 0x19, PAGE = 4096, MOST_BYTES = PAGE - 64 };
enum { READ = 2, SELECT = 8 };

// QEMU's requests and answers, big-endian.
struct access {
    uint32_t control, length;
    uint64_t address;
};

struct entry {
    uint32_t size;
    uint16_t key, reserved;
    char name[56];
};

static char *page;
static uint64_t page_address;

static void fail(const char *what) {
    fprintf(stderr, "firmware_file: %s: %s\n", what, strerror(errno));
    exit(1);
}

// A page that stays where it is, and its physical address: the answer is in its first part, the question in its last.
static void get_page(void) {
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0);
    if (page == MAP_FAILED) {
        fail("memory");
    }
    int map = open("/proc/self/pagemap", O_RDONLY);
    uint64_t told;
    if (map < 0 || pread(map, &told, sizeof told, (uintptr_t)page / PAGE * sizeof told) != sizeof told) {
        fail("/proc/self/pagemap");
    }
    close(map);
    page_address = (told & ((1ULL << 55) - 1)) * PAGE; // bits 0 to 54 are the page's number
}

// Read the next bytes of the file with this key, or of the last one if it is 0, into the page.
static void next(uint16_t key, uint32_t bytes) {
    volatile struct access *asked = (volatile struct access *)(page + MOST_BYTES);
    asked->control = htonl(READ | (key ? SELECT | (uint32_t)key << 16 : 0));
    asked->length = htonl(bytes);
    asked->address = htobe64(page_address);
    uint64_t at = page_address + MOST_BYTES;
    // QEMU acts on the lower half, before the instruction ends.
    outl(htonl(at >> 32), DMA_PORT);
    outl(htonl((uint32_t)at), DMA_PORT + 4);
    if (asked->control != 0) {
        errno = EIO;
        fail("QEMU");
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: firmware_file NAME\n");
        return 2;
    }
    if (ioperm(DMA_PORT, 8, 1) != 0) {
        fail("ports");
    }
    get_page();
    next(DIRECTORY, sizeof(uint32_t));
    uint32_t entries = ntohl(*(uint32_t *)page);
    struct entry found = {0};
    do {
        if (entries-- == 0) {
            errno = ENOENT;
            fail(argv[1]);
        }
        next(0, sizeof found);
        memcpy(&found, page, sizeof found);
    } while (strncmp(found.name, argv[1], sizeof found.name) != 0);

    uint16_t key = ntohs(found.key);
    for (uint32_t left = ntohl(found.size); left > 0; key = 0) {
        uint32_t bytes = left < MOST_BYTES ? left : MOST_BYTES;
        next(key, bytes);
        if (fwrite(page, 1, bytes, stdout) != bytes) {
            fail("standard output");
        }
        left -= bytes;
    }
    if (fflush(stdout) != 0) {
        fail("standard output");
    }
    return 0;
}
