/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of the kernel's types that our programs use.
 *
 * preserve_access_index makes every access a CO-RE relocation: the loader takes field offsets from the running
 * kernel's BTF. So fields may be missing or in any order here, and no generated vmlinux.h is needed. */
#pragma once

#include <stdbool.h>

typedef signed int s32;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

enum bpf_map_type_used { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_QUEUE = 22, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_MMAPABLE = 1 << 10, BPF_RB_NO_WAKEUP = 1 };

/* include/uapi/linux/tcp.h, include/net/tcp.h */
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event { CA_EVENT_TX_START };
enum { TCP_CONG_NON_RESTRICTED = 1 };
enum { TCP_INFINITE_SSTHRESH = 0x7fffffff };
/* include/net/sock.h */
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	u32 val;
} kuid_t;

struct in6_addr {
	u8 in6_u[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	kuid_t sk_uid;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prr_out;
	u32 packets_out;
	u32 retrans_out;
	u32 lost_out;
	u32 sacked_out;
	u32 lost;
	u32 delivered;
	u32 data_segs_out;
	u32 total_retrans;
	u32 srtt_us;
	u32 mdev_us;
	u32 snd_una;
	u64 bytes_acked;
	u64 bytes_sent;
	u64 tcp_mstamp;
	u32 rate_delivered;
	u32 rate_interval_us;
	struct minmax rtt_min;
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

#pragma clang attribute pop

/*
 * The loader matches members with the kernel's by name when it creates the map. Linux 7.1 made the event
 * CA_EVENT_TX_START, the only one that Cubic heeds, a member of its own: ebpf.rs clears the one of the two
 * members that does not fit the kernel, and the kernel's functions for them are weak.
 */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* The kernel's own Cubic and Reno, callable from a struct_ops program (net/ipv4/tcp_cubic.c, tcp_cong.c). */
extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void cubictcp_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* bpf_tracing.h's definition needs an architecture's registers, which a struct_ops program does not use. */
#undef barrier
#define barrier() asm volatile("" ::: "memory")
