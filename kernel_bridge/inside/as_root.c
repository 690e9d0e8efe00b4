// Run iptables with real and effective user root. Since 1.8.8 iptables refuses to run if they differ, as they do in
// mahimahi 0.98, which calls it from a setuid process. mahimahi itself sets both since 2022.
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    if (setregid(0, 0) || setreuid(0, 0)) {
        return 111;
    }
    execv(REAL_PROGRAM, argv);
    return 127;
}
