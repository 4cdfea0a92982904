//! Replaces the folders of this machine in the modules. A module contains the source path of every line that may panic,
//! and a user who downloads it should not see the home folder of the person who built it.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::Metadata;

use super::TARGET;

/// The character with which cargo joins flags in the variable whose flags may contain spaces.
const SEPARATOR: char = '\x1f';

/// Folders and the names that replace them. A folder inside another one comes after it, because the last folder that
/// fits counts.
pub(super) struct PathRemap(Vec<(PathBuf, &'static str)>);

impl PathRemap {
    pub(super) fn of(metadata: &Metadata, sysroot: &Path) -> Self {
        let mut path_remap: Vec<(PathBuf, &'static str)> = Vec::new();
        path_remap.extend(std::env::home_dir().map(|home| (home, "home")));
        path_remap.extend(std::env::var_os("CARGO_HOME").map(|home| (home.into(), "cargo")));
        path_remap.push((sysroot.to_owned(), "rust"));
        path_remap.push((metadata.workspace_root.clone().into(), "headstart"));
        path_remap.push((metadata.target_directory.clone().into(), "target"));
        let others = metadata.packages.iter().filter(|package| package.source.is_some());
        let mut registries: Vec<PathBuf> =
            others.filter_map(|package| Some(package.manifest_path.parent()?.parent()?.into())).collect();
        registries.sort();
        registries.dedup();
        path_remap.extend(registries.into_iter().map(|folder| (folder, "crates")));
        // If the home folder is the root, it would be part of every path.
        path_remap.retain(|(folder, _)| folder.parent().is_some());
        Self(path_remap)
    }

    /// The flags for clang, because headers and assertions name files as well.
    pub(super) fn c_flags(&self) -> String {
        let flags =
            self.0.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display()));
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Makes a run of cargo hide the folders. The flags that the caller has set for rustc stay.
    pub(super) fn hide(&self, cargo: &mut Command) {
        let given = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok().or_else(|| {
            let flags = std::env::var("RUSTFLAGS").ok()?;
            Some(flags.split_whitespace().collect::<Vec<_>>().join(&SEPARATOR.to_string()))
        });
        self.hide_with_flags(given.filter(|given| !given.is_empty()), cargo);
    }

    fn hide_with_flags(&self, given: Option<String>, cargo: &mut Command) {
        let flags =
            self.0.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
        if let Some(given) = given {
            // Each of these variables replaces all configured flags.
            let all: Vec<String> = std::iter::once(given).chain(flags).collect();
            cargo.env("CARGO_ENCODED_RUSTFLAGS", all.join(&SEPARATOR.to_string()));
        } else {
            let flags = toml::Value::from(flags.collect::<Vec<_>>());
            cargo.arg("--config").arg(format!("target.{TARGET}.rustflags={flags}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_hidden_beside_the_flags_of_the_caller() {
        let path_remap =
            PathRemap(vec![("/home/ada".into(), "home"), ("/home/ada/my \"own\"".into(), "headstart")]);
        let hidden = |given: Option<&str>| {
            let mut cargo = Command::new("cargo");
            path_remap.hide_with_flags(given.map(str::to_owned), &mut cargo);
            let said = cargo.get_args().map(|argument| argument.to_string_lossy().into_owned());
            let set = cargo.get_envs().filter_map(|(_, value)| Some(value?.to_string_lossy().into_owned()));
            said.chain(set).collect::<Vec<_>>()
        };
        let given = "-D\x1fwarnings\x1f--remap-path-prefix=/home/ada=home\
            \x1f--remap-path-prefix=/home/ada/my \"own\"=headstart";
        assert_eq!(hidden(Some("-D\x1fwarnings")), [given]);

        let [option, config] = &hidden(None)[..] else { panic!("two arguments") };
        assert_eq!(option, "--config");
        let read: toml::Table = config.parse().unwrap();
        let flags = read["target"][TARGET]["rustflags"].as_array().unwrap();
        assert_eq!(flags[1].as_str().unwrap(), "--remap-path-prefix=/home/ada/my \"own\"=headstart");
    }
}
