/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory shared with the daemon: one slot per flow, in two arrays that the daemon maps.
 *
 * The program counts and never resets; the daemon reads at its interval ends and takes differences. So intervals end
 * without an ACK, no count is lost when the daemon is late, and the packet path makes no system call, wakes no process
 * and allocates no memory. bridge/src/slot.rs mirrors the layouts and checks their sizes. */
#pragma once

#include "kernel.h"

enum { SLOTS = 1024 };

/* What sets the window. */
enum { HELD, STEERED, FALLEN_BACK, ITS_OWN };

/* Only the program writes it. */
struct flow {
	u64 sequence; /* odd while the program writes the other fields */
	u64 opened_us; /* CLOCK_MONOTONIC */
	u64 updated_us;
	u64 rtt_sum_us;
	u64 rtt_samples;
	u64 rate_sum; /* of delivery-rate samples, bytes/s */
	u64 rate_samples;
	/* Sums over RTT samples for a regression of RTT on time. They wrap, but their differences are right. */
	u64 time_sum_us;
	u64 time_rtt_sum;
	u64 time_square_sum;
	u64 bytes_acked;
	u64 bytes_sent;
	u64 pacing_rate; /* bytes/s; ~0: unpaced */
	u64 applied_ns; /* CLOCK_MONOTONIC when the latest command took effect */
	u64 applied_command; /* its sequence */
	u64 cookie; /* SO_COOKIE if a process asked for it before the connection, else 0 */
	u32 generation; /* odd while the slot is in use */
	u32 delivered; /* total packets, as are lost, sent, retransmitted */
	u32 lost;
	u32 sent;
	u32 retransmitted;
	u32 srtt_us_8; /* eighths of a µs, as the kernel keeps it */
	u32 mdev_us_4; /* quarters of a µs */
	u32 min_rtt_us;
	u32 cwnd;
	u32 ssthresh;
	u32 packets_out;
	u32 retrans_out;
	u32 in_flight;
	u32 mss;
	u32 mode;
	u32 fallbacks;
	u32 timeouts;
	u32 uid;
	u32 netns;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u16 unused[3];
	u8 local[16];
	u8 remote[16];
} __attribute__((aligned(64)));

/* Only the daemon writes it. */
struct command {
	u64 sequence; /* odd while the daemon writes the other fields */
	u64 time_us; /* CLOCK_MONOTONIC of the command */
	u64 patience_us; /* time without a command after which the flow falls back, unless 2 sRTT is longer */
	u64 pacing_rate; /* bytes/s; 0: unpaced */
	u64 frozen_until_us; /* SaTCP attributes losses until then to an announced handover */
	u32 cwnd; /* packets; 0 leaves it unchanged */
	u32 generation; /* of the flow that the command is for */
} __attribute__((aligned(64)));

/* State per socket, after Cubic's own state (at most 18 words) in icsk_ca_priv. */
struct private {
	u32 prr_delivered;
	u8 ca_state;
	u8 reducing;
	u8 mode;
	u8 has_obeyed;
	u32 generation;
	u32 slot_plus_one; /* 0: no slot was free */
};
enum { PRIVATE_AT = 11 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, struct flow);
} flows SEC(".maps");

/* The extra last command holds the patience of flows that have no command yet. 0: nobody gives commands, and flows run
 * Cubic from the start. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS + 1);
	__type(key, u32);
	__type(value, struct command);
} commands SEC(".maps");

/* Free slots. The daemon fills it before it registers the scheme. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SLOTS);
	__type(value, u32);
} vacant SEC(".maps");

/* The slot's number whenever a flow opens or closes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} changes SEC(".maps");

/* The daemon sets them before loading. */
struct settings {
	u32 cong_control_arguments; /* 4 from Linux 6.10 on (sk, ack, flag, rs), 2 before (sk, rs) */
	u32 tells_acks; /* whether to record every ACK */
	u32 least_burst; /* minimum packets per burst, even if pacing allows fewer */
	u32 over_cubic; /* Cubic always moves the window; a command sets the value from which it continues */
};
const volatile struct settings settings;

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct private *private_of(struct sock *sk)
{
	return (struct private *)&((struct inet_connection_sock *)sk)->icsk_ca_priv[PRIVATE_AT];
}

static __always_inline struct flow *flow_of(const struct private *private)
{
	u32 slot = private->slot_plus_one - 1;
	return bpf_map_lookup_elem(&flows, &slot);
}

static __always_inline struct command *command_of(const struct private *private)
{
	u32 slot = private->slot_plus_one - 1;
	return bpf_map_lookup_elem(&commands, &slot);
}

static __always_inline u64 first_patience_us(void)
{
	u32 slot = SLOTS;
	struct command *command = bpf_map_lookup_elem(&commands, &slot);

	return command ? *(volatile u64 *)&command->patience_us : 0;
}

static __always_inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* BPF's fetching atomics are full barriers on every architecture. */
static __always_inline void begin_write(struct flow *flow)
{
	__sync_fetch_and_add(&flow->sequence, 1);
}

static __always_inline void end_write(struct flow *flow)
{
	__sync_fetch_and_add(&flow->sequence, 1);
}

/* Copy the kernel's own counters. */
static __always_inline void copy_counters(struct tcp_sock *tp, struct flow *flow)
{
	struct sock *sk = (struct sock *)tp;

	flow->updated_us = tp->tcp_mstamp;
	flow->bytes_acked = tp->bytes_acked;
	flow->bytes_sent = tp->bytes_sent;
	flow->pacing_rate = sk->sk_pacing_rate;
	flow->delivered = tp->delivered;
	flow->lost = tp->lost;
	flow->sent = tp->data_segs_out;
	flow->retransmitted = tp->total_retrans;
	flow->srtt_us_8 = tp->srtt_us;
	flow->mdev_us_4 = tp->mdev_us;
	flow->min_rtt_us = tp->rtt_min.s[0].v;
	flow->cwnd = tp->snd_cwnd;
	flow->ssthresh = tp->snd_ssthresh;
	flow->packets_out = tp->packets_out;
	flow->retrans_out = tp->retrans_out;
	flow->in_flight = in_flight(tp);
	flow->mss = tp->mss_cache;
}

static __always_inline void add_rtt(struct tcp_sock *tp, s64 rtt, struct flow *flow)
{
	u64 rtt_us = rtt, time_us = tp->tcp_mstamp - flow->opened_us;

	if (rtt < 0)
		return;
	flow->rtt_sum_us += rtt_us;
	flow->rtt_samples += 1;
	flow->time_sum_us += time_us;
	flow->time_rtt_sum += time_us * rtt_us;
	flow->time_square_sum += time_us * time_us;
}

static __always_inline void add_rate(struct tcp_sock *tp, s32 packets, s64 interval_us, struct flow *flow)
{
	if (packets <= 0 || interval_us <= 0)
		return;
	flow->rate_sum += (u64)packets * tp->mss_cache * 1000000 / (u64)interval_us;
	flow->rate_samples += 1;
}

static __always_inline void tell_of_change(u32 slot)
{
	bpf_ringbuf_output(&changes, &slot, sizeof(slot), 0);
}

static __always_inline void open_flow(struct sock *sk)
{
	struct private *private = private_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow;
	u32 slot, generation;

	private->slot_plus_one = 0;
	if (bpf_map_pop_elem(&vacant, &slot))
		return;
	flow = bpf_map_lookup_elem(&flows, &slot);
	if (!flow)
		return;
	generation = (flow->generation | 1) + (flow->generation & 1 ? 2 : 0);
	begin_write(flow);
	flow->opened_us = bpf_ktime_get_ns() / 1000;
	flow->rtt_sum_us = flow->rtt_samples = flow->rate_sum = flow->rate_samples = 0;
	flow->time_sum_us = flow->time_rtt_sum = flow->time_square_sum = 0;
	flow->applied_ns = flow->applied_command = 0;
	flow->mode = HELD;
	flow->fallbacks = flow->timeouts = 0;
	flow->cookie = sk->__sk_common.skc_cookie.counter;
	flow->uid = sk->sk_uid.val;
	flow->netns = sk->__sk_common.skc_net.net->ns.inum;
	flow->family = sk->__sk_common.skc_family;
	flow->local_port = sk->__sk_common.skc_num;
	flow->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (flow->family == 2 /* AF_INET */) {
		__builtin_memset(flow->local, 0, sizeof(flow->local));
		__builtin_memset(flow->remote, 0, sizeof(flow->remote));
		*(u32 *)flow->local = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)flow->remote = sk->__sk_common.skc_daddr;
	} else {
		bpf_core_read(flow->local, sizeof(flow->local), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(flow->remote, sizeof(flow->remote), &sk->__sk_common.skc_v6_daddr);
	}
	copy_counters(tp, flow);
	flow->generation = generation;
	end_write(flow);
	private->generation = generation;
	private->slot_plus_one = slot + 1;
	tell_of_change(slot);
}

static __always_inline void close_flow(struct sock *sk)
{
	struct private *private = private_of(sk);
	struct flow *flow = flow_of(private);
	u32 slot = private->slot_plus_one - 1;

	if (!flow || flow->generation != private->generation)
		return;
	begin_write(flow);
	copy_counters(tcp_sk(sk), flow);
	flow->generation += 1;
	end_write(flow);
	private->slot_plus_one = 0;
	bpf_map_push_elem(&vacant, &slot, 0);
	tell_of_change(slot);
}
