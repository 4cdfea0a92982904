use std::collections::BTreeMap;

/// The environment in which an executor runs a command that the gate allowed: these variables and no others.
///
/// `home` is the user's home folder. The search path holds system folders only, so that a name means the system's
/// program; pagers only print; no variable names a program, a configuration file or a library to load. The gate's
/// table of variables relies on this list, so an executor that adds a variable takes the risk.
pub fn clean_environment(home: &str) -> BTreeMap<String, String> {
    let fixed = CLEAN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    fixed.chain([("HOME".to_owned(), home.to_owned())]).collect()
}

const CLEAN: [(&str, &str); 7] = [
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PAGER", "cat"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("TERM", "dumb"),
];

/// Prefixes of the names of variables that change what bash, the loader or git do.
#[cfg(feature = "shell")]
const PREFIXES: [&str; 13] = [
    "BASH",
    "COMP",
    "DYLD_",
    "FUNCNAME",
    "GIT_",
    "HIST",
    "LC_",
    "LD_",
    "PROMPT",
    "PS",
    "READLINE",
    "SHELL",
    "TEXTDOMAIN",
];

/// Further variables that change what bash does.
#[cfg(feature = "shell")]
const NAMES: &str = "ALACRITTY CDPATH CHILD_MAX COLUMNS COPROC DIRSTACK EMACS ENV EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE \
    FCEDIT FIGNORE GLOBIGNORE GROUPS HOME HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS LANG LINENO LINES \
    MACHTYPE MAIL MAILCHECK MAILPATH MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH PIPESTATUS POSIXLY_CORRECT PPID PWD RANDOM \
    REPLY SECONDS SRANDOM TIMEFORMAT TMOUT TMPDIR UID USER LOGNAME _ auto_resume histchars";

/// Variables that hold no secret in any environment: those of the clean one, and those that say where a shell is, who
/// runs it and how it gets on.
#[cfg(feature = "shell")]
const PUBLIC: &str = "BASHPID BASH_LINENO BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_VERSION COLUMNS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID \
    FUNCNAME GROUPS HOME HOSTNAME HOSTTYPE IFS LINENO LINES LOGNAME MACHTYPE OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS PPID \
    PWD RANDOM SECONDS SHELL SHLVL SRANDOM TMPDIR UID USER _ ? # $ ! @ * -";

/// Whether a variable of this name holds no secret in any environment. `bash -c` gives those that are numbers no value.
#[cfg(feature = "shell")]
pub(crate) fn is_public_variable(name: &str) -> bool {
    CLEAN.iter().any(|(clean, _)| *clean == name)
        || name.starts_with("LC_")
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || crate::shell::names::listed(PUBLIC, name)
}

/// Whether a variable has a special meaning to bash or is part of the clean environment, so that assigning it changes
/// more than a value.
#[cfg(feature = "shell")]
pub(crate) fn is_special_variable(name: &str) -> bool {
    CLEAN.iter().any(|(clean, _)| *clean == name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || crate::shell::names::listed(NAMES, name)
}
