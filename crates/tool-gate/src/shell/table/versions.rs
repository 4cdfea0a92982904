//! Programs that the gate only lets tell their version.

use crate::shell::names::listed;
use crate::shell::value::Arg;

/// Names, each with the only arguments for which the program prints its version and ends before anything else.
///
/// Two groups are left out, though they print a version too: programs whose version the repository chooses (`cargo`,
/// `rustc`, `go`, where a file says which tool chain to fetch or run), and programs that leave files behind (`java`,
/// `npm`, `gh`).
pub(super) const VERSIONS: &[(&str, &str)] = &[
    ("python python3", "--version -V -VV"),
    ("node", "--version -v"),
    ("ruby", "--version -v"),
    ("perl", "--version -v"),
    ("lua", "-v"),
    ("gcc g++ cc c++", "--version -dumpversion -dumpfullversion -dumpmachine"),
    ("clang clang++", "--version -dumpversion -dumpmachine"),
    ("ld as", "--version -v"),
    ("make", "--version -v"),
    ("cmake ninja", "--version"),
    ("bash zsh", "--version"),
    ("curl", "--version -V"),
    ("wget", "--version -V"),
    ("ssh", "-V"),
    ("vim", "--version"),
    ("less man", "--version -V"),
    ("gzip gunzip xz bzip2 zstd", "--version -V"),
    ("rsync patch", "--version"),
    ("sqlite3", "--version -version"),
    ("tmux", "-V"),
];

/// Programs that write, but print their help or version and end if that is the only argument.
pub(super) const HELPFUL: &str = "chgrp chmod chown chroot cp csplit dd install link ln mkdir mkfifo mknod mktemp mv nohup rm rmdir shred split \
    sync touch truncate ptx dircolors runcon chcon yes patch rsync wget curl  zip xargs env timeout nice stdbuf \
    pgrep pkill ps  top free  sdiff envsubst gettext uuidgen mcookie nm strip ar \
    ranlib setarch ionice taskset flock setsid";

/// Whether a command only asks for a version or for help.
pub(super) fn asks(name: &str, args: &[Arg]) -> bool {
    let [only] = args else { return false };
    let Some(text) = only.text() else { return false };
    if !text.starts_with('-') {
        return false;
    }
    if matches!(text, "--help" | "--version") && listed(HELPFUL, name) {
        return true;
    }
    VERSIONS.iter().any(|(names, options)| listed(names, name) && listed(options, text))
}
