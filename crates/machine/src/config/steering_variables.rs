//! Variables by which whoever sets them decides what another program loads, runs or trusts. A project may set none of
//! them for its tool servers, because nobody sees from the command what it then does.

/// The beginnings of the names that a loader, an interpreter, a package manager or a build reads.
const BEGINNINGS: &[&str] = &[
    "BASH_",
    "BUNDLE_",
    "BUN_",
    "CARGO_",
    "COMPLUS_",
    "COMPOSER_",
    "CONDA_",
    "CORECLR_",
    "COR_",
    "CURL_",
    "DENO_",
    "DOTNET_",
    "DYLD_",
    "ELECTRON_",
    "ELIXIR_",
    "ERL_",
    "GCONV_",
    "GEM_",
    "GIO_",
    "GIT_",
    "GLIBC_",
    "GRADLE_",
    "GST_",
    "GTK_",
    "JAVA_",
    "JDK_",
    "JULIA_",
    "LD_",
    "LUA_",
    "MALLOC_",
    "MAVEN_",
    "NIX_",
    "NODE_",
    "NPM_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PIP_",
    "PNPM_",
    "POETRY_",
    "PYTHON",
    "QT_",
    "RUBY",
    "RUSTC",
    "RUSTUP_",
    "SSH_",
    "SSL_",
    "TSX_",
    "UV_",
    "XDG_",
    "YARN_",
    "_JAVA",
];

/// Whole names.
const NAMES: &[&str] = &[
    "AR",
    "BROWSER",
    "CC",
    "CDPATH",
    "CLASSPATH",
    "COMSPEC",
    "CXX",
    "DOCKER_HOST",
    "EDITOR",
    "ENV",
    "FPATH",
    "GLOBIGNORE",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "LD",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPATH",
    "NLSPATH",
    "PAGER",
    "PATH",
    "PATHEXT",
    "PROMPT_COMMAND",
    "PS4",
    "RUSTFLAGS",
    "SHELL",
    "SHELLOPTS",
    "SYSTEMROOT",
    "TEMP",
    "TERMINFO",
    "TMP",
    "TMPDIR",
    "USERPROFILE",
    "VIRTUAL_ENV",
    "VISUAL",
    "WINDIR",
    "ZDOTDIR",
];

/// The ends of such names.
const ENDS: &[&str] = &["_CONFIG_FILE", "_OPTIONS", "_OPTS", "_PRELOAD", "_PROXY", "_WRAPPER"];

/// Of those, what only says how a program prints.
const HARMLESS: &[&str] =
    &["NODE_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8"];

/// Whether a variable steers what a program loads or runs. Windows does not tell upper case from lower.
pub(super) fn steers(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_one = NAMES.contains(&&*name)
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end));
    is_one && !HARMLESS.contains(&&*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_a_loader_or_an_interpreter_steers_and_a_setting_of_a_server_does_not() {
        for name in [
            "LD_PRELOAD",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "BASH_ENV",
            "ENV",
            "GIT_SSH_COMMAND",
            "npm_config_script_shell",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "PATH",
            "Path",
            "HTTPS_PROXY",
            "https_proxy",
            "GCONV_PATH",
            "SSL_CERT_FILE",
            "LUA_INIT",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "RUSTC_WRAPPER",
            "DOTNET_STARTUP_HOOKS",
            "HOME",
            "ELECTRON_RUN_AS_NODE",
            "CLASSPATH",
            "OPENSSL_CONF",
        ] {
            assert!(steers(name), "{name}");
        }
        for name in [
            "LEVEL",
            "API_URL",
            "TOKEN",
            "GITHUB_TOKEN",
            "DATABASE_PATH",
            "DEBUG",
            "PORT",
            "RUST_LOG",
            "NODE_ENV",
        ] {
            assert!(!steers(name), "{name}");
        }
    }
}
