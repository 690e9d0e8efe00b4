// Make an eBPF program for a device's traffic control that drops given packets and passes all others.
//
//   lose FILE <LOSSES
//
// LOSSES are the packets' numbers in order of arrival, from 0, ascending, one per line. FILE is the program's path in
// the BPF file system.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 1 << 20, LOG_BYTES = 1 << 16 };

// The program's state: the number of the next packet, and the index of the next loss.
struct state {
    uint32_t packet, loss;
};

static int bpf(int command, union bpf_attr *attributes) {
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static void fail(const char *what) {
    fprintf(stderr, "lose: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int array(uint32_t value_bytes, uint32_t entries) {
    union bpf_attr made = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value_bytes, .max_entries = entries};
    int map = bpf(BPF_MAP_CREATE, &made);
    if (map < 0) {
        fail("map");
    }
    return map;
}

// eBPF registers: r0 is a call's result, r1 to r5 are its arguments, it preserves r6 to r9, and r10 is the frame.
#define INSN(op, dst, src, offset, value) \
    ((struct bpf_insn){.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value)})
#define LOAD(dst, src, offset) INSN(BPF_LDX | BPF_MEM | BPF_W, dst, src, offset, 0)
#define STORE(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_W, dst, src, offset, 0)
#define STORE_ZERO(dst, offset) INSN(BPF_ST | BPF_MEM | BPF_W, dst, 0, offset, 0)
#define MOVE(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define MAP(dst, map) INSN(BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map), INSN(0, 0, 0, 0, 0)
#define LOOK_UP INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem)
#define IF_ZERO(dst, by) INSN(BPF_JMP | BPF_JEQ | BPF_K, dst, 0, by, 0)
#define IF_DIFFERENT(dst, src, by) INSN(BPF_JMP | BPF_JNE | BPF_X, dst, src, by, 0)
#define RETURN INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int program(int state, int losses) {
    const struct bpf_insn code[] = {
        // r6 = the state; r7 = this packet's number; store the next packet's number.
        STORE_ZERO(10, -4), MAP(1, state), MOVE(2, 10), ADD(2, -4), LOOK_UP, IF_ZERO(0, 20), MOVE(6, 0), LOAD(7, 6, 0),
        MOVE(1, 7), ADD(1, 1), STORE(6, 0, 1),
        // r0 = the next loss; without one, pass the packet.
        LOAD(1, 6, 4), STORE(10, -4, 1), MAP(1, losses), MOVE(2, 10), ADD(2, -4), LOOK_UP, IF_ZERO(0, 7), LOAD(1, 0, 0),
        IF_DIFFERENT(1, 7, 5),
        // The next loss is this packet: drop it.
        LOAD(1, 6, 4), ADD(1, 1), STORE(6, 4, 1), SET(0, TC_ACT_SHOT), RETURN,
        // Pass all others.
        SET(0, TC_ACT_OK), RETURN};
    static char log[LOG_BYTES];
    union bpf_attr loaded = {
        .prog_type = BPF_PROG_TYPE_SCHED_CLS,
        .insns = (uintptr_t)code,
        .insn_cnt = sizeof code / sizeof *code,
        .license = (uintptr_t) "GPL",
        .log_buf = (uintptr_t)log,
        .log_size = sizeof log,
        .log_level = 1,
    };
    int file = bpf(BPF_PROG_LOAD, &loaded);
    if (file < 0) {
        fputs(log, stderr);
        fail("program");
    }
    return file;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "lose: wrong arguments\n");
        return 2;
    }
    static uint32_t losses[MOST];
    uint32_t count = 0;
    while (count < MOST && scanf("%u", &losses[count]) == 1) {
        count++;
    }
    if (count == 0 || count == MOST) {
        errno = ERANGE;
        fail("losses");
    }
    int map = array(sizeof *losses, count);
    for (uint32_t i = 0; i < count; i++) {
        union bpf_attr put = {.map_fd = map, .key = (uintptr_t)&i, .value = (uintptr_t)&losses[i]};
        if (bpf(BPF_MAP_UPDATE_ELEM, &put)) {
            fail("losses");
        }
    }
    union bpf_attr pinned = {
        .pathname = (uintptr_t)argv[1], .bpf_fd = program(array(sizeof(struct state), 1), map)};
    if (bpf(BPF_OBJ_PIN, &pinned)) {
        fail(argv[1]);
    }
    return 0;
}
