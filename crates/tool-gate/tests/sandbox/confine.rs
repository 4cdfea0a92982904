//! The rights that a command keeps: it may start the programs that it names, and may open only local sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Programs that are scripts, or that start other programs by design, with the programs that they start.
const STARTS: &[(&[&str], &[&str])] = &[
    (
        &["zcat", "zgrep", "zegrep", "zfgrep", "zdiff", "zcmp", "zless", "zmore", "gunzip", "uncompress"],
        &[
            "sh", "bash", "gzip", "grep", "egrep", "fgrep", "zgrep", "diff", "cmp", "sed", "cat", "less",
            "more", "rm", "mktemp",
        ],
    ),
    (&["bzcat", "bzgrep", "bzdiff", "bzcmp"], &["sh", "bzip2", "grep", "diff", "cmp", "cat"]),
    (&["xzcat", "xzgrep", "xzdiff", "xzcmp"], &["sh", "xz", "grep", "diff", "cmp", "cat", "sed"]),
    (&["egrep", "fgrep"], &["sh", "bash", "grep"]),
    (&["tar"], &["gzip", "bzip2", "xz", "zstd", "sh"]),
    (&["which", "ldd", "lsb_release"], &["sh", "bash"]),
    (&["shasum", "prename", "exiftool"], &["perl"]),
    (&["xargs"], &["echo"]),
    (&["sdiff", "colordiff"], &["diff", "perl"]),
    (&["diff3"], &["diff"]),
    (&["yq"], &["env", "python3", "jq"]),
    (&["awk"], &["mawk", "gawk", "original-awk"]),
    (
        &["npm", "npx", "pip", "pip3", "python3", "python", "node", "cargo", "rustc", "go"],
        &["env", "sh", "node", "python3"],
    ),
];
/// The numbers of `socket`, and of `io_uring_setup`, which can make a socket as well.
const SOCKET: i64 = if cfg!(target_arch = "x86_64") { 41 } else { 198 };
const IO_URING_SETUP: i64 = 425;
const AF_UNIX: u64 = 1;

/// The files of every program whose name is anywhere in `command`, and of the programs that those are known to start.
fn programs(command: &str) -> BTreeSet<PathBuf> {
    let part_of_name = |character: char| character.is_ascii_alphanumeric() || "_.+-/[".contains(character);
    let mut names: BTreeSet<&str> =
        command.split(|character: char| !part_of_name(character)).filter(|name| !name.is_empty()).collect();
    names.insert("bash");
    for (starters, started) in STARTS {
        if starters.iter().any(|name| names.iter().any(|known| known.rsplit('/').next() == Some(name))) {
            names.extend(*started);
        }
    }
    let mut found = BTreeSet::new();
    for name in names {
        let places: Vec<PathBuf> = if name.starts_with('/') {
            vec![PathBuf::from(name)]
        } else {
            FOLDERS.iter().map(|folder| Path::new(folder).join(name)).collect()
        };
        // A right for a folder would let every program below it run.
        found.extend(
            places.iter().filter_map(|place| fs::canonicalize(place).ok()).filter(|file| file.is_file()),
        );
    }
    found
}

/// The dynamic loaders, which the kernel starts before any program.
fn loaders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["/lib64", "/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu"] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("ld-") {
                found.extend(fs::canonicalize(entry.path()));
            }
        }
    }
    found
}

/// Gives up the right to run programs that `command` does not name, for this thread and its children.
pub(crate) fn programs_only(command: &str) -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = programs(command).into_iter().chain(loaders()).collect();
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Execute)?
        .create()?
        .add_rules(path_beneath_rules(&files, AccessFs::Execute))?
        .restrict_self()?;
    if status.ruleset == landlock::RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err("Landlock is off".into())
    }
}

/// Gives up the right to open a socket that is not local. A process that tries to is killed.
pub(crate) fn no_sockets() -> Result<(), Box<dyn std::error::Error>> {
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, AF_UNIX)?;
    let rules =
        BTreeMap::from([(SOCKET, vec![SeccompRule::new(vec![other])?]), (IO_URING_SETUP, Vec::new())]);
    let kill = SeccompAction::KillProcess;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, kill, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
