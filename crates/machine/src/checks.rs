//! Which check of completed work is used: the one that the user's file names, or one that is derived from the project's
//! files and the installed programs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_speculation::{Check, Checker};

use crate::config::{CheckSetting, ShadowConfig};
use crate::environment::Environment;
use crate::intel::Programs;
use crate::system::read_plain;

/// The time limit of a check that the user did not name. A check that takes longer has no result.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The most bytes of a project's file that are searched for the name of a tool.
const MAX_MARKER: u64 = 1 << 20;

/// The checks of one workspace.
pub struct Checks {
    workspace: PathBuf,
    path: OsString,
    setting: CheckSetting,
    time: Duration,
}

/// A check that is recognised by a file of the project.
struct KnownCheck {
    /// One of these files must be in the workspace's folder.
    markers: &'static [&'static str],
    /// A text that the first of these files must contain, because its name alone is not specific enough.
    says: &'static str,
    /// One of these must exist too, because without its content the check would begin with a long build.
    built: &'static [&'static str],
    /// The program, searched for in `PATH`, or a path in the workspace.
    programs: &'static [&'static str],
    arguments: &'static str,
    /// The endings of the names of files that it checks.
    about: &'static [&'static str],
}

const KNOWN: [KnownCheck; 5] = [
    KnownCheck {
        markers: &["Cargo.toml"],
        says: "",
        built: &["target"],
        programs: &["cargo"],
        arguments: "check --quiet --all-targets",
        about: &[".rs", "Cargo.toml", "Cargo.lock"],
    },
    KnownCheck {
        markers: &["tsconfig.json"],
        says: "",
        built: &["node_modules"],
        programs: &["node_modules/.bin/tsc", "tsc"],
        arguments: "--noEmit",
        about: &[".ts", ".tsx", ".mts", ".cts", "tsconfig.json"],
    },
    KnownCheck {
        markers: &["pytest.ini", "conftest.py"],
        says: "",
        built: &[],
        programs: &["pytest"],
        arguments: "-q",
        about: &[".py"],
    },
    KnownCheck {
        markers: &["pyproject.toml"],
        says: "[tool.pytest",
        built: &[],
        programs: &["pytest"],
        arguments: "-q",
        about: &[".py"],
    },
    KnownCheck {
        markers: &["go.mod"],
        says: "",
        built: &[],
        programs: &["go"],
        arguments: "vet ./...",
        about: &[".go", "go.mod"],
    },
];

impl Checks {
    pub fn new(workspace: &str, settings: &ShadowConfig, environment: &Environment) -> Self {
        Self {
            workspace: workspace.into(),
            path: environment.get("PATH").unwrap_or_default().to_owned(),
            setting: settings.check.clone(),
            time: settings.time,
        }
    }

    /// Who checks work that changes these paths; `None` if nobody is to.
    pub(crate) fn of(&self, changed: &[WorkspacePath]) -> Option<Checker> {
        match &self.setting {
            CheckSetting::Off => None,
            CheckSetting::Line(line) => Some(Checker::Command(Check { line: line.clone(), time: self.time })),
            CheckSetting::Found => {
                // Where no program of a check is installed, its line says so when it runs: nobody looked at the work.
                let line = [true, false]
                    .into_iter()
                    .find_map(|there| KNOWN.iter().find_map(|known| self.line(known, changed, there)));
                let command = |line| Checker::Command(Check { line, time: self.time.min(MAX_TIME) });
                Some(line.map_or(Checker::Servers, command))
            }
        }
    }

    /// The line of a check for these paths, if one of its programs is installed, or (not `there`) whether it is or not.
    fn line(&self, known: &KnownCheck, changed: &[WorkspacePath], there: bool) -> Option<String> {
        let is_about = |path: &WorkspacePath| {
            known.about.iter().any(|end| path.as_str().is_some_and(|path| path.ends_with(end)))
        };
        let is_there = |name: &&str| self.workspace.join(name).exists();
        let marker = known.markers.iter().find(|marker| self.workspace.join(marker).is_file())?;
        let is_meant = known.says.is_empty()
            || read_plain(&self.workspace.join(marker), MAX_MARKER)
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains(known.says));
        let is_built = known.built.is_empty() || known.built.iter().any(is_there);
        if !is_meant || !is_built || !changed.iter().any(is_about) {
            return None;
        }
        let program = match known.programs.iter().find(|program| self.has_program(program)) {
            None if !there => known.programs.last(),
            found => found,
        }?;
        Some(format!("{program} {}", known.arguments))
    }

    /// Whether a program exists: in the workspace if its name is a path, and otherwise in a folder of `PATH` outside
    /// the workspace.
    fn has_program(&self, program: &str) -> bool {
        if program.contains('/') {
            return self.workspace.join(program).is_file();
        }
        Programs::new(&self.workspace, Some(&self.path)).find_on_path(program).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_check_is_known_by_files_and_programs() {
        let folder = tempfile::tempdir().unwrap();
        let (work, programs) = (folder.path().join("work"), folder.path().join("programs"));
        for folder in [&work, &programs] {
            fs::create_dir(folder).unwrap();
        }
        let environment: Environment =
            [(OsString::from("PATH"), programs.clone().into())].into_iter().collect();
        let line = |setting: CheckSetting, changed: &str| {
            let settings = ShadowConfig { check: setting, ..ShadowConfig::default() };
            let checks = Checks::new(work.to_str().unwrap(), &settings, &environment);
            match checks.of(&[WorkspacePath::parse(changed).unwrap()])? {
                Checker::Command(check) => Some(check.line),
                Checker::Servers => Some("servers".to_owned()),
            }
        };
        let found = |changed: &str| line(CheckSetting::Found, changed);
        let program = |path: PathBuf| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        fs::write(work.join("Cargo.toml"), "").unwrap();
        program(programs.join("cargo"));
        assert_eq!(
            found("src/lib.rs").as_deref(),
            Some("servers"),
            "nobody has built it, so it would take long"
        );
        fs::create_dir(work.join("target")).unwrap();
        assert_eq!(found("src/lib.rs").as_deref(), Some("cargo check --quiet --all-targets"));
        assert_eq!(found("README.md").as_deref(), Some("servers"));
        fs::write(work.join("tsconfig.json"), "").unwrap();
        program(programs.join("tsc"));
        assert_eq!(found("a.ts").as_deref(), Some("servers"));
        fs::create_dir(work.join("node_modules")).unwrap();
        assert_eq!(found("a.ts").as_deref(), Some("tsc --noEmit"), "the one of the user");
        program(work.join("node_modules/.bin/tsc"));
        assert_eq!(found("a.ts").as_deref(), Some("node_modules/.bin/tsc --noEmit"));
        fs::write(work.join("pyproject.toml"), "[project]\n").unwrap();
        program(programs.join("pytest"));
        assert_eq!(found("a.py").as_deref(), Some("servers"), "nothing says that it is pytest");
        fs::write(work.join("pyproject.toml"), "[tool.pytest.ini_options]\n").unwrap();
        assert_eq!(found("a.py").as_deref(), Some("pytest -q"));
        fs::write(work.join("go.mod"), "").unwrap();
        assert_eq!(
            found("a.go").as_deref(),
            Some("go vet ./..."),
            "there is no go, and the check will say so"
        );
        program(programs.join("go"));
        assert_eq!(found("a.go").as_deref(), Some("go vet ./..."));
        assert_eq!(line(CheckSetting::Off, "a.go"), None);
        assert_eq!(line(CheckSetting::Line("make check".into()), "README.md").as_deref(), Some("make check"));
    }
}
