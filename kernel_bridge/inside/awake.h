// A thread that keeps the processor from halting.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

// Loop forever. In an emulator that counts instructions (kernel_bridge/lab), a halt costs two thread switches, a block of
// no-ops (511 at most) next to nothing. In a process of its own the loop would cost an address space switch per packet.
static void *stay_awake(void *unused) {
    (void)unused;
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
    for (;;) {
        __asm__ volatile(".balign 4096\n\t.rept 510\n\tnop\n\t.endr");
    }
}

// Start the thread if AWAKE is in the environment; return 0, or an error number.
static int keep_awake(void) {
    pthread_t awake;
    return getenv("AWAKE") ? pthread_create(&awake, NULL, stay_awake, NULL) : 0;
}
