use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The first argument of a process that is to become a confined command.
pub(crate) const CONFINED: &str = "__confined";
/// What is so of a confinement, as one argument: these words with a comma between them, or nothing. Any other word is
/// refused.
const WORDS: [&str; 2] = ["closes", "git"];

/// The exit code of a command that was not run because it could not be confined.
pub const NOT_CONFINED: u8 = 125;
/// What is printed in its place, before the reason, if there is no pipe on which a host could be told.
#[cfg(feature = "os")]
pub(crate) const NOT_CONFINED_MARK: &str = "headstart cannot confine a command here, and did not run it: ";

/// Restricts a command to reading the real files of a workspace. It is a second barrier, for whatever a proof that
/// the command only reads may have missed.
///
/// The command starts as a process of the host's program, which calls `confined_entry` before anything else,
/// restricts itself through the kernel (Landlock and a filter of system calls) and becomes the command. The command
/// and everything that it starts
///
/// * can write only in [`scratch`](Self::scratch) and to `/dev/null`, and change no file's mode, owner, times,
///   attributes or flags;
/// * can run no program of the workspace;
/// * can read only the workspace without the files that the host closes, the folders of the system and those on
///   `PATH`, and what else the host names ([`beside`](Self::beside), [`around`](Self::around));
/// * can open no TCP connection (Linux 6.7) and send no signal to a process outside (Linux 6.12);
/// * have 8 GiB of address space each and 256 MiB for one file, and leave no core dump.
///
/// A command that writes needs a [view](crate::View). If the kernel has no Landlock (Linux 5.13), the command does
/// not run.
///
/// The standard input of the process is the writing end of a pipe. The process closes it when it becomes the command,
/// whose own standard input is empty, or writes there why it did not and ends with [`NOT_CONFINED`]. So a pipe that
/// ends without a word says that the command ran, and nothing that the command prints can be taken for a refusal.
///
/// ```standalone_crate
/// # #[cfg(all(feature = "os", target_os = "linux"))]
/// fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
///     use headstart_shadow::{Confinement, confined_entry};
///     use headstart_workspace_path::WorkspacePath;
///     use std::path::Path;
///
///     // The same program, started again to become the command. What no command reads is the host's word.
///     let closes = |_: &Confinement| {
///         Ok(|_: &Path, path: &WorkspacePath| path.file_name() == Some(b".env".as_slice()))
///     };
///     if let Some(code) = confined_entry(std::env::args_os(), closes) {
///         return Ok(code);
///     }
///     let (workspace, scratch) = (tempfile::tempdir()?, tempfile::tempdir()?);
///     std::fs::write(workspace.path().join("a.txt"), "shown\n")?;
///     std::fs::write(workspace.path().join(".env"), "KEY=secret\n")?;
///
///     let confinement = Confinement::new(workspace.path().canonicalize()?, scratch.path());
///     let (mut refusal, host_pipe) = std::io::pipe()?;
///     let output = std::process::Command::new("/proc/self/exe")
///         .args(confinement.arguments("/bin/sh", ["-c", "cat a.txt .env; echo spoilt > a.txt"]))
///         .env_clear()
///         .env("PATH", "/usr/bin:/bin")
///         .envs(confinement.environment())
///         .current_dir(workspace.path())
///         .stdin(host_pipe)
///         .output()?;
///     match std::io::read_to_string(&mut refusal)?.as_str() {
///         "" => assert_eq!(output.stdout, b"shown\n"),
///         why => println!("it did not run: {why}"),
///     }
///     assert_eq!(std::fs::read(workspace.path().join("a.txt"))?, b"shown\n");
///     Ok(std::process::ExitCode::SUCCESS)
/// }
/// # #[cfg(not(all(feature = "os", target_os = "linux")))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The workspace, an absolute path without links.
    pub workspace: PathBuf,
    /// The only folder in which the command can write; it can execute nothing in it. The caller makes and removes it.
    pub scratch: PathBuf,
    /// Whether files that hold a secret are closed, in the host's sense: `confined_entry` hands it to the host, which
    /// says which files are closed. Without it and [`rules`](Self::rules) the whole workspace can be read.
    pub closes: bool,
    /// Patterns of paths that are closed besides, handed to the host as they are. Where there are some, the files in
    /// which repositories keep what was committed (`.git/objects`) are closed as well, because every program that
    /// unpacks them reads what the patterns cover.
    pub rules: Vec<String>,
    /// Whether the command starts git, which does not run without its configuration and those files. Otherwise the
    /// host is asked about the configuration of repositories and their submodules (`.git/config`), too.
    pub starts_git: bool,
    /// Folders outside the workspace that can be read as a whole, as those of its repository.
    pub beside: Vec<PathBuf>,
    /// A folder around the workspace that can be read without the files that the host closes, which it judges by
    /// their paths in that folder.
    pub around: Option<PathBuf>,
}

impl Confinement {
    /// A confinement to this workspace, with the files closed that the host closes.
    pub fn new(workspace: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            scratch: scratch.into(),
            closes: true,
            rules: Vec::new(),
            starts_git: false,
            beside: Vec::new(),
            around: None,
        }
    }

    /// The arguments with which the host's program becomes this command. `program` is an absolute path, or is
    /// searched for on `PATH`.
    pub fn arguments(
        &self,
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Vec<OsString> {
        let is_so = [self.closes, self.starts_git];
        let words: Vec<&str> =
            WORDS.into_iter().zip(is_so).filter(|(_, is_so)| *is_so).map(|(word, _)| word).collect();
        let (workspace, scratch) = (self.workspace.clone().into(), self.scratch.clone().into());
        let mut all = vec![CONFINED.into(), workspace, scratch, words.join(",").into()];
        all.push(self.rules.len().to_string().into());
        all.extend(self.rules.iter().map(Into::into));
        all.push(self.around.clone().unwrap_or_default().into());
        all.push(self.beside.len().to_string().into());
        all.extend(self.beside.iter().map(Into::into));
        all.push(program.into());
        all.extend(arguments.into_iter().map(Into::into));
        all
    }

    /// Variables that the command needs besides those that the host gives it. They replace the home folder, which it
    /// cannot read: git fails if it may not look for the user's configuration.
    pub fn environment(&self) -> [(OsString, OsString); 3] {
        let named = |name: &str, value: &Path| (OsString::from(name), value.into());
        [
            named("TMPDIR", &self.scratch),
            named("XDG_CONFIG_HOME", &self.scratch),
            named("GIT_CONFIG_GLOBAL", Path::new("/dev/null")),
        ]
    }
}

/// The confinement, the program and its arguments, as they were given to `confined_entry`; `None` if they are not of
/// this version.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
pub(crate) fn told(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<(Confinement, OsString, Vec<OsString>)> {
    let (workspace, scratch) = (arguments.next()?.into(), arguments.next()?.into());
    let words = arguments.next()?.into_string().ok()?;
    let words: Vec<&str> = words.split(',').filter(|word| !word.is_empty()).collect();
    if !words.iter().all(|word| WORDS.contains(word)) {
        return None;
    }
    let [closes, starts_git] = WORDS.map(|word| words.contains(&word));
    let count = |word: OsString| word.to_str()?.parse::<usize>().ok();
    let rules = count(arguments.next()?)?;
    let rules = (0..rules).map(|_| arguments.next()?.into_string().ok()).collect::<Option<_>>()?;
    let around = Some(PathBuf::from(arguments.next()?)).filter(|around| !around.as_os_str().is_empty());
    let beside = count(arguments.next()?)?;
    let beside = (0..beside).map(|_| arguments.next().map(PathBuf::from)).collect::<Option<_>>()?;
    Some((
        Confinement { workspace, scratch, closes, rules, starts_git, beside, around },
        arguments.next()?,
        arguments.collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_was_said() {
        for (closes, starts_git) in [(true, false), (true, true), (false, false), (false, true)] {
            let (beside, around) = (vec!["/g".into(), "/o".into()], Some("/".into()));
            let rules = if starts_git { vec!["a b".to_owned(), "*.plan".to_owned()] } else { Vec::new() };
            let alone = Confinement { closes, rules, starts_git, ..Confinement::new("/w", "/s") };
            let confinement = if closes { Confinement { beside, around, ..alone.clone() } } else { alone };
            let arguments = confinement.arguments("/bin/sh", ["-c", "true"]);
            assert_eq!(arguments[0], CONFINED);
            let said = (confinement, "/bin/sh".into(), vec!["-c".into(), "true".into()]);
            assert_eq!(told(arguments.into_iter().skip(1)), Some(said));
        }
        let words = |text: &str| told(text.split(' ').map(OsString::from));
        for text in [
            "/w",
            "/w /s",
            "/w /s closes",
            "/w /s other 0  0 /bin/sh",
            "/w /s closes 0  2 /g /bin/sh",
            "/w /s closes 3 a  0 /bin/sh",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
