//! Destructive command lines, found anywhere in a text that has lost its quotes and its case.

/// Whether any part of the text is a destructive command. `original` still has its case (`git branch -D`).
pub(super) fn is_destructive(plain: &str, original: &str) -> bool {
    let squeezed: String = plain.chars().filter(|c| !c.is_whitespace()).collect();
    if GLUED.iter().any(|part| squeezed.contains(part)) || is_fork_bomb(&squeezed) || pipes_into_shell(plain)
    {
        return true;
    }
    if original.contains("branch -D") || overwrites_device(&squeezed) {
        return true;
    }
    let spaced = plain.replace("&&", " ; ").replace(['|', ';', '&', '(', ')', '{', '}', '$', '=', ','], " ");
    // Shell tricks such as `rm${ifs}-rf` and `{rm,-rf,/}` write a command so that it does not look like one.
    let tokens: Vec<&str> = spaced.split_whitespace().filter(|token| *token != "ifs").collect();
    (0..tokens.len()).any(|at| runs_destructive(&tokens, at))
}

/// Parts that are destructive wherever they stand, compared with the text without white space.
pub(crate) const GLUED: &[&str] = &[
    "dropdatabase",
    "droptable",
    "dropschema",
    "dropkeyspace",
    "truncatetable",
    "flushall",
    "flushdb",
    "of=/dev/",
    "shutil.rmtree",
    "fs.rmsync",
    "fs.rm(",
    "remove_dir_all(",
    "os.removedirs",
    "<(curl",
    "<(wget",
    "$(curl",
    "$(wget",
    "|iex",
    "iex(",
    "invoke-expression",
    "db:drop",
    "db:reset",
    "migrate:fresh",
    "migrate:reset",
    "migratereset",
    "pg:reset",
    "--no-preserve-root",
    "filter-branch",
    "filter-repo",
    "force-push",
    "forcepush",
    "forcedpush",
    "hardreset",
    "hard-reset",
    "push--force",
    "reset--hard",
    "%0|%0",
    ">/dev/null/..",
];

/// `:(){ :|:& };:` under any name.
fn is_fork_bomb(squeezed: &str) -> bool {
    let Some((_, body)) = squeezed.split_once("(){") else { return false };
    body.contains('|') && body.contains('&') && body.contains('}')
}

pub(crate) const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "pwsh",
    "powershell",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "iex",
    "cmd",
];

/// `… | sh`, `… | sudo -E bash -`, "… and pipe it into bash".
fn pipes_into_shell(plain: &str) -> bool {
    let piped = plain.split('|').skip(1).any(|command| {
        let mut words =
            command.split_whitespace().skip_while(|word| WRAPPERS.contains(word) || word.starts_with('-'));
        words.next().is_some_and(|word| SHELLS.contains(&base_name(word)))
    });
    let words: Vec<&str> =
        plain.split_whitespace().map(|word| word.trim_matches(['.', ',', '!', ';'])).collect();
    let told = words.iter().position(|word| matches!(*word, "pipe" | "piped" | "piping")).is_some_and(|at| {
        words[at..].windows(2).any(|pair| {
            matches!(pair[0], "to" | "into" | "through" | "in")
                && (SHELLS[..8].contains(&pair[1]) || pair[1] == "shell")
        })
    });
    piped || told
}

fn overwrites_device(squeezed: &str) -> bool {
    squeezed.split('>').skip(1).any(|target| {
        let target = target.trim_start_matches(['|', '&']);
        DEVICES.iter().any(|device| target.starts_with(device))
    })
}

pub(crate) const DEVICES: &[&str] = &[
    "/dev/sd",
    "/dev/nvme",
    "/dev/hd",
    "/dev/disk",
    "/dev/vd",
    "/dev/mmcblk",
    "/etc/",
    "/boot",
    "/usr/",
    "/bin/",
];

/// Programs that run the command named after them.
pub(crate) const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "command", "exec", "nohup", "time", "nice", "xargs", "then", "and", "run",
    "execute", "do", "eval", "-c", "-exec", "-execdir", "please", "just", "try", "now", "also", "use",
    "builtin", "!", ";",
];

fn base_name(token: &str) -> &str {
    let name = token.rsplit('/').next().unwrap_or(token);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn runs_destructive(tokens: &[&str], at: usize) -> bool {
    let name = base_name(tokens[at]);
    let rest = &tokens[at + 1..];
    let leads = at == 0
        || WRAPPERS.contains(&tokens[at - 1])
        || tokens[at - 1].starts_with('/')
        || tokens[at - 1].ends_with(':');
    let previous = at.checked_sub(1).map_or("", |before| tokens[before]);
    if name.starts_with("mkfs") {
        return true;
    }
    match name {
        "rm" | "unlink" | "srm" => {
            !matches!(previous, "npm" | "pnpm" | "yarn" | "cargo" | "git" | "bun")
                && (leads && (!rest.is_empty() || matches!(previous, "-exec" | "-execdir" | "xargs"))
                    || rest.first().is_some_and(|next| is_option_or_path(next)))
        }
        "rimraf" | "del" | "erase" | "rd" | "rmdir" | "deltree" | "remove-item" | "ri" => {
            rest.iter().take(4).any(|next| is_option_or_path(next)) || (name == "rimraf" && !rest.is_empty())
        }
        "shred" | "wipefs" | "blkdiscard" | "sgdisk" | "fdisk" | "diskpart" | "format-volume"
        | "clear-disk" | "dropdb" | "lvremove" | "vgremove" | "pvremove" => {
            leads || rest.first().is_some_and(|next| is_option_or_path(next))
        }
        "dd" => rest.iter().any(|next| *next == "of" || *next == "if"),
        "format" => rest.first().is_some_and(|next| next.len() == 2 && next.ends_with(':')),
        "git" => git_destroys(rest),
        "push" => has_force(rest),
        "chmod" | "chown" | "chgrp" => opens_everything(rest),
        "find" | "fd" => rest.iter().any(|next| matches!(*next, "-delete" | "--delete")),
        "rsync" => rest.iter().any(|next| next.starts_with("--del") || *next == "--remove-source-files"),
        "truncate" => rest.iter().any(|next| next.starts_with("-s") || *next == "--size"),
        "kubectl" | "k" | "oc" | "gcloud" | "az" | "doctl" | "eksctl" | "helm" => {
            rest.iter().any(|next| matches!(*next, "delete" | "uninstall" | "destroy" | "drain"))
        }
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "vagrant" | "zpool" | "zfs" | "fly"
        | "flyctl" => rest.iter().take(6).any(|next| next.trim_start_matches('-').starts_with("destroy")),
        "heroku" => rest.iter().any(|next| next.contains("destroy") || next.contains("reset")),
        "aws" | "gsutil" => rest.iter().any(|next| {
            matches!(*next, "rm" | "rb") || next.starts_with("delete-") || next.starts_with("terminate-")
        }),
        "docker" | "podman" => docker_destroys(rest),
        "docker-compose" => {
            rest.contains(&"down") && rest.iter().any(|next| matches!(*next, "-v" | "--volumes"))
        }
        "gh" => rest.starts_with(&["repo", "delete"]),
        "npm" => rest.first() == Some(&"unpublish"),
        "delete" => rest.first() == Some(&"from") && is_sql_delete(rest),
        "drop" => drops(rest),
        "shutdown" | "poweroff" | "halt" | "reboot" => {
            leads && rest.iter().all(|next| is_shutdown_argument(next))
        }
        "crontab" => rest.first() == Some(&"-r"),
        "kill" => rest.starts_with(&["-9", "-1"]),
        "mv" => rest.contains(&"/dev/null"),
        "cryptsetup" => rest.iter().any(|next| matches!(*next, "erase" | "luksformat" | "lukserase")),
        _ => false,
    }
}

fn is_option_or_path(token: &str) -> bool {
    token.starts_with(['-', '/', '~', '*', '.', '$']) || token.contains(['/', '*', '\\'])
}

fn is_shutdown_argument(token: &str) -> bool {
    token.starts_with(['-', '+', '/'])
        || matches!(token, "now" | "0")
        || token.chars().all(|c| c.is_ascii_digit())
}

/// Whether `git` with these arguments destroys something. Options of git itself may stand before the subcommand: `git
/// -C dir -c key=value push`.
fn git_destroys(rest: &[&str]) -> bool {
    let mut rest = rest;
    while let Some((first, tail)) = rest.split_first() {
        if !first.starts_with('-') {
            break;
        }
        let takes_value = matches!(*first, "-c" | "--git-dir" | "--work-tree" | "--namespace");
        rest = tail.get(usize::from(takes_value)..).unwrap_or_default();
    }
    // A value such as `key=value` was split at its equals sign, so the subcommand may stand one word later.
    let Some(at) = rest.iter().take(3).position(|word| GIT_VERBS.contains(word)) else { return false };
    let arguments = &rest[at + 1..];
    let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.contains(argument));
    match rest[at] {
        "push" => has_force(arguments) || arguments.iter().any(|a| a.starts_with('+') || a.starts_with(':')),
        "reset" => arguments.iter().any(|argument| argument.starts_with("--h")),
        "clean" => {
            let dry = arguments.iter().any(|a| short_flags(a).contains('n') || a.starts_with("--dry"));
            !dry && arguments.iter().any(|a| !short_flags(a).is_empty() || a.starts_with("--f"))
        }
        "checkout" | "switch" => {
            has(&["--", ".", ":/", "-f"])
                || arguments.iter().any(|a| a.starts_with("--f") || a.starts_with("--disc"))
        }
        "restore" => !arguments.is_empty() && (!has(&["--staged", "-s"]) || has(&["--worktree", "-w"])),
        "branch" => {
            arguments.iter().any(|a| short_flags(a).contains('d')) && has(&["-f", "--force", "-df", "-fd"])
        }
        "stash" => has(&["drop", "clear"]),
        "reflog" => has(&["expire", "delete"]),
        "update-ref" => has(&["-d", "--delete"]),
        "rm" => {
            arguments.iter().any(|a| short_flags(a).contains(['r', 'f']) || a.starts_with("--f"))
                && !has(&["--cached"])
        }
        "worktree" => has(&["--force", "-f"]),
        "gc" => arguments.iter().any(|a| a.starts_with("--prune")),
        "prune" => true,
        _ => false,
    }
}

pub(crate) const GIT_VERBS: &[&str] = &[
    "push",
    "reset",
    "clean",
    "checkout",
    "switch",
    "restore",
    "branch",
    "stash",
    "reflog",
    "update-ref",
    "rm",
    "worktree",
    "gc",
    "prune",
    "commit",
    "add",
    "status",
    "log",
    "diff",
    "rebase",
    "merge",
    "pull",
    "fetch",
    "tag",
];

/// The letters of bundled short options; empty for anything else.
fn short_flags(argument: &str) -> &str {
    argument.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or_default()
}

fn has_force(arguments: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        short_flags(argument).contains(['f', 'd'])
            || ["--fo", "--mirror", "--delete", "--prune"].iter().any(|option| argument.starts_with(option))
    })
}

/// Whether `chmod` reaches far: recursively with an absolute path or a mode for everybody, or the root with such a mode.
fn opens_everything(arguments: &[&str]) -> bool {
    let recursive = arguments.iter().any(|a| short_flags(a).contains('r') || a.starts_with("--rec"));
    let root = arguments
        .iter()
        .any(|a| matches!(*a, "/" | "/*" | "~" | "~/" | "home" | "." | "./" | "*") || a.starts_with("/etc"));
    let open =
        arguments.iter().any(|a| matches!(*a, "777" | "0777" | "000" | "0000" | "666" | "a+rwx" | "ugo+rwx"));
    recursive && (root || open || arguments.iter().any(|a| a.starts_with('/'))) || (root && open)
}

fn docker_destroys(rest: &[&str]) -> bool {
    let has = |wanted: &[&str]| rest.iter().any(|argument| wanted.contains(argument));
    has(&["prune"])
        || (has(&["volume"]) && has(&["rm", "remove"]))
        || (has(&["down"]) && has(&["-v", "--volumes"]))
        || (has(&["rm", "rmi"]) && rest.iter().any(|a| short_flags(a).contains('f') || *a == "--force"))
}

fn is_sql_delete(rest: &[&str]) -> bool {
    rest.len() == 2 || rest.contains(&"where")
}

/// `DROP … TABLE users`, "drop the users table", "drop all tables".
fn drops(rest: &[&str]) -> bool {
    let objects =
        ["table", "tables", "database", "databases", "db", "schema", "collection", "keyspace", "partition"];
    rest.iter().take(4).any(|word| objects.contains(&word.trim_end_matches(['.', '!'])))
}
