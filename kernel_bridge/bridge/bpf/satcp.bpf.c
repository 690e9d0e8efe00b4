/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* SaTCP (Cao and Zhang, INFOCOM 2023, Algorithm 1): the kernel's Cubic, except that it attributes losses around an
 * announced handover to the handover. Until `frozen_until_us` of its command
 *   - a new epoch of growth aims at the old maximum in a ninth of the time (K <- K / 9),
 *   - a timeout does not forget that maximum ("if satcp_flag then return", before cubic_reset()).
 * It has no cong_control: recovery and pacing are the kernel's own. The daemon only announces handovers and reads. */
#include "flow.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Cubic's state at the start of icsk_ca_priv (net/ipv4/tcp_cubic.c). */
struct bictcp {
	u32 bic_K;
	u32 epoch_start;
} __attribute__((preserve_access_index));

static __always_inline struct bictcp *cubic_of(struct sock *sk)
{
	return (struct bictcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline bool frozen(struct sock *sk)
{
	const struct private *private = private_of(sk);
	struct command *command = command_of(private);

	return command && command->generation == private->generation &&
	       tcp_sk(sk)->tcp_mstamp < command->frozen_until_us;
}

static __always_inline void count(struct sock *sk, bool timeout)
{
	struct flow *flow = flow_of(private_of(sk));

	if (!flow)
		return;
	begin_write(flow);
	flow->timeouts += timeout;
	copy_counters(tcp_sk(sk), flow);
	end_write(flow);
}

SEC("struct_ops")
void BPF_PROG(satcp_init, struct sock *sk)
{
	struct flow *flow;

	cubictcp_init(sk);
	open_flow(sk);
	flow = flow_of(private_of(sk));
	if (flow)
		flow->mode = ITS_OWN;
}

SEC("struct_ops")
void BPF_PROG(satcp_release, struct sock *sk)
{
	close_flow(sk);
}

SEC("struct_ops")
u32 BPF_PROG(satcp_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(satcp_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(satcp_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct bictcp *cubic = cubic_of(sk);
	u32 epoch = cubic->epoch_start;

	cubictcp_cong_avoid(sk, ack, acked);
	if (!epoch && cubic->epoch_start && frozen(sk))
		cubic->bic_K /= 9;
}

SEC("struct_ops")
void BPF_PROG(satcp_state, struct sock *sk, u8 new_state)
{
	bool timeout = new_state == TCP_CA_Loss;

	if (!timeout || !frozen(sk))
		cubictcp_state(sk, new_state);
	count(sk, timeout);
}

SEC("struct_ops")
void BPF_PROG(satcp_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(satcp_tx_start, struct sock *sk)
{
	cubictcp_cwnd_event_tx_start(sk);
}

SEC("struct_ops")
void BPF_PROG(satcp_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(private_of(sk));
	struct tcp_sock *tp = tcp_sk(sk);

	cubictcp_acked(sk, sample);
	if (!flow)
		return;
	begin_write(flow);
	add_rtt(tp, sample->rtt_us, flow);
	/* This is the previous ACK's rate sample: the kernel takes this one's later. */
	add_rate(tp, tp->rate_delivered, tp->rate_interval_us, flow);
	copy_counters(tp, flow);
	end_write(flow);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops leo_scheme = {
	.init = (void *)satcp_init,
	.release = (void *)satcp_release,
	.ssthresh = (void *)satcp_ssthresh,
	.undo_cwnd = (void *)satcp_undo,
	.cong_avoid = (void *)satcp_avoid,
	.set_state = (void *)satcp_state,
	.cwnd_event = (void *)satcp_event,
	.cwnd_event_tx_start = (void *)satcp_tx_start,
	.pkts_acked = (void *)satcp_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "satcp",
};
