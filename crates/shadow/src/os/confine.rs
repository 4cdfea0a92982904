//! Runs a command on the real files that the kernel restricts to reading.

mod calls;
mod readable;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use headstart_workspace_path::WorkspacePath;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};

use self::calls::refuse_calls;
use self::readable::Readable;
use crate::confinement::{CONFINED, Confinement, told};
use crate::folders::SYSTEM_FOLDERS;
use crate::host_pipe::HostPipe;

/// The most bytes of address space.
const MEMORY_LIMIT: u64 = 8 * 1024 * 1024 * 1024;
/// The most bytes of one file.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// Becomes a confined command if the arguments (the program's name first) are those of a [`Confinement`]; otherwise
/// does nothing and returns `None`.
///
/// A host's `main` calls this with `std::env::args_os()` before it starts a thread, because other threads would not
/// be confined. `closes` gives for a confinement what says which paths are closed, or why that cannot be told; then the
/// command does not run. Paths that are closed, and everything below them, cannot be read, under whatever name the
/// command asks for them. The host is asked about each file and folder of the workspace with its path there, except for
/// what is in `.git` (only about git's settings) and, without [`rules`](Confinement::rules), in `node_modules` and
/// `.venv`. A command for which files are closed does not run if one of the folders that are always readable holds the
/// workspace, or if the workspace has more than a million files.
pub fn confined_entry<C: Fn(&Path, &WorkspacePath) -> bool>(
    arguments: impl IntoIterator<Item = OsString>,
    closes: impl FnOnce(&Confinement) -> Result<C, String>,
) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != CONFINED {
        return None;
    }
    let host = HostPipe::of_process();
    let error = match told(arguments) {
        None => "its arguments are of another version".to_owned(),
        Some((confinement, program, arguments)) => match closes(&confinement) {
            Err(why) => why,
            Ok(closes) => {
                let Err(error) = become_command(&confinement, &closes, &program, arguments);
                error.to_string()
            }
        },
    };
    Some(host.refuse(&error))
}

fn become_command(
    confinement: &Confinement,
    closes: &dyn Fn(&Path, &WorkspacePath) -> bool,
    program: &OsStr,
    arguments: Vec<OsString>,
) -> Result<Infallible, io::Error> {
    // The command must not outlive its caller, however that ends.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, FILE_LIMIT)?;
    limit(Resource::As, MEMORY_LIMIT)?;
    restrict(confinement, closes)?;
    Err(Command::new(program).args(arguments).stdin(Stdio::null()).exec())
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn restrict(confinement: &Confinement, closes: &dyn Fn(&Path, &WorkspacePath) -> bool) -> io::Result<()> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, RulesetAttr as _,
        RulesetCreatedAttr as _, Scope, path_beneath_rules,
    };
    let Confinement { workspace, scratch, .. } = confinement;
    // What newer kernels can restrict in addition is used if the kernel has it.
    let newest = ABI::V6;
    let read_only = AccessFs::ReadFile | AccessFs::ReadDir;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut readable = Readable::of(confinement, closes)?;
    readable.folders.extend(confinement.beside.iter().cloned());
    let listed = [Some(workspace), confinement.around.as_ref()].into_iter().flatten();
    let processes = (!readable.leads_to_processes).then_some(Path::new("/proc"));
    let system: Vec<&Path> = SYSTEM_FOLDERS.iter().map(Path::new).chain(processes).collect();
    if readable.hides_something
        && let Some(folder) = open_folder_around(workspace, &path)
    {
        let folder = folder.display();
        return Err(io::Error::other(format!(
            "the workspace is in {folder}, which programs are read from, so nothing in it can be closed"
        )));
    }
    let restricted = || {
        file_system_rules()?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(newest))?
            .handle_access(AccessNet::from_all(newest))?
            .scope(Scope::from_all(newest))?
            .create()?
            .add_rules(path_beneath_rules(&system, AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(&programs, AccessFs::from_read(newest)))?
            // Of the devices only the one without content can be opened, because the others never end.
            .add_rules(path_beneath_rules(["/dev"], BitFlags::from(AccessFs::ReadDir)))?
            .add_rules(path_beneath_rules(listed, BitFlags::from(AccessFs::ReadDir)))?
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
    // Landlock has no rule for `chmod`, `flock` and similar calls.
    refuse_calls().map_err(|error| io::Error::other(error.to_string()))
}

/// The folders of the system of which every confined command can read something.
fn system_folders() -> impl Iterator<Item = &'static Path> {
    SYSTEM_FOLDERS.iter().chain(&["/dev", "/proc"]).map(Path::new)
}

/// The folder around the workspace that every confined command can read, because programs are in it; `None` if there is
/// none. No file of such a workspace can be closed, because a rule for a folder applies to everything below it, and no
/// other rule can take that back. `search_path` is that of the command.
pub fn open_folder_around(workspace: &Path, search_path: &OsStr) -> Option<PathBuf> {
    let opens_all =
        |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| workspace.starts_with(folder));
    system_folders().map(Path::to_owned).chain(std::env::split_paths(search_path)).find(opens_all)
}

/// Whether the kernel can confine a command, as far as this can be told without running one.
pub fn can_confine() -> bool {
    file_system_rules().is_ok_and(|rules| rules.create().is_ok())
}

/// The least that the kernel must be able to do: the file system rules of Landlock's first version.
fn file_system_rules() -> Result<landlock::Ruleset, landlock::RulesetError> {
    use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
}
