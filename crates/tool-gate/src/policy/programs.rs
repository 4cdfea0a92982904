//! Programs that no policy can allow.

use crate::shell::names::listed;

/// They run a program text, or a program that their arguments or the repository name, so a list of their options says
/// nothing about what they do.
const RUN_OTHERS: &str = "aria2c ash at awk batch bash bc bpftrace bun bunx busybox chroot chrt cpulimit csh dash dbus-run-session \
    dc deno direnv doas ed elvish emacs emacsclient env eval ex expect faketime fakeroot fd fdfind find firejail fish flock gawk gdb ghci \
    git groovy guile hyperfine ionice irb java jjs jq jshell julia jupyter ksh less lldb lldb-server ltrace lua luajit m4 man mawk \
    mksh more mosh most nano nawk newgrp nice node nodejs nohup nsenter nu nvim octave ocaml osascript parallel parallel-ssh perf \
    perl pdsh php pipx pkexec pnpx proot prlimit psql pwsh powershell python pypy qemu R Rscript rg rsh ruby rush runuser sbcl scala \
    sched_setaffinity scheme screen script scriptlive sed setarch setpriv setsid sg sh socat sqlite sqlite3 ssh stdbuf strace su \
    sudo systemd-run taskset tcl tclsh tcsh time timeout tmux tsx ts-node unbuffer unshare uv uvx valgrind vi view vim vimdiff \
    watch watchexec wish xargs xonsh yash zsh npx original-awk busybox-static bpython \
    capsh clisp coffee csi d8 dbus-launch elixir erl escript gforth gjs gnuplot gprolog gst hy iex ipython jbang kotlin ld-linux \
    maxima micropython mongosh mysql open qjs quickjs racket rhino run-parts runghc runhaskell sage start-stop-daemon swipl \
    systemd-inhibit tcc xdg-open rlwrap entr dtach abduco bwrap toybox tini dumb-init";

/// Commands and words of the shell itself.
const OF_THE_SHELL: &str = ". : [ [[ ]] { } ! alias bg bind break builtin caller case cd command compgen complete compopt continue coproc \
    declare dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help \
    history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift \
    shopt source suspend test then times trap true type typeset ulimit umask unalias unset until wait while";

/// Why no policy can allow `program`; `None` where one can.
pub(super) fn never_allowed(program: &str) -> Option<&'static str> {
    if listed(OF_THE_SHELL, program) {
        return Some("it is a command of the shell, which the gate judges by itself");
    }
    // `python3.12`, `lua5.4`, `gcc-13`: the version belongs to the name.
    let plain = program.trim_end_matches(|last: char| last.is_ascii_digit() || ".-_".contains(last));
    if listed(RUN_OTHERS, program) || listed(RUN_OTHERS, plain) {
        return Some(
            "it runs what its arguments, its input or the repository say, whatever options are listed",
        );
    }
    let plain_name = program.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte));
    (!plain_name)
        .then_some("a program that can be allowed has a plain name of letters, digits, `.`, `_`, `+` and `-`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_a_text_or_another_program_is_never_allowed() {
        for program in [
            "bash",
            "sh",
            "python",
            "python3",
            "python3.12",
            "lua5.4",
            "env",
            "xargs",
            "sudo",
            "eval",
            "source",
            ".",
            "git",
            "awk",
            "sed",
            "find",
            "[",
            "cd",
            "if",
            "perl5.36.0",
            "node-22",
            "a b",
            "a/b",
            "",
            "é",
            "-x",
            "$x",
        ] {
            assert!(never_allowed(program).is_some(), "{program}");
        }
        for program in [
            "pytest",
            "mycorp-lint",
            "terraform",
            "cargo",
            "npm",
            "kubectl",
            "g++",
            "2to3",
            "_x",
            "cargo-deny",
        ] {
            assert!(never_allowed(program).is_none(), "{program}");
        }
    }
}
