//! A command that fails because a view lacks something can be told from a command that fails by itself.

use crate::place::{Place, Test, sh};

pub(crate) const TESTS: &[Test] = &[
    ("programs_that_look_for_a_network_are_told", programs_that_look_for_a_network_are_told),
    ("programs_that_stay_on_loopback_are_not", programs_that_stay_on_loopback_are_not),
    ("programs_that_ask_for_privileges_are_told", programs_that_ask_for_privileges_are_told),
    ("programs_that_look_into_processes_are_told", programs_that_look_into_processes_are_told),
    ("what_cannot_be_renamed_is_told", what_cannot_be_renamed_is_told),
];

/// Tests that need python3, node, npm and strace.
pub(crate) const WITH_PROGRAMS: &[Test] = &[
    ("other_programs_that_look_for_a_network_are_told", other_programs_that_look_for_a_network_are_told),
    ("other_programs_that_stay_on_loopback_are_not", other_programs_that_stay_on_loopback_are_not),
    ("a_tracer_is_told", a_tracer_is_told),
];

/// Programs of several kinds that use several families of addresses, with and without looking up a name. Each must fail
/// because the view has no network, and the view must report that.
const OUT: [&str; 8] = [
    "bash -c 'exec 3<>/dev/tcp/192.0.2.7/80'",
    "bash -c 'exec 3<>/dev/udp/192.0.2.7/53 && echo x >&3'",
    "getent hosts example.com",
    "git ls-remote https://example.com/a.git",
    "git ls-remote git://192.0.2.7/a.git",
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"192.0.2.7:80\") or die $!'",
    "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => \"2001:db8::1\", PeerPort => 80) or die $!'",
    "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => \"example.com\", PeerPort => 80) or die $@'",
];
const OUT_WITH_PROGRAMS: [&str; 8] = [
    "python3 -c 'import socket; socket.create_connection((\"10.0.0.1\", 443), 1)'",
    "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"8.8.8.8\", 53))'",
    "python3 -c 'import socket; socket.create_connection((\"2001:db8::1\", 80), 1)'",
    "python3 -c 'import urllib.request; urllib.request.urlopen(\"http://example.com\", timeout=1)'",
    "node -e 'fetch(\"https://example.com\").catch(() => process.exit(1))'",
    "node -e 'require(\"net\").connect(80, \"2001:db8::1\").on(\"error\", () => process.exit(1))'",
    "node -e 'require(\"dns\").resolve(\"example.com\", error => process.exit(error ? 1 : 0))'",
    "npm_config_offline=false npm_config_fetch_retries=0 npm view left-pad",
];

/// The same programs without need of the network: a server and its client on loopback, and sockets of other kinds. All
/// must succeed, and the view must not report the network.
const WITHIN: [&str; 7] = [
    "bash -c 'exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3'",
    "getent ahosts localhost",
    "git init -q a && git -C a -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m a && git ls-remote file://$PWD/a",
    "git daemon --listen=127.0.0.1 --port=8112 --export-all --base-path=$PWD & until git ls-remote git://127.0.0.1:8112/a; do :; done",
    "perl -MIO::Socket::INET -e '$a = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; IO::Socket::INET->new(PeerAddr => \"127.0.0.1:\" . $a->sockport) or die'",
    "perl -MIO::Socket::IP -e '$a = IO::Socket::IP->new(Listen => 1, LocalHost => \"::1\") or die; IO::Socket::IP->new(PeerHost => \"::1\", PeerPort => $a->sockport) or die'",
    "perl -MSocket -e 'socketpair($a, $b, AF_UNIX, SOCK_STREAM, 0) && syswrite($a, \"x\") or die'",
];
const WITHIN_WITH_PROGRAMS: [&str; 8] = [
    "python3 -m http.server --bind 127.0.0.1 8111 >log 2>&1 & until bash -c 'exec 3<>/dev/tcp/127.0.0.1/8111'; do :; done 2>/dev/null",
    "python3 -c 'import socket; a = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(a.getsockname()).send(b\"x\")'",
    "python3 -c 'import socket; a = socket.create_server((\"::1\", 0), family=socket.AF_INET6); socket.create_connection(a.getsockname()[:2])'",
    "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\")'",
    "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 80)'",
    "node -e 'const s = require(\"http\").createServer((_, r) => r.end(\"x\")).listen(0, \"127.0.0.1\", async () => { const r = await fetch(\"http://127.0.0.1:\" + s.address().port); process.exit(r.ok ? 0 : 1) })'",
    "node -e 'require(\"dns\").lookup(\"localhost\", error => process.exit(error ? 1 : 0))'",
    "npm_config_update_notifier=false npm run nothing",
];

/// Nobody listens there, so these fail, but not because of the view.
const UNHEARD: [&str; 3] = [
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'",
    "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => \"::1\", PeerPort => 9) or die $!'",
    "git ls-remote git://127.0.0.1:9/a",
];
const UNHEARD_WITH_PROGRAMS: [&str; 1] =
    ["python3 -c 'import socket; socket.create_connection((\"::1\", 9), 1)'"];

fn network_is_told(lines: &[&str]) {
    let place = Place::with(&[]);
    let mut view = place.view();
    for line in lines {
        let output = sh(&mut view, line);
        assert!(!output.end.is_success() && 0 < output.refused.network, "{line}: {output:?}");
    }
}

fn network_is_not_told(within: &[&str], unheard: &[&str]) {
    let place =
        Place::with(&[("package.json", "{\"name\": \"a\", \"scripts\": {\"nothing\": \"node -e 0\"}}\n")]);
    let mut view = place.view();
    for (lines, is_success) in [(within, true), (unheard, false)] {
        for line in lines {
            let output = sh(&mut view, line);
            assert!(
                output.end.is_success() == is_success && output.refused.network == 0,
                "{line}: {output:?}"
            );
        }
    }
}

fn programs_that_look_for_a_network_are_told() {
    network_is_told(&OUT);
}

fn other_programs_that_look_for_a_network_are_told() {
    network_is_told(&OUT_WITH_PROGRAMS);
}

fn programs_that_stay_on_loopback_are_not() {
    network_is_not_told(&WITHIN, &UNHEARD);
}

fn other_programs_that_stay_on_loopback_are_not() {
    network_is_not_told(&WITHIN_WITH_PROGRAMS, &UNHEARD_WITH_PROGRAMS);
}

/// No program in a view becomes another user, whoever starts the view. What a program prints about that depends on who
/// starts it, and must be recognized.
fn programs_that_ask_for_privileges_are_told() {
    let place = Place::with(&[("ask.sh", "#!/bin/sh\n\"$@\"\n")]);
    let mut view = place.view();
    for line in
        ["su -c true", "runuser -u nobody true", "./ask.sh su nobody -c true", "su -c true 2>&1 | tail -n 1"]
    {
        let output = sh(&mut view, line);
        assert!(output.refused.privileges, "{line}: {output:?}");
    }
    for line in ["true", "id -u", "echo super; false", "cat /nowhere"] {
        let output = sh(&mut view, line);
        assert!(!output.refused.privileges, "{line}: {output:?}");
    }
}

/// A sanitizer, which traces its own process, and a program that asks the kernel in the same way.
fn programs_that_look_into_processes_are_told() {
    let place = Place::with(&[
        ("leak.c", "#include <stdlib.h>\nint main(void) { return malloc(9) == 0; }\n"),
        (
            "trace.c",
            "#include <stdio.h>\n#include <sys/ptrace.h>\n\
             int main(void) { if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) return 0; perror(\"ptrace\"); return 1; }\n",
        ),
    ]);
    let mut view = place.view();
    for line in ["cc trace.c -o trace && ./trace", "cc -fsanitize=address leak.c -o leak && ./leak"] {
        let output = sh(&mut view, line);
        assert!(output.refused.tracing, "{line}: {output:?}");
    }
    for line in ["true", "kill -0 $$", "echo ptrace", "ls /proc/self"] {
        let output = sh(&mut view, line);
        assert!(!output.refused.tracing, "{line}: {output:?}");
    }
}

fn a_tracer_is_told() {
    let output = sh(&mut Place::with(&[]).view(), "strace true");
    assert!(output.refused.tracing, "{output:?}");
}

/// In an overlay the kernel refuses to rename a folder that lies in a layer below. In a copy only a rename that leads
/// out of the workspace is refused.
fn what_cannot_be_renamed_is_told() {
    let place = Place::with(&[("folder/file", "x\n"), ("file", "x\n")]);
    let mut view = place.view();
    let rename = |from: &str, to: &str| format!("perl -e 'rename \"{from}\", \"{to}\" or die $!'");
    let output = sh(&mut view, &rename("file", "/tmp/file"));
    assert!(!output.end.is_success() && output.refused.renaming, "{output:?}");
    let output = sh(&mut view, &rename("folder", "other"));
    let is_refused = !view.tier().copies();
    assert_eq!((output.end.is_success(), output.refused.renaming), (!is_refused, is_refused), "{output:?}");
    for line in [&rename("file", "moved"), "mkdir new && mv new other_new", "rm nothing"] {
        let output = sh(&mut view, line);
        assert!(!output.refused.renaming, "{line}: {output:?}");
    }
}
