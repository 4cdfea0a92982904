//! The folders of this machine, and what is written in their place: a module holds the path of every line that may panic, and
//! whoever downloads it has no business with the home of whoever built it.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::Metadata;

use super::TARGET;

/// What cargo joins flags with in the variable that may hold spaces.
const SEPARATOR: char = '\x1f';

/// Folders with what stands for them, the more special ones behind those that they are in: the last that fits counts.
pub(super) struct Places(Vec<(PathBuf, &'static str)>);

impl Places {
    pub(super) fn of(metadata: &Metadata, sysroot: &Path) -> Self {
        let mut places: Vec<(PathBuf, &'static str)> = Vec::new();
        places.extend(std::env::home_dir().map(|home| (home, "home")));
        places.extend(std::env::var_os("CARGO_HOME").map(|home| (home.into(), "cargo")));
        places.push((sysroot.to_owned(), "rust"));
        places.push((metadata.workspace_root.clone().into(), "headstart"));
        places.push((metadata.target_directory.clone().into(), "target"));
        let others = metadata.packages.iter().filter(|package| package.source.is_some());
        let mut registries: Vec<PathBuf> =
            others.filter_map(|package| Some(package.manifest_path.parent()?.parent()?.into())).collect();
        registries.sort();
        registries.dedup();
        places.extend(registries.into_iter().map(|folder| (folder, "crates")));
        // A home that is the root would be in every path.
        places.retain(|(folder, _)| folder.parent().is_some());
        Self(places)
    }

    /// For clang, whose headers and assertions name files, too.
    pub(super) fn c_flags(&self) -> String {
        let flags =
            self.0.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display()));
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Has a run of cargo hide them, beside the flags that the caller has set for rustc.
    pub(super) fn hide(&self, cargo: &mut Command) {
        let given = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok().or_else(|| {
            let flags = std::env::var("RUSTFLAGS").ok()?;
            Some(flags.split_whitespace().collect::<Vec<_>>().join(&SEPARATOR.to_string()))
        });
        self.hide_beside(given.filter(|given| !given.is_empty()), cargo);
    }

    fn hide_beside(&self, given: Option<String>, cargo: &mut Command) {
        let flags =
            self.0.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
        if let Some(given) = given {
            // Either variable takes the place of all that is configured.
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
        let places = Places(vec![("/home/ada".into(), "home"), ("/home/ada/my \"own\"".into(), "headstart")]);
        let hidden = |given: Option<&str>| {
            let mut cargo = Command::new("cargo");
            places.hide_beside(given.map(str::to_owned), &mut cargo);
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
