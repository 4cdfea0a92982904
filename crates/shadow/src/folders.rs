//! Tables of folders that a view treats specially.

/// A folder below the home folder in which a tool keeps what it needs to work without a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFolder {
    /// Relative to the home folder.
    pub path: &'static str,
    /// Files in it that hold a secret, relative to the folder. A view does not show them.
    pub masked: &'static [&'static str],
}

const fn open(path: &'static str) -> ToolFolder {
    ToolFolder { path, masked: &[] }
}

/// Folders of the home that a view shows copy-on-write. What is written there is discarded with the view.
///
/// `.cache` and `.config` are not shown as a whole, because browsers and mail programs keep their user's data there.
pub const TOOL_FOLDERS: [ToolFolder; 96] = [
    ToolFolder { path: ".cargo", masked: &["credentials", "credentials.toml"] },
    open(".rustup"),
    open(".npm"),
    open(".nvm"),
    open(".fnm"),
    open(".volta"),
    open(".bun"),
    open(".deno"),
    open(".yarn"),
    open(".local/share/pnpm"),
    open(".local/share/fnm"),
    open(".local/share/mise"),
    open(".local/share/uv"),
    open(".local/share/virtualenvs"),
    open(".local/bin"),
    open(".local/lib"),
    open(".local/pipx"),
    open(".pyenv"),
    open(".rbenv"),
    open(".asdf"),
    open("go"),
    ToolFolder { path: ".gradle", masked: &["gradle.properties"] },
    ToolFolder { path: ".m2", masked: &["settings.xml", "settings-security.xml"] },
    open(".sdkman"),
    open(".jdks"),
    ToolFolder { path: ".gem", masked: &["credentials"] },
    open(".local/share/asdf"),
    open(".local/share/fvm"),
    open(".local/share/gem"),
    open(".local/share/mamba"),
    open(".local/share/nvm"),
    open(".local/share/pypoetry"),
    open(".nodenv"),
    open(".goenv"),
    open(".jenv"),
    open(".rvm"),
    open(".rye"),
    open(".pixi"),
    open(".juliaup"),
    open(".julia/artifacts"),
    open(".julia/compiled"),
    open(".julia/environments"),
    open(".julia/packages"),
    open(".julia/registries"),
    open(".elan"),
    open(".ghcup"),
    open(".cabal/bin"),
    open(".cabal/packages"),
    open(".cabal/store"),
    ToolFolder { path: ".stack", masked: &["upload/credentials.json"] },
    open(".opam"),
    open(".mix"),
    ToolFolder { path: ".hex", masked: &["hex.config"] },
    open(".dotnet"),
    open(".nuget/packages"),
    ToolFolder { path: ".pub-cache", masked: &["credentials.json"] },
    open(".composer/cache"),
    open(".composer/vendor"),
    ToolFolder { path: ".ivy2", masked: &[".credentials"] },
    ToolFolder { path: ".sbt", masked: &[".credentials"] },
    open(".konan"),
    open(".bundle/cache"),
    open("sdk"),
    open("Android/Sdk"),
    open("flutter"),
    open("anaconda3"),
    open("mambaforge"),
    open("miniconda3"),
    open("miniforge3"),
    open(".cache/pip"),
    open(".cache/uv"),
    open(".cache/go-build"),
    open(".cache/yarn"),
    open(".cache/pnpm"),
    open(".cache/node"),
    open(".cache/ccache"),
    open(".cache/sccache"),
    open(".cache/pypoetry"),
    open(".cache/pre-commit"),
    open(".cache/zig"),
    open(".cache/bazelisk"),
    open(".cache/composer"),
    open(".cache/coursier"),
    open(".cache/Cypress"),
    open(".cache/deno"),
    open(".cache/electron"),
    open(".cache/huggingface/datasets"),
    open(".cache/huggingface/hub"),
    open(".cache/mise"),
    open(".cache/ms-playwright"),
    open(".cache/node-gyp"),
    open(".cache/prisma"),
    open(".cache/puppeteer"),
    open(".cache/rattler"),
    open(".cache/torch"),
    open(".cache/typescript"),
];

/// A folder in which build tools keep what they can make again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildFolder {
    /// Its name.
    pub name: &'static str,
    /// Files of which one has to be beside the folder, because its name alone says too little; empty if the name is
    /// enough. A `CACHEDIR.TAG` in the folder counts too.
    pub beside: &'static [&'static str],
    /// Whether it is looked for at any depth, and not only at depth one and two.
    pub is_deep: bool,
    /// Whether people also give this name to folders of their own.
    pub is_common: bool,
    /// Whether it is worth keeping on a disk: tools write much to it, and rarely remove it as a whole.
    pub is_large: bool,
}

const fn sure(name: &'static str) -> BuildFolder {
    BuildFolder { name, beside: &[], is_deep: false, is_common: false, is_large: false }
}

const fn deep(name: &'static str) -> BuildFolder {
    BuildFolder { is_deep: true, ..sure(name) }
}

const fn large(folder: BuildFolder) -> BuildFolder {
    BuildFolder { is_large: true, ..folder }
}

const fn common(name: &'static str, beside: &'static [&'static str]) -> BuildFolder {
    BuildFolder { beside, is_common: true, ..sure(name) }
}

/// Folders of build output, by their names. What is written there does not become part of a change set if git tracks
/// nothing in them, even if git does not ignore them.
pub const BUILD_FOLDERS: [BuildFolder; 25] = [
    large(BuildFolder { beside: &["Cargo.toml", "pom.xml", "build.sbt"], ..sure("target") }),
    large(deep("node_modules")),
    deep("__pycache__"),
    deep(".pytest_cache"),
    deep(".mypy_cache"),
    deep(".ruff_cache"),
    large(sure(".venv")),
    large(BuildFolder { beside: &["pyproject.toml", "requirements.txt", "setup.py"], ..sure("venv") }),
    large(sure(".tox")),
    large(sure(".nox")),
    sure(".eggs"),
    sure(".next"),
    sure(".nuxt"),
    sure(".svelte-kit"),
    sure(".angular"),
    sure(".turbo"),
    sure(".parcel-cache"),
    large(sure(".gradle")),
    sure(".dart_tool"),
    sure(".zig-cache"),
    BuildFolder { beside: &["build.zig"], ..sure("zig-out") },
    BuildFolder { beside: &["mix.exs", "dune-project"], ..sure("_build") },
    common("dist", &["package.json", "pyproject.toml", "setup.py"]),
    common(
        "build",
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "CMakeLists.txt",
            "meson.build",
            "package.json",
            "pubspec.yaml",
            "pyproject.toml",
            "setup.py",
        ],
    ),
    common("out", &["package.json", "foundry.toml"]),
];

/// Folders of the system that a view shows read-only.
pub(crate) const SYSTEM_FOLDERS: [&str; 11] =
    ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin", "/sys", "/usr"];

/// Empty folders in which a command may write. What it writes there is discarded.
pub(crate) const EMPTY_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// Files and folders of the system that only root may read, that tell which machine it is, by which a service of the
/// machine is reached, or whose content no command needs. If they exist, a view shows an empty file or folder in their place.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
pub(crate) const MASKED: [&str; 31] = [
    "/etc/machine-id",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/nix/var/nix/daemon-socket",
    "/sys/class/net",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/fs/bpf",
    "/sys/fs/pstore",
    "/sys/firmware",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/locks",
    "/proc/kmsg",
    "/proc/scsi",
];

/// Parts of paths at which tools keep what they can make again, or write on every run. In a folder that belongs to a
/// tool as a whole, its programs and settings count as more than that: `~/.cargo/bin`, `~/.rustup/settings.toml`.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
const CACHES: [&str; 70] = [
    "/.cache/",
    "/__pycache__/",
    "/.cargo/registry/",
    "/.cargo/git/",
    // And what it adds to these names: `.package-cache-mutate`, `.global-cache-journal`.
    "/.cargo/.package-cache",
    "/.cargo/.global-cache",
    "/.rustup/tmp/",
    "/.rustup/downloads/",
    "/.rustup/update-hashes/",
    "/.npm/",
    "/.node-gyp/",
    "/.yarn/",
    "/.local/share/pnpm/",
    "/.local/share/uv/",
    "/.local/state/",
    "/.config/",
    "/.gradle/",
    "/.m2/",
    "/.ivy2/",
    "/.sbt/",
    "/.konan/",
    "/.android/",
    "/.java/",
    "/.deno/",
    "/.bun/install/",
    "/go/pkg/",
    "/.nvm/.cache/",
    "/.volta/cache/",
    "/.volta/log/",
    "/.volta/tmp/",
    "/.volta/volta.lock/",
    "/.pyenv/shims/",
    "/.rbenv/shims/",
    "/.asdf/downloads/",
    "/.asdf/tmp/",
    "/.sdkman/tmp/",
    "/.gem/",
    "/.bundle/cache/",
    "/.composer/cache/",
    "/.ccache/",
    "/.nuget/",
    "/.dotnet/",
    "/.templateengine/",
    "/.pub-cache/",
    "/.dart-tool/",
    "/.dartServer/",
    "/.hex/",
    "/.mix/",
    "/.cabal/logs/",
    "/.cabal/packages/",
    "/.cabal/store/",
    "/.stack/",
    "/.julia/",
    "/.swiftpm/",
    "/.ipython/",
    "/.hypothesis/",
    "/.matplotlib/",
    "/.nv/",
    "/.pki/",
    "/.rnd/",
    "/.bash_history/",
    "/.irb_history/",
    "/.node_repl_history/",
    "/.psql_history/",
    "/.python_history/",
    "/.sqlite_history/",
    "/.lesshst/",
    "/.viminfo/",
    "/.wget-hsts/",
    "/.electron-gyp/",
];

/// Whether a path outside the workspace is one to which tools write without anybody expecting to find it.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
pub(crate) fn is_cache(path: &std::path::Path) -> bool {
    let text = format!("{}/", path.to_string_lossy());
    CACHES.iter().any(|cache| text.contains(cache))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use headstart_workspace_path::WorkspacePath;

    use super::*;

    #[test]
    fn every_row_is_a_path_of_its_own() {
        let paths: HashSet<_> = TOOL_FOLDERS.iter().map(|tool| tool.path).collect();
        assert_eq!(paths.len(), TOOL_FOLDERS.len());
        for tool in TOOL_FOLDERS {
            assert_eq!(WorkspacePath::parse(tool.path).unwrap().as_str(), Some(tool.path));
            for masked in tool.masked {
                assert_eq!(WorkspacePath::parse(masked).unwrap().as_str(), Some(*masked));
            }
        }
        for (number, row) in BUILD_FOLDERS.iter().enumerate() {
            assert!(
                !row.name.contains('/') && BUILD_FOLDERS[..number].iter().all(|other| other.name != row.name)
            );
            assert!(!row.is_common || !row.beside.is_empty(), "{}", row.name);
        }
        for path in SYSTEM_FOLDERS.iter().chain(&EMPTY_FOLDERS).chain(&MASKED) {
            assert!(path.starts_with('/') && !path.ends_with('/'), "{path}");
        }
    }

    #[test]
    fn a_program_that_is_installed_is_no_cache() {
        for path in [
            "bin/tool",
            ".cargo/bin/tool",
            ".cargo/config.toml",
            ".rustup/settings.toml",
            "go/bin/tool",
            "notes",
            ".ccache-notes",
        ] {
            let path = format!("/home/ada/{path}");
            assert!(!is_cache(std::path::Path::new(&path)), "{path}");
        }
        for path in [
            ".cache/x",
            ".cargo/registry/index/a",
            ".cargo/.package-cache",
            ".cargo/.package-cache-mutate",
            ".cargo/.global-cache-journal",
            ".rustup/tmp/a",
            "go/pkg/mod/a",
            ".npm/_logs/a.log",
            ".volta/volta.lock",
            ".local/lib/python3.11/site-packages/a/__pycache__/b.pyc",
        ] {
            let path = format!("/home/ada/{path}");
            assert!(is_cache(std::path::Path::new(&path)), "{path}");
        }
    }

    #[test]
    fn no_folder_that_is_shown_holds_keys() {
        for secret in
            [".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config", ".netrc", ".npmrc", ".mozilla"]
        {
            let shows =
                |tool: &ToolFolder| tool.path == secret || tool.path.starts_with(&format!("{secret}/"));
            assert!(!TOOL_FOLDERS.iter().any(shows), "{secret}");
        }
        assert!(!TOOL_FOLDERS.iter().any(|tool| tool.path == ".cache" || tool.path == ".local"));
    }
}
