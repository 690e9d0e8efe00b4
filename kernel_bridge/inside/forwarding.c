// Turn on forwarding in the current network namespace, then run a command as the calling user. Each shell makes a new
// namespace with forwarding as on the host, usually off, but a nested shell needs it. The program is setuid root, on
// a file system that exists only in a session's private mount namespace.
#define _GNU_SOURCE  // setresgid, setresuid
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int file = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);
    if (argc < 2 || file < 0 || write(file, "1", 1) != 1) {
        return 111;
    }
    if (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid())) {
        return 111;
    }
    execvp(argv[1], argv + 1);
    return 127;
}
