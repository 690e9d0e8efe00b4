// Run a program on a host of a run: in the host's network namespace, with its name and its files.
//
//   as_host NETWORK ROOT NAME HOSTS UID GID FOLDER COMMAND…
//
// NETWORK is a file of the namespace. The program sees ROOT as its root folder. If that is "/", it sees this machine's
// files, and the file HOSTS as /etc/hosts. It starts in FOLDER as the user UID. All that it starts ends with it, and it
// sees no other processes. SIGTERM and SIGINT go to the program. The exit status is the program's, or 128 and the signal
// that ended it; 126 and 127 as in a shell if it cannot be started; 125 if the host cannot be made.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127, MOST_PROCESSES = 4096 };

static const struct {
    const char *name;
    int minor;
} DEVICES[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

static void fail(int status, const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, ": %s\n", strerror(error));
    exit(status);
}

// Wait for a process and return its exit status; pass signals on to it, and collect orphans.
static int supervise(pid_t child) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    for (;;) {
        int signal, status;
        sigwait(&signals, &signal);
        if (signal != SIGCHLD) {
            kill(child, signal);
        }
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended == child) {
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
        }
    }
}

static void mount_or_fail(const char *source, const char *place, const char *type, unsigned long flags) {
    if (mount(source, place, type, flags, NULL)) {
        fail(FAILED, "%s", place);
    }
}

static void enter_root(const char *root) {
    if (chdir(root)) {
        fail(FAILED, "%s", root);
    }
    mkdir("proc", 0755);
    mkdir("dev", 0755);
    mount_or_fail("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
    mount_or_fail("dev", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC);
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        char path[32];
        snprintf(path, sizeof path, "dev/%s", DEVICES[i].name);
        if (mknod(path, S_IFCHR | 0666, makedev(1, DEVICES[i].minor)) || chmod(path, 0666)) {
            fail(FAILED, "%s", path);
        }
    }
    if (mkdir("dev/shm", 01777) || chmod("dev/shm", 01777) || symlink("/proc/self/fd", "dev/fd") ||
        symlink("/proc/self/fd/0", "dev/stdin") || symlink("/proc/self/fd/1", "dev/stdout") ||
        symlink("/proc/self/fd/2", "dev/stderr") || chroot(".")) {
        fail(FAILED, "%s", root);
    }
}

static void become_program(char **command, uid_t uid, gid_t gid, const char *folder) {
    struct rlimit processes = {MOST_PROCESSES, MOST_PROCESSES}, core = {0, 0};
    sigset_t signals;
    sigemptyset(&signals);
    if (sigprocmask(SIG_SETMASK, &signals, NULL) || sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}) ||
        setrlimit(RLIMIT_NPROC, &processes) || setrlimit(RLIMIT_CORE, &core) || setgroups(0, NULL) ||
        setresgid(gid, gid, gid) || setresuid(uid, uid, uid) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        fail(FAILED, "the program's user");
    }
    if (chdir(folder)) {
        fail(FAILED, "%s", folder);
    }
    execvp(command[0], command);
    fail(errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "%s", command[0]);
}

int main(int argc, char **argv) {
    if (argc < 9) {
        fprintf(stderr, "as_host: wrong arguments\n");
        return 2;
    }
    const char *root = argv[2], *name = argv[3], *hosts = argv[4], *folder = argv[7];
    uid_t uid = strtoul(argv[5], NULL, 10);
    gid_t gid = strtoul(argv[6], NULL, 10);
    int network = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET)) {
        fail(FAILED, "%s", argv[1]);
    }
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC) || sethostname(name, strlen(name))) {
        fail(FAILED, "%s", name);
    }
    mount_or_fail(NULL, "/", NULL, MS_REC | MS_PRIVATE);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    pid_t first = fork();
    if (first < 0) {
        fail(FAILED, "fork");
    }
    if (first) {
        return supervise(first);
    }
    // The first process of the namespace: the kernel ends all others with it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strcmp(root, "/")) {
        enter_root(root);
    } else {
        mount_or_fail("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
        mount_or_fail(hosts, "/etc/hosts", NULL, MS_BIND);
    }
    pid_t program = fork();
    if (program < 0) {
        fail(FAILED, "fork");
    }
    if (!program) {
        become_program(argv + 8, uid, gid, folder);
    }
    return supervise(program);
}
