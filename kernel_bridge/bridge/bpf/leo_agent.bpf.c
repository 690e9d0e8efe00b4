/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A congestion control that obeys the daemon, and runs the kernel's Cubic when the daemon is silent.
 *
 * A command takes effect at the connection's next step: an ACK, a timeout, a write by the application, a pacing timer.
 * Without leo_min_tso_segs (check.rs), it waits for an ACK or a timeout.
 * A flow runs Cubic when no command has come for max(patience, 2 sRTT), and from the start if nobody gives commands.
 * The next command takes it back.
 *
 * Over Cubic (Orca, SIGCOMM 2020), Cubic always moves the window; a command sets it once and Cubic continues from it. */
#include "ack.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* bytes/s */
#define PACED_BELOW 1250000000ULL
#define UNCHANGED_US 100

/* Proportional rate reduction (RFC 6937, section 3.1, with the slow-start reduction bound). The kernel leaves the window
 * in recovery to schemes with cong_control, so Cubic inside this one needs its own. */
static __always_inline void reduce_proportionally(struct tcp_sock *tp, struct private *private, u32 delivered)
{
	u32 pipe = in_flight(tp), ssthresh = tp->snd_ssthresh, prior = tp->prior_cwnd, send;

	private->prr_delivered += delivered;
	if (!delivered || !prior)
		return;
	if (pipe > ssthresh) {
		/* "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out" */
		u64 allowed = ((u64)private->prr_delivered * ssthresh + prior - 1) / prior;

		send = allowed > tp->prr_out ? allowed - tp->prr_out : 0;
	} else {
		/* "limit = MAX(prr_delivered - prr_out, DeliveredData) + MSS; sndcnt = MIN(ssthresh - pipe, limit)" */
		u32 limit = private->prr_delivered > tp->prr_out ? private->prr_delivered - tp->prr_out : 0;

		limit = (limit > delivered ? limit : delivered) + 1;
		send = ssthresh - pipe < limit ? ssthresh - pipe : limit;
	}
	/* Always send the first retransmission. */
	if (!send && !tp->prr_out)
		send = 1;
	tp->snd_cwnd = pipe + send ? pipe + send : 1;
}

/* Set the pacing rate as the kernel does for schemes without cong_control: 200 % of a window per RTT in slow start, else
 * 120 % (net.ipv4.tcp_pacing_ss_ratio, tcp_pacing_ca_ratio). It affects burst sizes and sockets that pace. */
static __always_inline void pace_as_kernel(struct sock *sk, struct tcp_sock *tp)
{
	u32 window = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	u64 rate = (u64)tp->mss_cache * window * 8 * 10000;

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

static __always_inline bool is_cubics(const struct private *private)
{
	return settings.over_cubic || private->mode == FALLEN_BACK;
}

static __always_inline void fall_back(struct sock *sk, struct private *private, struct flow *flow)
{
	struct tcp_sock *tp = tcp_sk(sk);

	private->mode = FALLEN_BACK;
	if (!settings.over_cubic) {
		private->reducing = 0;
		cubictcp_init(sk);
		/* Cubic continues from the agent's window; a flow that never had an agent begins in slow start. */
		if (private->has_obeyed)
			tp->snd_ssthresh = tp->snd_cwnd > 2 ? tp->snd_cwnd : 2;
	}
	if (flow) {
		flow->mode = FALLEN_BACK;
		flow->fallbacks += 1;
	}
}

/* Apply the command, or fall back if the daemon is silent. */
static __always_inline void obey(struct sock *sk, struct private *private, struct flow *flow)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct command *command = command_of(private);
	u64 now = tp->tcp_mstamp, last, patience, rate, sequence;
	u32 cwnd;

	if (!flow || !command) {
		if (private->mode != FALLEN_BACK)
			fall_back(sk, private, flow);
		return;
	}
	sequence = *(volatile u64 *)&command->sequence;
	barrier();
	last = command->time_us;
	patience = command->patience_us;
	rate = command->pacing_rate;
	cwnd = command->cwnd;
	if (command->generation != private->generation) {
		last = flow->opened_us;
		patience = first_patience_us();
		cwnd = 0;
	}
	barrier();
	/* Ignore a torn command; the previous one holds until the next step. */
	if (sequence & 1 || sequence != *(volatile u64 *)&command->sequence)
		return;
	if (patience && patience < tp->srtt_us / 4)
		patience = tp->srtt_us / 4;
	if (!patience || now > last + patience) {
		if (private->mode != FALLEN_BACK)
			fall_back(sk, private, flow);
		return;
	}
	if (!cwnd && !settings.over_cubic)
		return;
	private->mode = STEERED;
	private->has_obeyed = 1;
	flow->mode = STEERED;
	if (sequence != flow->applied_command) {
		flow->applied_command = sequence;
		flow->applied_ns = bpf_ktime_get_ns();
		if (cwnd)
			tp->snd_cwnd = cwnd;
	}
	if (settings.over_cubic)
		return;
	tp->snd_cwnd = cwnd;
	/* Slow start must not raise a window that the agent set. */
	tp->snd_ssthresh = cwnd > 2 ? cwnd : 2;
	if (!rate) {
		sk->sk_pacing_rate = ~0UL;
	} else {
		sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
		/* If the socket's earlier scheme did not pace, the rate has no effect without this. Above 10 Gbit/s a
		 * full burst (64 KB) lasts less than 50 us, so a timer for each is not worth its cost. */
		if (sk->sk_pacing_status != SK_PACING_FQ)
			sk->sk_pacing_status = rate < PACED_BELOW ? SK_PACING_NEEDED : SK_PACING_NONE;
	}
}

static __always_inline void on_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct private *private = private_of(sk);
	struct flow *flow = flow_of(private);
	struct tcp_sock *tp = tcp_sk(sk);

	tell_ack(sk, ACKNOWLEDGED, private->ca_state, rs);
	if (flow) {
		begin_write(flow);
		add_rtt(tp, rs->rtt_us, flow);
		add_rate(tp, rs->delivered, rs->interval_us, flow);
	}
	obey(sk, private, flow);
	if (is_cubics(private)) {
		if (private->reducing)
			reduce_proportionally(tp, private, rs->acked_sacked);
		else if (rs->acked_sacked)
			cubictcp_cong_avoid(sk, tp->snd_una, rs->acked_sacked);
		pace_as_kernel(sk, tp);
	}
	if (flow) {
		copy_counters(tp, flow);
		end_write(flow);
	}
}

SEC("struct_ops")
int leo_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	if (settings.cong_control_arguments == 4) {
		barrier();
		on_ack(sk, (const struct rate_sample *)ctx[3]);
	} else {
		barrier();
		on_ack(sk, (const struct rate_sample *)ctx[1]);
	}
	return 0;
}

SEC("struct_ops")
void BPF_PROG(leo_init, struct sock *sk)
{
	struct private *private = private_of(sk);

	private->prr_delivered = 0;
	private->ca_state = TCP_CA_Open;
	private->reducing = 0;
	private->mode = HELD;
	private->has_obeyed = 0;
	/* The socket's earlier scheme may have left any rate; start unpaced. */
	sk->sk_pacing_rate = ~0UL;
	if (settings.over_cubic) {
		cubictcp_init(sk);
		if (sk->sk_pacing_status == SK_PACING_NONE)
			sk->sk_pacing_status = SK_PACING_NEEDED;
	}
	open_flow(sk);
	if (!private->slot_plus_one)
		fall_back(sk, private, 0);
}

SEC("struct_ops")
void BPF_PROG(leo_release, struct sock *sk)
{
	close_flow(sk);
}

SEC("struct_ops")
u32 BPF_PROG(leo_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (is_cubics(private_of(sk)))
		return cubictcp_recalc_ssthresh(sk);
	return tp->snd_cwnd > 2 ? tp->snd_cwnd : 2;
}

SEC("struct_ops")
u32 BPF_PROG(leo_undo, struct sock *sk)
{
	struct private *private = private_of(sk);

	private->reducing = 0;
	tell_ack(sk, UNDONE, private->ca_state, 0);
	if (is_cubics(private))
		return tcp_reno_undo_cwnd(sk);
	return tcp_sk(sk)->snd_cwnd;
}

/* Runs after the kernel has set the window to one packet on a timeout, so obey() restores an agent's window. */
SEC("struct_ops")
void BPF_PROG(leo_state, struct sock *sk, u8 new_state)
{
	struct private *private = private_of(sk);
	struct flow *flow = flow_of(private);
	struct tcp_sock *tp = tcp_sk(sk);

	if (flow)
		begin_write(flow);
	obey(sk, private, flow);
	if (is_cubics(private)) {
		u8 reducing = new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery;

		cubictcp_state(sk, new_state);
		if (reducing && !private->reducing)
			private->prr_delivered = 0;
		/* tcp_end_cwnd_reduction() skips this for schemes with cong_control. */
		if (!reducing && private->reducing && new_state != TCP_CA_Loss &&
		    tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
			tp->snd_cwnd = tp->snd_ssthresh;
		private->reducing = reducing;
	}
	private->ca_state = new_state;
	tell_ack(sk, STATE_CHANGED, new_state, 0);
	if (flow) {
		flow->timeouts += new_state == TCP_CA_Loss;
		copy_counters(tp, flow);
		end_write(flow);
	}
}

SEC("struct_ops")
void BPF_PROG(leo_event, struct sock *sk, enum tcp_ca_event event)
{
	if (is_cubics(private_of(sk)))
		cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(leo_tx_start, struct sock *sk)
{
	if (is_cubics(private_of(sk)))
		cubictcp_cwnd_event_tx_start(sk);
}

SEC("struct_ops")
void BPF_PROG(leo_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (is_cubics(private_of(sk)))
		cubictcp_acked(sk, sample);
}

/* The kernel calls this before each attempt to send, whatever caused it, so commands take effect between ACKs. */
SEC("struct_ops")
u32 BPF_PROG(leo_min_tso_segs, struct sock *sk)
{
	struct private *private = private_of(sk);
	struct flow *flow = flow_of(private);
	struct command *command = command_of(private);
	struct tcp_sock *tp = tcp_sk(sk);

	/* Most attempts follow an ACK directly; skip them unless something has changed since. */
	if (flow && command &&
	    (*(volatile u64 *)&command->sequence != flow->applied_command || tp->data_segs_out != flow->sent ||
	     tp->tcp_mstamp > flow->updated_us + UNCHANGED_US)) {
		begin_write(flow);
		obey(sk, private, flow);
		copy_counters(tp, flow);
		end_write(flow);
	}
	return settings.least_burst;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops leo_scheme = {
	.init = (void *)leo_init,
	.release = (void *)leo_release,
	.ssthresh = (void *)leo_ssthresh,
	.undo_cwnd = (void *)leo_undo,
	.set_state = (void *)leo_state,
	.cwnd_event = (void *)leo_event,
	.cwnd_event_tx_start = (void *)leo_tx_start,
	.pkts_acked = (void *)leo_acked,
	.min_tso_segs = (void *)leo_min_tso_segs,
	.cong_control = (void *)leo_control,
	/* Any process may choose the scheme, so no sysctl needs to change. */
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "leo_agent",
};
