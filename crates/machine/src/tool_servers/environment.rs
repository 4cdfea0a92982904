//! The environment of a tool server: what a program needs to run on this machine, and what the configuration names, but
//! no other key of the user's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::{EnvValue, ServerSetting};
use crate::environment::Environment;
use crate::system::is_inside;

/// Variables by which programs find themselves, their files and the network.
const PASSED: [&str; 21] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
];

/// Variables without which programs do not find the system or their user on Windows.
const ON_WINDOWS: &[&str] = if cfg!(windows) {
    &[
        "ALLUSERSPROFILE",
        "APPDATA",
        "COMMONPROGRAMFILES",
        "COMPUTERNAME",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "NUMBER_OF_PROCESSORS",
        "OS",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "PROGRAMFILES(X86)",
        "PROGRAMW6432",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    ]
} else {
    &[]
};

/// All variables of a server's process.
pub(super) fn of_server(
    setting: &ServerSetting,
    workspace: &str,
    environment: &Environment,
) -> Result<BTreeMap<String, String>, String> {
    let is_passed =
        |name: &&str| PASSED.contains(name) || ON_WINDOWS.contains(name) || name.starts_with("LC_");
    let mut all = BTreeMap::new();
    for name in environment.names().filter(is_passed) {
        // A value that is not text cannot be passed on.
        if let Ok(Some(value)) = environment.text(name) {
            all.insert(name.to_owned(), value.to_owned());
        }
    }
    if let Some(path) = all.get_mut("PATH") {
        *path = outside(path, workspace);
    }
    for (name, value) in &setting.env {
        let value = match value {
            EnvValue::Literal(text) => text.clone(),
            EnvValue::Variable(variable) => self::variable(variable, environment)?,
        };
        all.insert(name.clone(), value);
    }
    Ok(all)
}

/// The value of a variable that the configuration names.
pub(super) fn variable(name: &str, environment: &Environment) -> Result<String, String> {
    let value = environment.text(name).map_err(|error| error.to_string())?;
    value.map(str::to_owned).ok_or_else(|| format!("the variable {name}, which it is to get, is not set"))
}

/// A search path without folders of the workspace, so that no program of a project is run in place of one of the
/// system's.
fn outside(path: &str, workspace: &str) -> String {
    let is_outside = |folder: &PathBuf| folder.is_absolute() && !is_inside(folder, Path::new(workspace));
    let outside = std::env::join_paths(std::env::split_paths(path).filter(is_outside));
    outside.ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headstart_tool_gate::PolicyOrigin;

    use super::*;
    use crate::config::{OAuthSetting, Transport, TrustSetting};

    #[test]
    fn a_server_gets_no_key_that_it_is_not_given() {
        let env = [("TOKEN", EnvValue::Variable("MINE".into())), ("LEVEL", EnvValue::Literal("info".into()))];
        let setting = ServerSetting {
            name: "x".into(),
            origin: PolicyOrigin::User,
            file: "/c".into(),
            transport: Transport::Command(vec!["x".into()]),
            env: env.map(|(name, value)| (name.to_owned(), value)).into(),
            bearer: None,
            oauth: OAuthSetting::default(),
            trust: TrustSetting::Ask,
            trust_network: false,
            timeout: Duration::from_secs(1),
        };
        let variables = [
            ("PATH", "/usr/bin:node_modules/.bin:/w/bin:.::/opt"),
            ("HOME", "/home/ada"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "secret"),
            ("LD_PRELOAD", "/w/evil.so"),
            ("MINE", "mine"),
        ];
        let environment: Environment =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let all = of_server(&setting, "/w", &environment).unwrap();
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("HOME", "/home/ada"),
            ("LC_ALL", "C"),
            ("LEVEL", "info"),
            ("PATH", "/usr/bin:/opt"),
            ("TOKEN", "mine"),
        ];
        assert_eq!(all, expected);
        let missing = of_server(&setting, "/w", &Environment::default()).unwrap_err();
        assert!(missing.contains("MINE"), "{missing}");
    }
}
