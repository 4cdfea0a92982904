//! The environment variables of a command in a view.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::runner;

/// Variables that name the folders of toolchains.
const TOOLCHAINS: [&str; 32] = [
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "FLUTTER_ROOT",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "GEM_HOME",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NODENV_ROOT",
    "NUGET_PACKAGES",
    "NVM_DIR",
    "OPAM_SWITCH_PREFIX",
    "PLAYWRIGHT_BROWSERS_PATH",
    "PNPM_HOME",
    "PUB_CACHE",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Variables by which a user chooses a version, a compiler or an author, without which a command does something else than
/// in their terminal. Beside these and the folders above no variable of the user's is passed on, and so no key and no
/// token.
const CHOICES: [&str; 33] = [
    "ASDF_NODEJS_VERSION",
    "ASDF_PYTHON_VERSION",
    "ASDF_RUBY_VERSION",
    "CARGO_BUILD_TARGET",
    "CC",
    "CFLAGS",
    "CONDA_DEFAULT_ENV",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "DJANGO_SETTINGS_MODULE",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GOARCH",
    "GOOS",
    "GOTOOLCHAIN",
    "LDFLAGS",
    "NODE_ENV",
    "NODE_PATH",
    "NODENV_VERSION",
    "PKG_CONFIG_PATH",
    "PYENV_VERSION",
    "PYTHONPATH",
    "RAILS_ENV",
    "RBENV_VERSION",
    "RUST_BACKTRACE",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "TZ",
];

/// Variables for all commands. A view has neither a terminal nor a network, and programs that know this do not wait for
/// one. `CI` is not set, because programs then do what their user did not ask for: runners of tests refuse new
/// snapshots. Programs that would look for a newer version of themselves or report their use are told not to, because a test
/// that fails would otherwise look as if it had failed for lack of a network. The workspace is mounted, and git looks for
/// a repository above it all the same.
const SET: [(&str, &str); 19] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("CHECKPOINT_DISABLE", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DO_NOT_TRACK", "1"),
    ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GOFLAGS", "-mod=mod"),
    ("GOPROXY", "off"),
    ("NEXT_TELEMETRY_DISABLED", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PAGER", "cat"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INDEX", "1"),
    ("TERM", "dumb"),
    ("UV_OFFLINE", "1"),
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
];

/// Those of the variables that say that there is no network.
const OFFLINE: [&str; 6] =
    ["CARGO_NET_OFFLINE", "GOFLAGS", "GOPROXY", "PIP_NO_INDEX", "UV_OFFLINE", "npm_config_offline"];

/// Messages of programs that stay offline because of these variables, and lack what they would have fetched. They are
/// needed because these programs do not try the network, so nothing else shows that they need it.
const STAYED_OFFLINE: [&str; 7] = [
    "using offline mode (--offline)",
    "but --offline was specified",
    "could not be found in registry index",
    "code ENOTCACHED",
    "disabled by GOPROXY=off",
    "Network connectivity is disabled",
    "No matching distribution found for",
];

/// Whether a program needed the network but did not try it, because it was told that there is none.
pub(super) fn stayed_offline(output: &[u8]) -> bool {
    let output = String::from_utf8_lossy(output);
    STAYED_OFFLINE.iter().any(|message| output.contains(message))
}

/// Hears in the output of a command, piece by piece, that a program stayed offline.
#[derive(Default)]
pub struct OfflineListener {
    /// The end of what was printed so far, because a message may come in two pieces.
    end: Vec<u8>,
    pub heard: bool,
}

impl OfflineListener {
    /// The most bytes of a message.
    const LONGEST: usize = 64;

    pub fn take(&mut self, piece: &[u8]) {
        self.end.extend_from_slice(piece);
        self.heard |= stayed_offline(&self.end);
        self.end.drain(..self.end.len().saturating_sub(Self::LONGEST));
    }
}

/// All variables of a command in a view. Programs are found as in the user's terminal, those of the workspace included.
pub(super) fn of_views(users: &Environment, workspace: &Path) -> Vec<(OsString, OsString)> {
    let users = users.all();
    let mut variables = runner::clean_environment(&users, workspace);
    let system = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    if let Some(path) = runner::users_path_first(&system, users.get(OsStr::new("PATH"))) {
        variables.insert("PATH".into(), path);
    }
    variables.extend(SET.map(|(name, value)| (name.into(), value.into())));
    for name in TOOLCHAINS.iter().chain(&CHOICES) {
        if let Some((name, value)) = users.get_key_value(OsStr::new(name)) {
            variables.insert(name.clone(), value.clone());
        }
    }
    variables.into_iter().collect()
}

/// Changes the variables for a command that has a network.
pub(super) fn online(variables: &mut Vec<(OsString, OsString)>) {
    variables.retain(|(name, _)| !OFFLINE.iter().any(|offline| name == offline));
}

/// The folders that these variables name, and those whose shims are on `PATH`, except those in the home folder, whose
/// folders of tools are known, and those in the workspace.
pub(super) fn toolchains(users: &Environment, workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let named = TOOLCHAINS.iter().filter_map(|name| users.get(name)).map(PathBuf::from);
    // A shim is a script that runs a program of the folder beside it.
    let path = users.get("PATH").map(std::env::split_paths).into_iter().flatten();
    let of_shims = path.filter(|folder| folder.file_name() == Some(OsStr::new("shims")));
    let folders = named.chain(of_shims.filter_map(|shims| shims.parent().map(Path::to_owned)));
    let elsewhere = |folder: &PathBuf| {
        let shown = |root: &Path| folder.starts_with(root);
        folder.is_absolute()
            && folder.is_dir()
            && !shown(workspace)
            && !home.is_some_and(|home| known_in(home, folder))
            && !shown(Path::new("/usr"))
            && !holds_secret(folder)
    };
    folders.filter(elsewhere).collect()
}

/// Whether a folder holds a tool's credentials beside what the tool needs. Such a folder is not shown.
fn holds_secret(folder: &Path) -> bool {
    let mut secrets = headstart_shadow::TOOL_FOLDERS.iter().flat_map(|tool| tool.masked);
    secrets.any(|name| folder.join(name).exists())
}

fn known_in(home: &Path, folder: &Path) -> bool {
    let below = folder.strip_prefix(home).ok();
    below.is_some_and(|below| {
        let known = |tool: &headstart_shadow::ToolFolder| below.starts_with(OsStr::new(tool.path));
        headstart_shadow::TOOL_FOLDERS.iter().any(known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_stayed_offline_is_heard_in_whatever_pieces_it_says_so() {
        for message in STAYED_OFFLINE {
            assert!(message.len() <= OfflineListener::LONGEST, "{message}");
            for size in [1, 7, 1000] {
                let mut listener = OfflineListener::default();
                let text = format!("{}{message}\n", "\u{e9} before ".repeat(20));
                text.as_bytes().chunks(size).for_each(|piece| listener.take(piece));
                assert!(listener.heard, "{message} in pieces of {size}");
            }
        }
        let mut listener = OfflineListener::default();
        listener.take(b"offline, but by choice");
        assert!(!listener.heard);
    }
}
