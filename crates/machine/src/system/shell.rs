//! Programs: this one, those of a search path, and the shell in which commands run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[cfg(windows)]
use super::is_inside;

/// This executable, under a path that names the one which runs now, even if its file was replaced meanwhile.
pub fn own_program() -> Option<PathBuf> {
    #[cfg(unix)]
    {
        let own = PathBuf::from("/proc/self/exe");
        if own.exists() {
            return Some(own);
        }
    }
    std::env::current_exe().ok()
}

/// The first program of this name in these folders.
pub fn find_program(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.into_iter().find_map(|folder| program_at(&folder.join(name)))
}

/// The file of a program that is named without the ending that the system adds.
pub fn program_at(path: &Path) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    #[cfg(windows)]
    {
        const ENDINGS: [&str; 4] = ["exe", "com", "cmd", "bat"];
        let has_one = path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|own| ENDINGS.iter().any(|ending| own.eq_ignore_ascii_case(ending)));
        if !has_one {
            // A file without an ending cannot be started.
            let with = |ending| {
                PathBuf::from(
                    [path.as_os_str(), OsStr::new("."), OsStr::new(ending)]
                        .iter()
                        .copied()
                        .collect::<std::ffi::OsString>(),
                )
            };
            return ENDINGS.into_iter().map(with).find(is_file);
        }
    }
    Some(path.to_owned()).filter(is_file)
}

/// Whether a file can be run as a program.
pub fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    return path.metadata().is_ok_and(|found| {
        found.is_file() && std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0
    });
    #[cfg(windows)]
    program_at(path).is_some_and(|program| program == path)
}

/// Looks for bash in the system's folders first, and in `PATH` only if they have none.
#[cfg(unix)]
pub fn find_bash(path: &OsStr, _workspace: &Path) -> Result<PathBuf, &'static str> {
    let folders = ["/bin", "/usr/bin"].map(PathBuf::from).into_iter().chain(std::env::split_paths(path));
    let mut files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("bash"));
    files.find(|file| file.is_file()).ok_or("bash is not installed where PATH can find it")
}

/// Looks for the bash of Git for Windows, or another one that sees this system's files: in `PATH`, where Git is
/// installed, and beside the git of `PATH`. The one of WSL sees other files, and one in the workspace is anybody's.
#[cfg(windows)]
pub fn find_bash(path: &OsStr, workspace: &Path) -> Result<PathBuf, &'static str> {
    let folder_of =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let of_wsl: Vec<_> = [
        folder_of("SystemRoot"),
        folder_of("LOCALAPPDATA").map(|folder| folder.join("Microsoft").join("WindowsApps")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let starts_with = |folder: &Path, above: &Path| {
        let text = |path: &Path| path.to_string_lossy().replace('\\', "/").to_lowercase();
        Path::new(&text(folder)).starts_with(text(above))
    };
    let serves = |folder: &PathBuf| {
        folder.is_absolute()
            && !of_wsl.iter().any(|above| starts_with(folder, above))
            && !is_inside(folder, workspace)
    };
    let on_path: Vec<_> = std::env::split_paths(path).filter(serves).collect();
    let installed = ["ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"].into_iter().filter_map(folder_of);
    let of_user = folder_of("LOCALAPPDATA").map(|folder| folder.join("Programs"));
    let installed = installed.chain(of_user).map(|folder| folder.join("Git"));
    // `Git\cmd\git.exe`, or `Git\mingw64\bin\git.exe`.
    let of_git = on_path.iter().filter(|folder| folder.join("git.exe").is_file());
    let beside = of_git.flat_map(|folder| folder.ancestors().skip(1).take(2).map(Path::to_owned));
    let folders = on_path.iter().cloned().chain(installed.chain(beside).map(|git| git.join("bin")));
    let mut files = folders.filter(serves).map(|folder| folder.join("bash.exe"));
    files
        .find(|file| file.is_file())
        .ok_or("there is no bash; install Git for Windows (https://gitforwindows.org), which brings one")
}
