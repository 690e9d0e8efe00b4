/* AIMD: one more packet in each round trip, and the factor BETA at a loss. */
#define SEC(name) __attribute__((section(name), used))
#define KSYM __attribute__((section(".ksyms")))
#define BETA 7 / 10

typedef unsigned int u32;

struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_ssthresh;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	u32 (*ssthresh)(void *sk);
	void (*cong_avoid)(void *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(void *sk);
	char name[16];
};

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) KSYM;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) KSYM;
extern u32 tcp_reno_undo_cwnd(struct tcp_sock *sk) KSYM;

SEC("struct_ops")
u32 aimd_ssthresh(unsigned long long *arguments)
{
	struct tcp_sock *tp = (void *)arguments[0];
	u32 window = tp->snd_cwnd * BETA;

	return window > 2 ? window : 2;
}

SEC("struct_ops")
void aimd_avoid(unsigned long long *arguments)
{
	struct tcp_sock *tp = (void *)arguments[0];
	u32 acked = arguments[2];

	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops")
u32 aimd_undo(unsigned long long *arguments)
{
	return tcp_reno_undo_cwnd((void *)arguments[0]);
}

SEC(".struct_ops")
struct tcp_congestion_ops aimd = {
	.ssthresh = (void *)aimd_ssthresh,
	.cong_avoid = (void *)aimd_avoid,
	.undo_cwnd = (void *)aimd_undo,
	.name = "aimd",
};

char LICENSE[] SEC("license") = "GPL";
