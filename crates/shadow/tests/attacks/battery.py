"""What a hostile command tries. Each attack prints one line: its name and `refused`, `harmless` or `LEAK`, and why.

Whatever an attack writes is there already, or goes to a file that the test made: also where the wall is missing, nothing is harmed.
"""

import ctypes, errno, json, mmap, os, platform, resource, signal, socket, stat, struct, subprocess, sys

A = json.loads(os.environ["ATTACKS"])
WORK, OUT, HOME = A["work"], A["out"], A["home"]
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
# Numbers that differ between architectures, x86-64 first.
NR = {
    name: numbers[0 if X86 else 1]
    for name, numbers in {
        "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
        "unshare": (272, 97), "clone": (56, 220), "clone3": (435, 435), "ptrace": (101, 117),
        "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_open": (434, 434),
        "pidfd_getfd": (438, 438), "kcmp": (312, 272), "bpf": (321, 280), "perf_event_open": (298, 241),
        "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "keyctl": (250, 219), "add_key": (248, 217),
        "request_key": (249, 218), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
        "fanotify_init": (300, 262), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
        "kexec_load": (246, 104), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
        "quotactl": (179, 60), "acct": (163, 89), "syslog": (103, 116), "sethostname": (170, 161),
        "setdomainname": (171, 162), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
        "fspick": (433, 433), "open_tree": (428, 428), "move_mount": (429, 429), "mount_setattr": (442, 442),
        "statmount": (457, 457), "capset": (126, 91), "shmat": (30, 196), "shmget": (29, 194), "mknodat": (259, 33),
        "prlimit64": (302, 261), "process_madvise": (440, 440), "clock_settime": (227, 112), "mq_open": (240, 180),
        "io_setup": (206, 0), "inotify_init1": (294, 26), "timer_create": (222, 107), "timer_delete": (226, 111), "fallocate": (285, 47), "lsm_set_self_attr": (460, 460), "open_tree_attr": (467, 467), "settimeofday": (164, 170),
    }.items()
}
ATTACKS = []


def attack(function):
    ATTACKS.append((function.__name__, function))
    return function


def rows(prefix, values, function):
    for name, *arguments in values:
        ATTACKS.append((f"{prefix}_{name}", lambda arguments=arguments: function(*arguments)))


class Leak(Exception):
    pass


def leak(why):
    raise Leak(why)


def call(name, *arguments):
    """A system call that must fail; the error's name."""
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(NR[name]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if done != -1:
        leak(f"{name} gave {done}")
    return errno.errorcode[ctypes.get_errno()]


def blocked(name, *arguments):
    """As `call`; the filter answers before the kernel looks at the arguments."""
    said = call(name, *arguments)
    if said not in ("EPERM", "ENOSYS"):
        leak(f"{name} was looked at: {said}")
    return said


def fails(function, *arguments, **options):
    try:
        done = function(*arguments, **options)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    leak(f"it gave {done!r}")


def opens(path, flags):
    handle = os.open(path, flags)
    os.close(handle)
    return "opened"


def forked(function):
    """Runs in a child; its end as a text."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = function()
        except OSError:
            code = 1
        except Leak:
            code = 9
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    if code == 9:
        leak("the child got through")
    return f"exit {code}"


def private_content(path):
    try:
        with open(path, "rb") as file:
            if content := file.read(64):
                leak(f"{path}: {content!r}")
    except OSError as error:
        return errno.errorcode[error.errno]
    return "empty"


# Writing outside the workspace. Each way is tried at the test's own file, whose content, mode and times the test compares afterwards.
CANARY = f"{OUT}/canary"
rows("outside", [
    ("append", open, CANARY, "a"),
    ("create", os.open, f"{OUT}/created", os.O_CREAT | os.O_WRONLY, 0o600),
    ("mkdir", os.mkdir, f"{OUT}/folder"),
    ("unlink", os.unlink, CANARY),
    ("rename", os.rename, CANARY, f"{OUT}/renamed"),
    ("chmod", os.chmod, CANARY, 0o644),
    ("chown", os.chown, CANARY, os.getuid(), os.getgid()),
    ("utime", os.utime, CANARY),
    ("truncate", os.truncate, CANARY, 6),
    ("link", os.link, CANARY, f"{WORK}/linked"),
    ("list", os.listdir, OUT),
    ("read", open, f"{OUT}/secret"),
    ("up_from_the_root_of_the_view", open, f"{WORK}/../out/canary", "a"),
    ("through_proc_root", open, f"/proc/self/root{CANARY}", "a"),
    ("through_proc_cwd", open, "/proc/self/cwd/../out/canary", "a"),
    ("through_root_of_first_process", open, f"/proc/1/root{CANARY}", "a"),
    ("through_cwd_of_first_process", os.listdir, "/proc/1/cwd"),
], fails)


@attack
def outside_by_a_handle_of_the_root():
    root = os.open(WORK, os.O_PATH | os.O_DIRECTORY)
    try:
        return fails(os.open, "../out/canary", os.O_WRONLY, dir_fd=root)
    finally:
        os.close(root)


@attack
def outside_through_a_link():
    os.symlink(CANARY, f"{WORK}/to-canary")
    return fails(open, f"{WORK}/to-canary", "a")


@attack
def outside_through_a_folder_link():
    os.symlink("../out", f"{WORK}/to-out")
    return fails(open, f"{WORK}/to-out/canary", "a")


@attack
def home_is_written():
    # There is an empty home; what the machine's home holds is compared by the test.
    with open(f"{HOME}/.bashrc", "a") as file:
        file.write("x")
    return "forgotten"


@attack
def tools_folder_is_written():
    with open(f"{HOME}/.cargo/config.toml", "a") as file:
        file.write("x")
    os.unlink(f"{HOME}/.cargo/registry")
    return "forgotten"


# Files of the system: opened for writing, and nothing is written.
for path in ["/etc/passwd", "/etc/hostname", "/etc/ld.so.cache", "/usr/bin/env", "/usr/lib/os-release", "/proc/sysrq-trigger",
             "/proc/sys/kernel/core_pattern", "/proc/irq/default_smp_affinity", "/proc/1/mem", "/proc/1/oom_score_adj",
             "/proc/1/attr/current", "/proc/self/attr/exec", "/proc/dynamic_debug/control", "/proc/acpi/wakeup", "/proc/scsi/scsi",
             "/proc/mtrr", "/proc/timer_list", "/sys/power/state", "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run",
             "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/module/kernel/parameters/panic", "/sys/fs/cgroup/cgroup.procs",
             "/sys/fs/cgroup/release_agent", "/sys/class/net/lo/mtu", "/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port",
             "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/loop-control", "/dev/uinput",
             "/dev/console", "/dev/tty0", "/dev/tty1"]:
    rows("open_for_writing", [(path, path, os.O_WRONLY | os.O_APPEND)], lambda *a: fails(opens, *a))

rows("folder_of_the_system", [
    ("usr", "/usr"), ("etc", "/etc"), ("opt", "/opt"), ("root", "/"), ("dev", "/dev"), ("sys", "/sys"), ("proc", "/proc"),
], lambda path: fails(os.chmod, path, stat.S_IMODE(os.stat(path).st_mode)))


def same_value(path):
    with open(path) as file:
        value = file.read()
    return fails(lambda: open(path, "w").write(value))


rows("same_value", [(path, path) for path in [
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
    "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max", "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/modprobe", "/proc/sys/kernel/pid_max",
]], same_value)
rows("more", [("user_namespaces", "/proc/sys/user/max_user_namespaces"), ("mount_namespaces", "/proc/sys/user/max_mnt_namespaces")],
     lambda path: fails(lambda: open(path, "w").write("100")))
rows("map", [("uid", "uid_map", f"0 {os.getuid()} 1"), ("gid", "gid_map", f"0 {os.getgid()} 1"), ("setgroups", "setgroups", "deny")],
     lambda name, text: fails(lambda: open(f"/proc/self/{name}", "w").write(text)))
rows("cgroup", [("mkdir", os.mkdir, "/sys/fs/cgroup/shadow-test"), ("mkdir_version_1", os.mkdir, "/sys/fs/cgroup/memory/shadow-test")], fails)
rows("device_mode", [(name, f"/dev/{name}") for name in ["null", "zero", "full", "random", "urandom", "tty"]],
     lambda path: fails(os.chmod, path, stat.S_IMODE(os.stat(path).st_mode)))
rows("device_time", [(name, f"/dev/{name}") for name in ["null", "zero"]], lambda path: fails(os.utime, path))


def makes_device(kind, major, minor, folder):
    return fails(os.mknod, f"{folder}/node-{major}-{minor}", kind | 0o600, os.makedev(major, minor))


rows("mknod", [
    ("memory", stat.S_IFCHR, 1, 1, WORK), ("null", stat.S_IFCHR, 1, 3, WORK), ("disk", stat.S_IFBLK, 254, 0, WORK),
    ("disk_in_tmp", stat.S_IFBLK, 8, 0, "/tmp"), ("whiteout", stat.S_IFCHR, 0, 0, WORK),
], makes_device)

# Marks of overlayfs, with which the upper layer would be misread. What the kernel keeps under another name is no mark: the test reads the view.
def forges(name, value):
    path = f"{WORK}/forged-{name.replace('.', '-')}"
    os.mkdir(path)
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "kept under another name"


rows("forge", [(name, name, value) for name, value in [
    ("user.overlay.opaque", b"y"), ("user.overlay.redirect", b"/../out"), ("user.overlay.metacopy", b""),
    ("user.overlay.whiteout", b"y"), ("user.overlay.origin", b"x"), ("trusted.overlay.opaque", b"y"),
    ("trusted.overlay.redirect", b"/etc"), ("security.capability", b"\x01" * 20),
]], forges)

# Secrets.
for path in A["secrets"]:
    rows("secret", [(path, f"{HOME}/{path}")], private_content)
rows("secret_of_the_system", [(path, path) for path in [
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private/ssl-cert-snakeoil.key", "/proc/1/environ", "/proc/kcore", "/proc/kmsg", "/proc/1/maps",
    "/sys/kernel/debug/kprobes/list", "/sys/firmware/dmi/tables/DMI", "/sys/class/dmi/id/product_serial",
]], private_content)


@attack
def secrets_of_etc_by_mode():
    for folder, folders, files in os.walk("/etc"):
        if folder.count("/") > 3:
            folders.clear()
        for name in files:
            path = f"{folder}/{name}"
            if not os.path.islink(path) and not os.stat(path).st_mode & 0o004:
                private_content(path)
    return "nothing private"


@attack
def secrets_in_the_environment():
    for name, value in os.environ.items():
        if name != "ATTACKS" and A["token"] in value:
            leak(name)
    return "none"


@attack
def secrets_in_other_processes():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ["cmdline", "environ"]:
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    content = file.read()
            except OSError:
                continue
            if int(pid) not in (os.getpid(), os.getppid()) and A["token"].encode() in content:
                leak(f"{pid} {name}")
    return "none"


rows("folder_that_is_not_there", [(path, path) for path in [
    "/root/.ssh", "/home/shared", "/var/lib", "/var/log", "/var/run/secrets", "/mnt", "/media", "/srv", "/boot", A["shm"], A["tmp"],
]], lambda path: fails(os.listdir, path) if os.path.isdir(path) and os.listdir(path) else fails(os.stat, path) if not os.path.isdir(path) else "empty")


# Sockets.
def connects(family, kind, address):
    with socket.socket(family, kind) as client:
        client.settimeout(2)
        client.connect(address)
        client.send(b"leak")
        if kind == socket.SOCK_DGRAM and family != socket.AF_UNIX:
            return "sent to nobody"
    leak(f"connected to {address}")


def unconnected(*arguments):
    try:
        return connects(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, "timeout")


INET, INET6, UNIX = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX
rows("connect", [
    ("tcp_loopback", INET, socket.SOCK_STREAM, ("127.0.0.1", A["tcp"])),
    ("tcp_loopback_6", INET6, socket.SOCK_STREAM, ("::1", A["tcp"])),
    ("tcp_any", INET, socket.SOCK_STREAM, ("0.0.0.0", A["tcp"])),
    ("tcp_elsewhere", INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    ("udp_loopback", INET, socket.SOCK_DGRAM, ("127.0.0.1", A["udp"])),
    ("unix", UNIX, socket.SOCK_STREAM, A["unix"]),
    ("unix_in_tmp", UNIX, socket.SOCK_STREAM, A["unix_tmp"]),
    ("unix_abstract", UNIX, socket.SOCK_STREAM, "\0" + A["abstract"]),
    ("docker", UNIX, socket.SOCK_STREAM, "/var/run/docker.sock"),
    ("docker_run", UNIX, socket.SOCK_STREAM, "/run/docker.sock"),
    ("containerd", UNIX, socket.SOCK_STREAM, "/run/containerd/containerd.sock"),
    ("dbus_system", UNIX, socket.SOCK_STREAM, "/run/dbus/system_bus_socket"),
    ("dbus_session", UNIX, socket.SOCK_STREAM, f"/run/user/{os.getuid()}/bus"),
    ("systemd", UNIX, socket.SOCK_STREAM, "/run/systemd/private"),
    ("x11", UNIX, socket.SOCK_STREAM, "/tmp/.X11-unix/X0"),
    ("x11_abstract", UNIX, socket.SOCK_STREAM, "\0/tmp/.X11-unix/X0"),
    ("wayland", UNIX, socket.SOCK_STREAM, f"/run/user/{os.getuid()}/wayland-0"),
    ("gpg_agent", UNIX, socket.SOCK_STREAM, f"{HOME}/.gnupg/S.gpg-agent"),
    ("syslog", UNIX, socket.SOCK_DGRAM, "/dev/log"),
    ("unix_on_path", UNIX, socket.SOCK_STREAM, f"{A['programs']}/agent"),
    ("unix_in_a_tools_folder", UNIX, socket.SOCK_STREAM, f"{HOME}/.cargo/agent"),
], unconnected)


def pipe_is_read(path):
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if text := os.read(handle, 64):
            leak(f"{path}: {text!r}")
    finally:
        os.close(handle)
    return "nothing in it"


def pipe_is_written(path):
    # Only a pipe that somebody reads can be opened in this way.
    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    written = stat.S_ISFIFO(os.fstat(handle).st_mode) and os.write(handle, b"leak")
    os.close(handle)
    if written:
        leak(path)
    return "another file"


def lock_is_reached(path):
    import fcntl
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            leak("the machine holds it")
    return "a lock of its own"


for where, folder in [("on_path", A["programs"]), ("in_a_tools_folder", f"{HOME}/.cargo")]:
    rows("pipe", [(f"{where}_read", f"{folder}/pipe")], pipe_is_read)
    rows("pipe", [(f"{where}_written", f"{folder}/pipe")], pipe_is_written)
    if A["own_inodes"]:
        rows("lock", [(where, f"{folder}/locked")], lock_is_reached)
if A["own_inodes"]:
    rows("lock", [("of_the_system", A["locked"])], lock_is_reached)
rows("socket", [
    ("packet", 17, socket.SOCK_RAW, 0), ("raw", INET, socket.SOCK_RAW, 1), ("vsock", 40, socket.SOCK_STREAM, 0),
    ("kernel_crypto", 38, 5, 0), ("bluetooth", 31, socket.SOCK_RAW, 1), ("can", 29, socket.SOCK_RAW, 1),
    ("netlink_audit", 16, socket.SOCK_RAW, 9), ("netlink_uevent", 16, socket.SOCK_RAW, 15),
    ("netlink_netfilter", 16, socket.SOCK_RAW, 12), ("tipc", 30, socket.SOCK_STREAM, 0), ("rds", 21, 5, 0),
], lambda *a: fails(socket.socket, *a))


@attack
def interfaces():
    names = [name for _, name in socket.if_nameindex()]
    # Tunnels that a module of the kernel adds to every network are down, and lead nowhere.
    for name in names:
        with open(f"/proc/net/route") as routes:
            if any(line.startswith(name) for line in routes.read().splitlines()[1:]):
                leak(name)
    return " ".join(names)


# Processes.
HOST = A["host"]
rows("host_process", [
    ("signal_0", os.kill, HOST, 0),
    ("signal_group", os.killpg, HOST, 0),
    ("memory", open, f"/proc/{HOST}/mem", "r+b"),
    ("descriptors", os.listdir, f"/proc/{HOST}/fd"),
    ("affinity", os.sched_getaffinity, HOST),
    ("priority", os.getpriority, os.PRIO_PROCESS, HOST),
    ("limits", lambda: resource.prlimit(HOST, resource.RLIMIT_NOFILE)),
    ("handle", os.pidfd_open, HOST),
], lambda function, *a: fails(function, *a))
rows("first_process", [
    ("memory", open, "/proc/1/mem", "r+b"), ("descriptors", os.readlink, "/proc/1/fd/0"), ("root", os.readlink, "/proc/1/root"),
    ("program", os.readlink, "/proc/1/exe"), ("socket", os.open, "/proc/1/fd/0", os.O_RDWR), ("stack", lambda: open("/proc/1/stack").read()),
    ("namespace", os.open, "/proc/1/ns/user", os.O_RDONLY), ("map_files", os.listdir, "/proc/1/map_files"),
], fails)


@attack
def first_process_is_killed():
    for number in [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1]:
        os.kill(1, number)
    return "it serves on"


for target in {1, HOST, os.getppid()}:
    rows("ptrace", [(f"attach_{'parent' if target not in (1, HOST) else 'first' if target == 1 else 'host'}", "ptrace", 16, target, 0, 0)], blocked)
rows("call", [
    ("ptrace_traceme", "ptrace", 0, 0, 0, 0), ("process_vm_readv", "process_vm_readv", 1, 0, 0, 0, 0, 0),
    ("process_vm_writev", "process_vm_writev", 1, 0, 0, 0, 0, 0), ("pidfd_getfd", "pidfd_getfd", -1, 0, 0), ("kcmp", "kcmp", 1, 1, 0, 0, 0),
    ("process_madvise", "process_madvise", -1, 0, 0, 0, 0),
    ("mount", "mount", b"tmpfs", b"/tmp", b"tmpfs", 0, 0), ("remount_usr", "mount", 0, b"/usr", 0, 0x1000 | 0x20, 0),
    ("remount_root", "mount", 0, b"/", 0, 0x1000 | 0x20, 0), ("bind", "mount", b"/", b"/tmp", 0, 0x1000 | 0x4000, 0),
    ("umount_view", "umount2", WORK.encode(), 2), ("umount_mask", "umount2", b"/etc/shadow", 0), ("umount_proc_sys", "umount2", b"/proc", 2),
    ("pivot_root", "pivot_root", b".", b"."), ("chroot", "chroot", b"/tmp"), ("fsopen", "fsopen", b"tmpfs", 0), ("fspick", "fspick", -100, b"/", 0),
    ("fsconfig", "fsconfig", -1, 0, 0, 0, 0), ("fsmount", "fsmount", -1, 0, 0), ("open_tree", "open_tree", -100, b"/", 1),
    ("move_mount", "move_mount", -1, b"", -1, b"", 0), ("mount_setattr", "mount_setattr", -100, b"/usr", 0, 0, 0),
    ("open_tree_attr", "open_tree_attr", -100, b"/", 1, 0, 0), ("lsm_set_self_attr", "lsm_set_self_attr", 0, 0, 0, 0),
    ("setns", "setns", -1, 0), ("bpf", "bpf", 0, 0, 0), ("perf", "perf_event_open", 0, 0, -1, -1, 0), ("userfaultfd", "userfaultfd", 1),
    ("io_uring", "io_uring_setup", 1, 0), ("keyctl", "keyctl", 0, -3, 0, 0, 0), ("add_key", "add_key", b"user", b"x", b"x", 1, -3),
    ("request_key", "request_key", b"user", b"x", 0, 0), ("open_by_handle", "open_by_handle_at", -100, 0, 0),
    ("fanotify", "fanotify_init", 0, 0), ("init_module", "init_module", 0, 0, b""), ("finit_module", "finit_module", -1, b"", 0),
    ("delete_module", "delete_module", b"no-such-module", 0), ("kexec", "kexec_load", 0, 0, 0, 0), ("reboot_without_its_magic", "reboot", 0, 0, 0, 0),
    ("swapon", "swapon", b"/no-such-file", 0), ("swapoff", "swapoff", b"/no-such-file"), ("quotactl", "quotactl", 0, 0, 0, 0),
    ("acct", "acct", b"/no-such-file"), ("syslog", "syslog", 10, 0, 0), ("clock", "clock_settime", -1, 0), ("time", "settimeofday", 0, 0),
    ("hostname", "sethostname", os.uname().nodename.encode(), len(os.uname().nodename)), ("domainname", "setdomainname", b"", 0),
], blocked)

NAMESPACES = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000,
              "cgroup": 0x2000000, "time": 0x80}
for name, flag in NAMESPACES.items():
    rows("unshare", [(name, "unshare", flag), (f"{name}_with_user", "unshare", flag | 0x10000000)], blocked)
    if name != "time":
        rows("clone", [(name, "clone", flag | signal.SIGCHLD, 0, 0, 0, 0)], blocked)


@attack
def clone3_with_a_user_namespace():
    arguments = struct.pack("11Q", NAMESPACES["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    return blocked("clone3", arguments, len(arguments))


@attack
def unshare_in_the_x32_abi():
    if not X86:
        return "not on this architecture"
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(0x40000000 | 272), ctypes.c_long(NAMESPACES["user"])) != -1:
        leak("a user namespace")
    return errno.errorcode[ctypes.get_errno()]


def machine_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return function()


@attack
def unshare_in_the_32_bit_abi():
    if not X86:
        return "not on this architecture"
    # push rbx; mov eax, 310 (unshare); mov ebx, CLONE_NEWUSER; int 0x80; pop rbx; ret
    code = b"\x53\xb8\x36\x01\x00\x00\xbb\x00\x00\x00\x10\xcd\x80\x5b\xc3"
    said = forked(lambda: 9 if machine_code(code) == 0 else 1)
    if "exit 0" in said:
        leak(said)
    return said


@attack
def ptrace_in_the_32_bit_abi():
    if not X86:
        return "not on this architecture"
    # mov eax, 26 (ptrace); xor ebx, ebx (TRACEME); int 0x80
    return forked(lambda: 9 if machine_code(b"\x53\xb8\x1a\x00\x00\x00\x31\xdb\xcd\x80\x5b\xc3") == 0 else 1)


@attack
def setns_by_a_process_handle():
    handle = os.pidfd_open(os.getpid())
    try:
        return blocked("setns", handle, NAMESPACES["mount"])
    finally:
        os.close(handle)


# Terminals.
@attack
def text_is_typed_into_a_terminal():
    import fcntl, termios
    leader, follower = os.openpty()
    try:
        return fails(fcntl.ioctl, follower, termios.TIOCSTI, b"x")
    finally:
        os.close(leader), os.close(follower)


@attack
def text_is_typed_into_a_console():
    import fcntl
    leader, follower = os.openpty()
    try:
        return fails(fcntl.ioctl, follower, 0x541C, b"\x03")
    finally:
        os.close(leader), os.close(follower)


@attack
def terminal_of_the_machine():
    return fails(os.open, "/dev/tty", os.O_RDWR)


# Privileges.
@attack
def capabilities():
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
        if int(status[name], 16):
            leak(f"{name} {status[name]}")
    if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2":
        leak(f"{status['NoNewPrivs']} {status['Seccomp']}")
    return "none"


@attack
def capabilities_are_taken():
    header, data = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xFFFFFFFF] * 6)
    return call("capset", header, data)


@attack
def capabilities_come_with_a_program():
    said = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, text=True).stdout
    for line in said.splitlines():
        if line.startswith("Cap") and int(line.split()[1], 16):
            leak(line)
    return "none"


@attack
def ambient_capability():
    if libc.prctl(47, 2, 21, 0, 0) == 0:
        leak("raised")
    return errno.errorcode[ctypes.get_errno()]


rows("identity", [
    ("uid", os.setuid, 0 if os.getuid() else 1), ("gid", os.setgid, 0 if os.getgid() else 1),
    ("all_uids", os.setresuid, 12345, 12345, 12345), ("groups", os.setgroups, [0]),
], fails)


@attack
def owner_of_a_file():
    with open(f"{WORK}/owned", "w"):
        return fails(os.chown, f"{WORK}/owned", os.getuid() + 1, -1)


@attack
def set_user_id_program():
    said = subprocess.run(["/bin/sh", "-c", "for p in su sudo mount passwd newgrp; do p=$(command -v $p) && test -u $p && echo $p; done"],
                          capture_output=True, text=True, env={"PATH": "/usr/bin:/bin:/usr/sbin"}).stdout.split()
    for program in said:
        # Only where it lies is asked: the mount takes the bit away from it.
        with open("/proc/self/mountinfo") as mounts:
            options = {line.split()[4]: line.split()[5] for line in mounts}
        place = max((at for at in options if program.startswith(at)), key=len)
        if "nosuid" not in options[place].split(","):
            leak(f"{program} in {place}")
    return f"{len(said)} programs"


@attack
def mounts_that_can_be_written():
    allowed = tuple(A["writable"])
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            fields = line.split()
            if "rw" in fields[5].split(",") and not fields[4].encode().decode("unicode_escape").startswith(allowed):
                leak(line)
    return "only those that are meant"


# Memory that processes share.
rows("shared_memory", [
    ("system_v", lambda: call("shmget", A["shm_key"], 0, 0)), ("system_v_by_number", lambda: call("shmat", A["shm_id"], 0, 0)),
    ("posix", lambda: fails(os.open, A["shm"], os.O_RDWR)), ("message_queue", lambda: call("mq_open", b"shadow-attack", 0, 0, 0)),
], lambda function: function())


@attack
def keys_of_the_session():
    return private_content("/proc/keys")


@attack
def inherited_descriptors():
    allowed = {0, 1, 2}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) not in allowed and not target.startswith("/proc/"):
            leak(f"{name} -> {target}")
        if int(name) in allowed and not (target == "/dev/null" or target.startswith("pipe:")):
            leak(f"{name} -> {target}")
    return "three"


@attack
def path_handles_are_linked():
    handle = os.open("/usr/bin/env", os.O_PATH)
    done = libc.linkat(handle, b"", -100, f"{WORK}/env".encode(), 0x1000)
    os.close(handle)
    if done == 0:
        leak("linked")
    return "refused"


@attack
def crash_is_handled_on_the_machine():
    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
        leak(str(resource.getrlimit(resource.RLIMIT_CORE)))
    return forked(lambda: ctypes.string_at(0) and 1)


@attack
def limits_are_raised():
    for limit in [resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_AS, resource.RLIMIT_SIGPENDING]:
        hard = resource.getrlimit(limit)[1]
        fails_now = False
        try:
            resource.setrlimit(limit, (hard + 1, hard + 1))
        except (ValueError, OSError):
            fails_now = True
        if not fails_now:
            leak(str(limit))
    return "none"


@attack
def first_word_of_the_machines_mounts():
    # What a view shows of itself names no folder of the machine that is not in it.
    with open("/proc/self/mountinfo") as mounts:
        text = mounts.read()
    for word in [f"{OUT}", "upperdir=/var", "upperdir=/home"]:
        if word in text:
            leak(word)
    return "nothing"


@attack
def identity_of_the_machine():
    for path in ["/etc/machine-id", "/proc/locks"]:
        if os.path.exists(path):
            with open(path) as file:
                if text := file.read():
                    leak(f"{path}: {text}")
    for folder, _, files in os.walk("/sys"):
        if "address" in files and f"{os.sep}net{os.sep}" in folder:
            with open(os.path.join(folder, "address")) as file:
                leak(f"{folder}: {file.read()}")
    return "nothing"


@attack
def requests_of_the_machine():
    context = ctypes.c_ulong(0)
    return call("io_setup", 1, ctypes.byref(context))


@attack
def all_instances_of_inotify():
    opened = []
    while len(opened) < 64:
        ctypes.set_errno(0)
        descriptor = libc.syscall(ctypes.c_long(NR["inotify_init1"]), 0)
        if descriptor == -1:
            break
        opened.append(descriptor)
    for descriptor in opened:
        os.close(descriptor)
    if 16 < len(opened):
        leak(f"{len(opened)} instances")
    return f"{len(opened)} instances"


@attack
def lease_on_a_file_of_the_machine():
    import fcntl
    with open("/etc/passwd") as file:
        return fails(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


@attack
def notice_of_a_folder_of_the_machine():
    import fcntl
    handle = os.open("/usr", os.O_RDONLY)
    try:
        return fails(fcntl.fcntl, handle, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    finally:
        os.close(handle)


@attack
def pages_of_a_pipe():
    import fcntl
    ours, theirs = os.pipe()
    try:
        # 1031 is `F_SETPIPE_SZ`.
        return fails(fcntl.fcntl, ours, 1031, 1 << 20)
    finally:
        os.close(ours), os.close(theirs)


@attack
def timers_of_the_user():
    made = []
    while len(made) < 4096:
        timer = ctypes.c_int(0)
        if libc.syscall(ctypes.c_long(NR["timer_create"]), 0, 0, ctypes.byref(timer)) != 0:
            break
        made.append(timer.value)
    for timer in made:
        libc.syscall(ctypes.c_long(NR["timer_delete"]), ctypes.c_long(timer))
    if 1024 < len(made):
        leak(f"{len(made)} timers")
    return f"{len(made)} timers"


@attack
def disk_is_taken_at_once():
    os.makedirs(f"{WORK}/target", exist_ok=True)
    handle = os.open(f"{WORK}/target/taken", os.O_RDWR | os.O_CREAT)
    try:
        return call("fallocate", handle, 0, 0, 1 << 29)
    finally:
        os.close(handle)
        os.unlink(f"{WORK}/target/taken")


def main():
    names = [name for name, _ in ATTACKS]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    only = set(A["only"])
    for name, function in ATTACKS:
        if only and name not in only:
            continue
        try:
            outcome, why = "refused", function()
        except Leak as error:
            outcome, why = "LEAK", str(error)
        except OSError as error:
            outcome, why = "refused", errno.errorcode.get(error.errno, str(error))
        print(json.dumps({"name": name, "outcome": outcome, "why": str(why)}), flush=True)


main()
