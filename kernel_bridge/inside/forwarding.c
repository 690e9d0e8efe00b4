// Turns forwarding on in the network namespace that it is called in, then runs a command as the caller. Each shell
// makes a new namespace, where forwarding is as on the host, usually off; a shell nested in it asks for it to be on.
// Set user ID root, on a file system that only a session's private mount namespace has.
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
