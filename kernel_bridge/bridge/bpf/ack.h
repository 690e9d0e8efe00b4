/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Record every ACK for schemes that the daemon runs ACK by ACK, as the simulator does: Vivace, Copa.
 *
 * A record does not wake the daemon, which polls every millisecond. Records hold totals, not differences, so the next
 * one makes up for one that found no room. bridge/src/ack_record.rs mirrors the layout and checks its size. */
#pragma once

#include "flow.h"

enum { ACKNOWLEDGED, STATE_CHANGED, UNDONE };

struct ack_record {
	u64 time_us; /* CLOCK_MONOTONIC */
	u64 bytes_acked;
	s64 rtt_us; /* negative: no sample */
	s64 rate_interval_us;
	s32 rate_delivered; /* packets */
	u32 prior_delivered; /* `delivered` at the time when the newest packet delivered now was sent */
	u32 prior_in_flight;
	u32 in_flight;
	u32 delivered;
	u32 lost;
	u32 sent;
	u32 packets_out;
	u32 srtt_us_8;
	u32 min_rtt_us;
	u32 mss;
	u32 generation;
	u16 slot;
	u8 kind;
	u8 ca_state;
	u8 app_limited;
	u8 unused[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} acks SEC(".maps");

static __always_inline void tell_ack(struct sock *sk, u8 kind, u8 ca_state, const struct rate_sample *rs)
{
	struct private *private = private_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ack_record *record;

	if (!settings.tells_acks || !private->slot_plus_one)
		return;
	record = bpf_ringbuf_reserve(&acks, sizeof(*record), 0);
	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	record->time_us = bpf_ktime_get_ns() / 1000;
	record->bytes_acked = tp->bytes_acked;
	record->rtt_us = -1;
	record->in_flight = in_flight(tp);
	record->prior_in_flight = record->in_flight;
	record->delivered = tp->delivered;
	record->lost = tp->lost;
	record->sent = tp->data_segs_out;
	record->packets_out = tp->packets_out;
	record->srtt_us_8 = tp->srtt_us;
	record->min_rtt_us = tp->rtt_min.s[0].v;
	record->mss = tp->mss_cache;
	record->generation = private->generation;
	record->slot = private->slot_plus_one - 1;
	record->kind = kind;
	record->ca_state = ca_state;
	if (rs) {
		record->time_us = tp->tcp_mstamp;
		record->rtt_us = rs->rtt_us;
		record->rate_interval_us = rs->interval_us;
		record->rate_delivered = rs->delivered;
		record->prior_delivered = rs->prior_delivered;
		record->prior_in_flight = rs->prior_in_flight;
		record->app_limited = rs->is_app_limited;
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}
