//! Where the program of a server is, and what else a view must show for it to run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::system::{self, program_at};

/// Folders of a workspace that contain a project's own programs. These only run in a view.
const OF_PROJECT: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];

/// The folders in which programs are searched for.
#[derive(Debug, Clone)]
pub struct Programs {
    workspace: PathBuf,
    users: Vec<PathBuf>,
}

impl Programs {
    /// Searches this `PATH`, without folders in the workspace, and then the workspace.
    pub(crate) fn new(workspace: &Path, path: Option<&OsStr>) -> Self {
        let users = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        let users = users.into_iter().filter(|folder| folder.is_absolute() && !folder.starts_with(workspace));
        Self { workspace: workspace.to_owned(), users: users.collect() }
    }

    /// The absolute path of a program.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = Path::new(name);
            return (path.is_absolute() && is_program(path)).then(|| path.to_owned());
        }
        self.folders().filter_map(|folder| program_at(&folder.join(name))).find(|file| is_program(file))
    }

    /// The absolute path of a program that does not belong to the project.
    pub(crate) fn find_on_path(&self, name: &str) -> Option<PathBuf> {
        self.users.iter().filter_map(|folder| program_at(&folder.join(name))).find(|file| is_program(file))
    }

    /// The `PATH` of a server, in which the user's folders come first.
    pub(crate) fn path(&self) -> OsString {
        std::env::join_paths(self.folders()).unwrap_or_default()
    }

    /// A further folder that a view must show for a program to run: if `PATH` contains a link, its target is part of a
    /// package.
    pub(crate) fn package(&self, program: &Path) -> Option<PathBuf> {
        let real = program.canonicalize().ok()?;
        if real.starts_with(&self.workspace) {
            return None;
        }
        let of_node = real.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
        let of_python = || {
            let home = program.parent()?.parent()?;
            home.join("pyvenv.cfg").is_file().then_some(home)
        };
        let is_shown = real.parent().is_some_and(|folder| self.users.iter().any(|shown| shown == folder));
        let other = || real.parent().filter(|_| !is_shown);
        of_node.or_else(of_python).or_else(other).map(Path::to_owned)
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let own = OF_PROJECT.iter().map(|folder| self.workspace.join(folder));
        self.users.iter().cloned().chain(own)
    }
}

/// Whether a file can be run. A program that rustup puts on `PATH` represents a component that may not be installed.
fn is_program(path: &Path) -> bool {
    system::is_program(path) && !is_missing_component(path)
}

fn is_missing_component(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return true };
    let (Some(name), Some(own)) = (path.file_name(), real.file_name()) else { return false };
    if own != "rustup" || name == "rustup" {
        return false;
    }
    let home = |variable: &str, below: &str| {
        let named = std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(below)))
    };
    let Some(toolchains) = home("RUSTUP_HOME", ".rustup").map(|home| home.join("toolchains")) else {
        return false;
    };
    // If that cannot be found out, the program is started, and reports the problem itself.
    let Ok(entries) = toolchains.read_dir() else { return false };
    let mut bins = entries.flatten().map(|entry| entry.path().join("bin"));
    !bins.any(|bin| bin.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        system::make_executable(path).unwrap();
    }

    #[test]
    fn a_program_is_found_with_the_package_that_it_is_part_of() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        program(&at("lib/node_modules/pyright/index.js"));
        fs::create_dir_all(at("bin")).unwrap();
        std::os::unix::fs::symlink("../lib/node_modules/pyright/index.js", at("bin/pyright")).unwrap();
        program(&at("venv/bin/ruff"));
        fs::write(at("venv/pyvenv.cfg"), "").unwrap();
        program(&at("bin/plain"));
        program(&at("opt/clang/bin/clangd"));
        std::os::unix::fs::symlink("../opt/clang/bin/clangd", at("bin/clangd")).unwrap();
        program(&at("work/node_modules/.bin/tsls"));
        program(&at("work/bin/evil"));
        fs::write(at("bin/text"), "").unwrap();
        let path =
            std::env::join_paths([at("bin"), at("venv/bin"), at("work/bin"), "relative".into()]).unwrap();
        let programs = Programs::new(&at("work"), Some(&path));
        let found = |name: &str| {
            let program = programs.find(name)?;
            let package = programs.package(&program);
            Some((program, package))
        };
        assert_eq!(found("pyright"), Some((at("bin/pyright"), Some(at("lib/node_modules")))));
        assert_eq!(found("ruff"), Some((at("venv/bin/ruff"), Some(at("venv")))));
        assert_eq!(found("plain"), Some((at("bin/plain"), None)));
        assert_eq!(found("clangd"), Some((at("bin/clangd"), Some(at("opt/clang/bin")))));
        assert_eq!(found("tsls"), Some((at("work/node_modules/.bin/tsls"), None)));
        assert_eq!((found("evil"), found("text"), found("../work/bin/evil")), (None, None, None));
    }
}
