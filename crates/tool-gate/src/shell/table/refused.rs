//! Programs that are known to do more than read, so that a front end can say what, and all programs that are not
//! known.

use crate::EffectKind::{self, Environment, Executes, Network, NonTerminating, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;

/// What is said of a program about which nothing else is known.
pub(super) const RUNS_OTHERS: &str = "runs other programs";

pub(super) const REFUSED: &[(EffectKind, &str, &str)] = &[
    (
        WritesWorkspace,
        "writes, moves or removes files",
        "rm rmdir mv cp ln install mkdir mkfifo mknod touch truncate unlink shred chmod chown chgrp dd rename split csplit patch \
         rsync zip unzip ar mktemp sync",
    ),
    (
        Network,
        "opens a connection",
        "ss ip netstat curl wget nc ncat netcat ssh scp sftp ftp telnet ping dig host nslookup getent socat aria2c http gh hostid",
    ),
    (
        Executes,
        RUNS_OTHERS,
        "sh bash dash zsh ksh fish eval source . exec trap alias unalias coproc sudo su doas env nohup setsid script watch \
         parallel make cmake ninja cargo rustc npm npx yarn pnpm node deno bun python python3 perl ruby php lua go java javac \
         mvn gradle dotnet ldd docker kubectl busybox strace gdb ltrace chroot unshare systemctl systemd-run crontab at batch vim vi \
         nano emacs less more man ed expect complete compgen enable hash bind fc",
    ),
    (
        Environment,
        "discloses or changes the environment",
        "printenv declare typeset local readonly let getopts history ps top htop pgrep pidof pstree",
    ),
    (NonTerminating, "does not end by itself", "yes"),
    (Executes, "sends signals to other processes", "kill killall pkill"),
];

pub(super) fn judge(judge: &mut Judge<'_>, name: &str, span: Span) {
    for (kind, detail, names) in REFUSED {
        if listed(names, name) {
            return judge.refuse(*kind, format!("{name} {detail}"), span);
        }
    }
    judge.unknown(format!("the gate does not know the program {name:?}"), span);
}
