//! A git repository of the session's user, whose name is in the user's own git settings.

use std::path::Path;
use std::process::Command;

use super::Session;

impl Session {
    /// Runs git in the workspace as the user would, and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_at(&self.workspace(), arguments)
    }

    /// Runs git in `folder` as the user would, and returns what it prints.
    pub(crate) fn git_at(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(folder)
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes the workspace a repository with all its files in one commit. The user's own git settings also contain a
    /// secret.
    pub(crate) fn make_repository(&self, init: &[&str]) {
        let settings = "[user]\n\tname = Ada\n\temail = ada@example.com\n[url \"https://token@host/\"]\n\tinsteadOf = x:\n";
        self.write("home/.gitconfig", settings);
        self.git(init);
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", "first"]);
    }

    /// Fails unless the repository is consistent and no lock file is left in it.
    pub(crate) fn repository_is_sound(&self) {
        self.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let locks = self.tree().into_iter().filter(|(path, _)| {
            let is_gits = path.components().any(|part| part.as_os_str() == ".git");
            is_gits && path.extension().is_some_and(|extension| extension == "lock")
        });
        assert_eq!(locks.map(|(path, _)| path).collect::<Vec<_>>(), [""; 0].map(std::path::PathBuf::from));
    }
}
