//! What a command may touch that nobody was asked about, held by the kernel.
//!
//! The gate proves from a command's text that it only reads. This is the second wall, for what that proof may have
//! missed: such a command runs below Landlock, where it can write nothing but a scratch folder of its own, run no
//! program of the workspace, read neither files that hold a secret by their name, nor the home folder nor anything else outside the workspace and the system's
//! folders, change no file's mode, owner or times, open no TCP connection and signal no other process. Resource limits end what would fill memory or disk.
//!
//! The binary starts itself for that ([`ENTRY`]): the restrictions are put on by the process that then becomes bash.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use headstart_toolbox::Secrets;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};

#[cfg(target_os = "linux")]
use super::readable::Readable;

/// The first argument of this binary when it is started to confine a command; no subcommand has such a name.
pub(crate) const ENTRY: &str = "__confined";

/// The exit code of a command that was not run because it could not be confined.
pub(crate) const NOT_CONFINED: u8 = 125;
/// What such a command prints, before the reason.
pub(super) const NOT_CONFINED_MARK: &str = "headstart cannot confine a command here, and did not run it: ";

/// Where programs and what they need are on the systems we know.
const SYSTEM_FOLDERS: [&str; 14] = [
    "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin", "/sys",
    "/usr", "/System",
];

/// Bytes of address space, and of one file.
const MEMORY_LIMIT: u64 = 8 * 1024 * 1024 * 1024;
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// The word for [`Secrets::Closed`] among the arguments; any other is none, and refused.
const SECRETS_CLOSED: &str = "secrets-closed";
const SECRETS_OPEN: &str = "secrets-open";

/// The arguments with which this binary runs `command` confined.
pub(super) fn arguments(
    workspace: &Path,
    scratch: &Path,
    secrets: Secrets,
    bash: &Path,
    command: &str,
) -> [OsString; 10] {
    let option = |text: &str| OsString::from(text);
    [
        option(ENTRY),
        workspace.into(),
        scratch.into(),
        option(match secrets {
            Secrets::Closed => SECRETS_CLOSED,
            Secrets::Open => SECRETS_OPEN,
        }),
        bash.into(),
        option("--noprofile"),
        option("--norc"),
        option("-c"),
        option("--"),
        option(command),
    ]
}

/// What is said in place of the home folder, which a confined command cannot read: git gives up where it may not look
/// for the user's configuration.
pub(super) fn environment(scratch: &Path) -> [(OsString, OsString); 3] {
    let named = |name: &str, value: &Path| (OsString::from(name), value.into());
    [
        named("TMPDIR", scratch),
        named("XDG_CONFIG_HOME", scratch),
        named("GIT_CONFIG_GLOBAL", Path::new("/dev/null")),
    ]
}

/// Puts the restrictions on this process and becomes the command; comes back only if that failed.
pub(crate) fn enter(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let workspace = arguments.next().map(PathBuf::from);
    let scratch = arguments.next().map(PathBuf::from);
    let secrets = arguments.next().and_then(|word| match word.to_str()? {
        SECRETS_CLOSED => Some(Secrets::Closed),
        SECRETS_OPEN => Some(Secrets::Open),
        _ => None,
    });
    let program = arguments.next();
    let (Some(workspace), Some(scratch), Some(secrets), Some(program)) =
        (workspace, scratch, secrets, program)
    else {
        eprintln!("{NOT_CONFINED_MARK}arguments are missing");
        return ExitCode::from(NOT_CONFINED);
    };
    let Err(error) = become_command(&workspace, &scratch, secrets, &program, arguments);
    eprintln!("{NOT_CONFINED_MARK}{error}");
    ExitCode::from(NOT_CONFINED)
}

fn become_command(
    workspace: &Path,
    scratch: &Path,
    secrets: Secrets,
    program: &OsStr,
    arguments: impl Iterator<Item = OsString>,
) -> Result<Infallible, io::Error> {
    // It does not outlive us, however we end.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, FILE_LIMIT)?;
    limit(Resource::As, MEMORY_LIMIT)?;
    restrict(workspace, scratch, secrets)?;
    Err(Command::new(program).args(arguments).exec())
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

#[cfg(target_os = "linux")]
fn restrict(workspace: &Path, scratch: &Path, secrets: Secrets) -> io::Result<()> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, RulesetAttr, RulesetCreatedAttr,
        Scope, path_beneath_rules,
    };
    // What newer kernels restrict besides is taken where it is there.
    let newest = ABI::V6;
    let read_only = AccessFs::ReadFile | AccessFs::ReadDir;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let readable = match secrets {
        Secrets::Open => Readable::all(workspace),
        Secrets::Closed => Readable::without_secrets(workspace)?,
    };
    // A rule for a folder counts for all below it, and no other rule takes that back.
    let opens_all = |folder: &Path| folder.canonicalize().is_ok_and(|folder| workspace.starts_with(folder));
    let system = SYSTEM_FOLDERS.iter().map(Path::new).chain(programs.iter().map(PathBuf::as_path));
    if let Some(folder) = system.into_iter().find(|folder| readable.hides_something && opens_all(folder)) {
        let folder = folder.display();
        return Err(io::Error::other(format!(
            "the workspace is in {folder}, which programs are read from, so its secrets cannot be closed"
        )));
    }
    let restricted = || {
        file_system_rules()?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(newest))?
            .handle_access(AccessNet::from_all(newest))?
            .scope(Scope::from_all(newest))?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM_FOLDERS, AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(&programs, AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules([workspace], BitFlags::from(AccessFs::ReadDir)))?
            .add_rules(path_beneath_rules(&readable.folders, read_only))?
            .add_rules(path_beneath_rules(&readable.files, BitFlags::from(AccessFs::ReadFile)))?
            .add_rules(path_beneath_rules([scratch], AccessFs::from_all(newest) & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(newest)))?
            .restrict_self()
    };
    let status = restricted().map_err(|error| io::Error::other(format!("Landlock refused: {error}")))?;
    if status.ruleset == landlock::RulesetStatus::NotEnforced {
        return Err(io::Error::other("this kernel has no Landlock (Linux 5.13 and later have it)"));
    }
    // Landlock has no rule for `chmod` and the like.
    headstart_shadow::keep_attributes().map_err(|error| io::Error::other(error.to_string()))
}

/// Whether the kernel can confine a command, as far as can be told without one.
#[cfg(target_os = "linux")]
pub(crate) fn can_confine() -> bool {
    file_system_rules().is_ok_and(|rules| rules.create().is_ok())
}

/// What the kernel must be able to do: the file system's rules of the first version.
#[cfg(target_os = "linux")]
fn file_system_rules() -> Result<landlock::Ruleset, landlock::RulesetError> {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn can_confine() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn restrict(_workspace: &Path, _scratch: &Path, _secrets: Secrets) -> io::Result<()> {
    Err(io::Error::other("only Linux can, with Landlock"))
}
