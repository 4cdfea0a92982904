//! What a command missed that is there on this machine and not in its view: what a manifest names beside the project
//! (`path = "../lib"`), or a package that is linked in from elsewhere (`npm link`, `pip install -e`); and what it could not write, because it
//! lies outside (`make install`). Its failure says nothing of the work.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::{Command, View};
use headstart_toolbox::CommandOutput;

use super::{OpenedView, Views, hidden_note};
use crate::system::{path_in, read_plain};

/// Words by which programs say that something is not there.
const MISSING: [&str; 11] = [
    "no such file",
    "not found",
    "cannot find",
    "can't find",
    "could not find",
    "couldn't find",
    "enoent",
    "does not exist",
    "failed to read",
    "unable to update",
    "failed to resolve",
];
/// Where each view has files of its own, or the machine's.
const OF_SYSTEM: [&str; 11] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];
/// The most paths of one output that are looked for.
const MOST: usize = 20;
/// The most files of an environment in which packages are looked for, and the most bytes of each.
const MOST_EDITABLE: usize = 200;
const MOST_BYTES: u64 = 256 * 1024;
const TIME: Duration = Duration::from_secs(5);
/// Prints the first of its arguments that is not there.
const LINE: &str = "for path; do [ -e \"$path\" ] || { printf %s \"$path\"; break; }; done";

impl Views {
    /// A path outside the workspace that a command which failed did not find in its view, though it is there.
    pub(super) fn missed(
        &self,
        view: &mut View,
        directory: &WorkspacePath,
        done: &CommandOutput,
    ) -> Option<PathBuf> {
        let has_failed = done.exit_code.is_some_and(|code| code != 0);
        let workspace = view.workspace().to_owned();
        let mut named =
            if has_failed { named_outside(&workspace, directory, &done.output) } else { Vec::new() };
        if has_failed {
            let active = self.environment.iter().find(|(name, _)| name == "VIRTUAL_ENV");
            let active = active.map(|(_, folder)| PathBuf::from(folder));
            let usual = [".venv", "venv"].map(|name| workspace.join(name));
            let environments: Vec<_> = active.into_iter().chain(usual).collect();
            let packages = installed_for_editing(&environments, &done.output);
            named.extend(packages.into_iter().filter(|path| !path.starts_with(&workspace)));
        }
        if named.is_empty() || view.has_ended() {
            return None;
        }
        let words = ["/bin/sh", "-c", LINE, "sh"].map(OsString::from).into_iter();
        let words = words.chain(named.into_iter().map(OsString::from));
        let told =
            view.run(&Command { environment: self.environment(), ..Command::new(words, TIME) }).ok()?;
        let missed = String::from_utf8(told.stdout).ok().filter(|missed| !missed.is_empty());
        missed.map(PathBuf::from)
    }
}

impl Views {
    /// Why a command of the user's may have failed in a view and would not outside of it, as lines for the user.
    pub fn failure_notes(&self, opened: &mut OpenedView, done: &CommandOutput) -> Vec<String> {
        let missed = self.missed(&mut opened.view, &WorkspacePath::root(), done);
        let missed = missed.map(|path| {
            format!(
                "it needs {}, which lies outside the workspace and is not shown in a view",
                path.display()
            )
        });
        missed.into_iter().chain(hidden_note(&opened.hidden, done)).collect()
    }
}

/// The path outside the workspace that a command which failed could not write, because all of that is read-only in a view.
pub(super) fn refused_write(workspace: &Path, done: &CommandOutput) -> Option<PathBuf> {
    let has_failed = done.exit_code.is_some_and(|code| code != 0);
    let is_refusal = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("read-only file system") || line.contains("erofs")
    };
    let mut paths = done.output.lines().filter(is_refusal).flat_map(|line| line.split(is_end)).map(Path::new);
    let is_outside =
        |path: &&Path| path.is_absolute() && path.parent().is_some() && !path.starts_with(workspace);
    paths.find(is_outside).filter(|_| has_failed).map(Path::to_owned)
}

/// Whether a path in a message ends before this letter.
fn is_end(letter: char) -> bool {
    letter.is_whitespace() || "'\"`()<>,;:=[]".contains(letter)
}

/// The paths outside the workspace that exist and that an output calls missing.
fn named_outside(workspace: &Path, directory: &WorkspacePath, output: &str) -> Vec<PathBuf> {
    let Ok(folder) = path_in(workspace, directory) else { return Vec::new() };
    let is_missing = |line: &&str| {
        let line = line.to_ascii_lowercase();
        MISSING.iter().any(|words| line.contains(words))
    };
    let words = output.lines().filter(is_missing).flat_map(|line| line.split(is_end));
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let path = if word.starts_with('/') || word.contains("../") {
            Some(lexical(&folder.join(word)))
        } else {
            linked_package(workspace, &folder, word)
        };
        let is_ours = |path: &PathBuf| {
            !path.starts_with(workspace)
                && !workspace.starts_with(path)
                && !OF_SYSTEM.iter().any(|system| path.starts_with(system))
                && path.symlink_metadata().is_ok()
        };
        if let Some(path) = path.filter(is_ours)
            && !found.contains(&path)
            && found.len() < MOST
        {
            found.push(path);
        }
    }
    found
}

/// Where a package of this name is linked in from, if it is.
fn linked_package(workspace: &Path, folder: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = name.split('/');
    let first = parts.next().filter(|first| !first.starts_with('.'))?;
    let package =
        if first.starts_with('@') { format!("{first}/{}", parts.next()?) } else { first.to_owned() };
    let above = folder.ancestors().take_while(|above| above.starts_with(workspace));
    let links = above.map(|above| above.join("node_modules").join(&package));
    links.filter(|link| link.is_symlink()).find_map(|link| link.canonicalize().ok())
}

/// Where the packages of Python are that an output calls missing and that are installed for editing: the environment
/// names their folder in a file of its own, by a line or in a table.
fn installed_for_editing(environments: &[PathBuf], output: &str) -> Vec<PathBuf> {
    let names = output
        .lines()
        .filter_map(|line| line.split_once("No module named ")?.1.split(['\'', '"', '.']).nth(1));
    let names: BTreeSet<_> = names.filter(|name| !name.is_empty()).take(MOST).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let below =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let packages = environments.iter().flat_map(|environment| below(environment.join("lib")));
    let files = packages.flat_map(|python| below(python.join("site-packages"))).filter(|file| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_line = file.extension().is_some_and(|extension| extension == "pth");
        is_line || name.starts_with("__editable__") && name.ends_with("_finder.py")
    });
    let texts = files.take(MOST_EDITABLE).filter_map(|file| read_plain(&file, MOST_BYTES).ok());
    let texts: Vec<_> = texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    let mut found = Vec::new();
    for name in names {
        let in_folder = |line: &str| {
            let folder = Path::new(line.trim());
            let places = [folder.join(name), folder.join(format!("{name}.py"))];
            folder.is_absolute().then_some(places)?.into_iter().find(|place| place.exists())
        };
        let in_table = |text: &str| {
            let (_, rest) = text.split_once(&format!("'{name}': '"))?;
            let place = PathBuf::from(rest.split('\'').next()?);
            place.is_absolute().then_some(place).filter(|place| place.exists())
        };
        found.extend(
            texts.iter().find_map(|text| text.lines().find_map(in_folder).or_else(|| in_table(text))),
        );
    }
    found
}

/// The path without `..`, as a program meant it whose folder of work has no links.
fn lexical(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_lies_outside_and_could_not_be_written_is_found() {
        let refused = |code: i32, text: &str| {
            let (output, exit_code) = (text.to_owned(), Some(code));
            let done = CommandOutput { output, exit_code, timed_out: false, truncated: false };
            refused_write(Path::new("/home/u/project"), &done).map(|path| path.display().to_string())
        };
        let make = "cp notes.txt /usr/share/x\ncp: cannot create regular file '/usr/share/x': Read-only file system\nmake: *** [install] Error 1\n";
        assert_eq!(refused(2, make).as_deref(), Some("/usr/share/x"));
        let node = "Error: EROFS: read-only file system, open '/opt/x/y'";
        assert_eq!(refused(1, node).as_deref(), Some("/opt/x/y"));
        assert_eq!(refused(0, make), None, "it went well without");
        assert_eq!(refused(1, "touch: '/home/u/project/x': Read-only file system"), None);
        assert_eq!(refused(1, "'/usr/share/x' is missing"), None);
    }

    #[test]
    fn a_package_that_is_installed_for_editing_is_found_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let packages = root.join("env/lib/python3.13/site-packages");
        for made in [&packages, &root.join("a/src/one"), &root.join("b/two"), &root.join("c")] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(root.join("c/three.py"), "").unwrap();
        let line = |name: &str, text: String| fs::write(packages.join(name), text).unwrap();
        line("one.pth", format!("{}\n", root.join("a/src").display()));
        line("three.pth", format!("import os\n{}\n", root.join("c").display()));
        line(
            "__editable___two_0_finder.py",
            format!("MAPPING = {{'two': '{}'}}\n", root.join("b/two").display()),
        );
        let found = |output: &str| {
            let found = installed_for_editing(&[root.join("gone"), root.join("env")], output);
            let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            found.into_iter().map(below).collect::<Vec<_>>()
        };
        assert_eq!(found("E   ModuleNotFoundError: No module named 'one.deep'\n"), ["a/src/one"]);
        assert_eq!(found("ModuleNotFoundError: No module named 'two'"), ["b/two"]);
        assert_eq!(found("ModuleNotFoundError: No module named 'three'"), ["c/three.py"]);
        assert_eq!(found("ModuleNotFoundError: No module named 'four'"), [""; 0]);
        assert_eq!(found("No module named one"), [""; 0]);
    }

    #[test]
    fn what_an_output_misses_outside_is_found_by_its_path_or_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["project/node_modules/@we", "lib/src", "linked", "scoped"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("lib/Cargo.toml"), "").unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(root.join(to), root.join(at)).unwrap();
        link("linked", "project/node_modules/linked");
        link("scoped", "project/node_modules/@we/scoped");
        let project = root.join("project");
        let found = |output: &str| {
            let found = named_outside(&project, &WorkspacePath::root(), output);
            let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            found.into_iter().map(below).collect::<Vec<_>>()
        };
        let cargo = format!("Caused by:\n  failed to read `{}/lib/Cargo.toml`\n", root.display());
        assert_eq!(found(&cargo), ["lib/Cargo.toml"]);
        assert_eq!(found("cat: ../lib/src: No such file or directory"), ["lib/src"]);
        assert_eq!(found("Error: Cannot find module 'linked/deep/x'"), ["linked"]);
        assert_eq!(found("Cannot find package '@we/scoped' imported from a.mjs"), ["scoped"]);
        for other in [
            "cat: ../gone: No such file or directory",
            "reading ../lib/src",
            "node_modules/a: not found",
            "/usr/bin/env: 'x': No such file or directory",
            "Cannot find module './linked'",
        ] {
            assert_eq!(found(other), [""; 0], "{other}");
        }
    }
}
