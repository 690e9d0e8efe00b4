// Stands in for iptables, which since 1.8.8 refuses to run with real and effective user apart. mahimahi 0.98 calls it
// from a setuid process; making both root first is what mahimahi itself does since 2022.
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    if (setregid(0, 0) || setreuid(0, 0)) {
        return 111;
    }
    execv(REAL_PROGRAM, argv);
    return 127;
}
