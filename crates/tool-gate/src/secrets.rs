//! Files whose names say that they hold a secret. Nothing touches them unless the user is asked.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use headstart_workspace_path::{Glob, WorkspacePath};

use crate::path_pattern::folded;

/// Names under which one kind of secret is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretFiles {
    /// What the files hold.
    pub what: &'static str,
    /// The names of files, in lower case. `*` at an end stands for any text, and `a/b` for `b` in a folder `a`. A
    /// pattern that ends in a slash also matches a folder of that name, and covers everything below it.
    pub patterns: &'static [&'static str],
}

/// All kinds.
///
/// Two groups are left out on purpose, though they may hold secrets: files that mostly hold code or its settings
/// (`config.json`, `settings.json`, `*.db`), because questions about each of them would teach a user to agree without
/// reading; and public keys, with the certificates that a server shows to everybody (`*.crt`).
pub const SECRET_FILES: [SecretFiles; 6] = [
    SecretFiles {
        what: "variables for programs, which hold passwords and tokens",
        patterns: &[".env*", "*.env", ".envs/"],
    },
    SecretFiles {
        what: "private keys, and the files and stores that hold them",
        patterns: &[
            "*.pem",
            "*.key",
            "*.p8",
            "*.p12",
            "*.pfx",
            "*.pkcs12",
            "*.der",
            "*.jks",
            "*.keystore",
            "*.truststore",
            "*.bks",
            "*.ppk",
            "*.kdb",
            "*.kdbx",
            "*.keychain",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ecdsa_sk",
            "id_ed25519",
            "id_ed25519_sk",
            ".ssh/",
            ".gnupg/",
        ],
    },
    SecretFiles {
        what: "passwords and tokens of command-line programs",
        patterns: &[
            ".netrc",
            "_netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            ".git/config",
            ".git/config.worktree",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".s3cfg",
            ".boto",
            ".htpasswd",
            ".dockercfg",
            ".docker/config.json",
            ".kube/",
            "kubeconfig",
            "*.kubeconfig",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".gem/credentials",
            ".m2/settings.xml",
            ".composer/auth.json",
            ".vault-token",
            ".vault_pass",
            ".vault_password",
            ".terraformrc",
            "terraform.rc",
        ],
    },
    SecretFiles {
        what: "accounts with providers of machines and services",
        patterns: &[
            ".aws/",
            ".azure/",
            ".gcloud/",
            ".config/gcloud/",
            ".oci/",
            "credentials",
            "credentials.json",
            "credentials.yml",
            "credentials.yaml",
            "credentials.toml",
            "credentials.ini",
            "credentials.csv",
            "credentials.xml",
            "client_secret*",
            "client-secret*",
            "service-account*",
            "service_account*",
            "serviceaccount*",
            "*-firebase-adminsdk*",
            "application_default_credentials.json",
        ],
    },
    SecretFiles {
        what: "secrets by their own word, and states that repeat them",
        patterns: &[
            "secret.json",
            "secret.yml",
            "secret.yaml",
            "secret.toml",
            "secrets.json",
            "secrets.yml",
            "secrets.yaml",
            "secrets.toml",
            "secrets.ini",
            "*.secret",
            "*.secrets",
            ".secrets/",
            "*.tfstate",
            "*.tfstate.backup",
            "terraform.tfvars",
            "wp-config.php",
        ],
    },
    SecretFiles {
        what: "what was typed, passwords among it",
        patterns: &[
            ".bash_history",
            ".zsh_history",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".python_history",
            ".node_repl_history",
            ".rediscli_history",
        ],
    },
];

/// Endings of names of templates, which hold no secret: `.env.example`.
pub(crate) const FORM_ENDINGS: [&str; 8] =
    [".example", ".sample", ".template", ".tmpl", ".dist", ".schema", ".defaults", ".d.ts"];
/// Further templates. Source code that is named after a secret file, like `service-account.ts`, is one too.
const FORMS: [&str; 3] = ["example.env", "sample.env", "template.env"];
/// Lists of the certificates that everybody trusts, as libraries and systems bring them along.
const PUBLIC: [&str; 3] = ["cacert.pem", "ca-bundle.pem", "ca-certificates.pem"];
const SOURCES: [&str; 20] = [
    ".rs", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".py", ".go", ".java", ".kt", ".rb", ".php", ".c",
    ".h", ".cpp", ".cs", ".swift", ".md", ".vue",
];
/// What programs add to a file's name to name a copy of it.
const COPIES: [&str; 10] = ["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".tmp", "."];

/// Names of folders for what tests and examples read.
const TEST_DATA: [&str; 16] = [
    "test",
    "tests",
    "__tests__",
    "testing",
    "testdata",
    "test-data",
    "test_data",
    "spec",
    "specs",
    "e2e",
    "fixture",
    "fixtures",
    "__fixtures__",
    "test-fixtures",
    "example",
    "examples",
];

/// Whether a path lies below a folder of tests, fixtures or examples. What a project keeps there under the name of a
/// secret is mostly made for its tests.
pub fn is_test_data(path: &WorkspacePath) -> bool {
    let is_folder = |name: &[u8]| TEST_DATA.contains(&&*folded(name));
    path.parent().is_some_and(|folder| folder.names().any(is_folder))
}

/// The pattern of the table that covers a path or a folder that holds it.
///
/// Names are compared without case, as some file systems do, and that includes Unicode: there `.ENV` opens `.env`.
pub(crate) fn pattern_for(path: &WorkspacePath) -> Option<&'static str> {
    let names: Vec<_> = path.names().map(folded).collect();
    (0..names.len()).find_map(|at| {
        let is_folder = at + 1 < names.len();
        let name = original(&names[at]);
        if !PARTS.may_be_in(name) {
            return None;
        }
        let mut patterns = SECRET_FILES.iter().flat_map(|files| files.patterns);
        patterns.find(|pattern| covers(pattern, name, &names[..at], is_folder)).copied()
    })
}

/// Endings of names that mostly stand for code and its settings.
const COMMON: [&str; 8] = [".json", ".yml", ".yaml", ".toml", ".ini", ".csv", ".xml", ".php"];

/// A name of the table that a name with a wildcard in a pattern of paths matches, other than as every name of a common
/// type.
pub(crate) fn made_for(pattern: &WorkspacePath) -> Option<WorkspacePath> {
    pattern.names().map(folded).find_map(|wild| {
        let is_wild = wild.contains(['*', '?', '[']);
        let says = wild.trim_start_matches(['*', '?']);
        if !is_wild || says.is_empty() || COMMON.contains(&says) {
            return None;
        }
        // A bracket stands for any letter.
        let wild = wild.split_once('[').map_or_else(|| wild.to_string(), |(start, _)| format!("{start}*"));
        let glob = Glob::without_braces(&wild).ok()?;
        let names = SECRET_FILES.iter().flat_map(|files| files.patterns).flat_map(|pattern| {
            let name = pattern.trim_end_matches('/').replace('*', "");
            [format!("x{name}"), name]
        });
        let mut names = names.filter_map(|name| WorkspacePath::parse(&name).ok());
        names.find(|name| glob.is_match(name.as_bytes()) && pattern_for(name).is_some())
    })
}

/// A quick check: what a name must contain for any pattern to cover it. Most names contain none of it and are not
/// compared with the patterns, because searches ask about every file of a project.
struct Parts {
    names: BTreeSet<&'static str>,
    /// The endings; each begins with a dot.
    ends: BTreeSet<&'static str>,
    starts: Vec<&'static str>,
    within: Vec<&'static str>,
}

static PARTS: LazyLock<Parts> = LazyLock::new(Parts::new);

impl Parts {
    fn new() -> Self {
        let mut parts =
            Self { names: BTreeSet::new(), ends: BTreeSet::new(), starts: Vec::new(), within: Vec::new() };
        for pattern in SECRET_FILES.iter().flat_map(|files| files.patterns) {
            let name = pattern.trim_end_matches('/');
            let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
            match (name.strip_prefix('*'), name.strip_suffix('*')) {
                (Some(end), None) if end.starts_with('.') => drop(parts.ends.insert(end)),
                (None, None) => drop(parts.names.insert(name)),
                (None, Some(start)) => parts.starts.push(start),
                (Some(_), _) => parts.within.push(name.trim_matches('*')),
            }
        }
        parts
    }

    fn may_be_in(&self, name: &str) -> bool {
        self.names.contains(name)
            || name.match_indices('.').any(|(at, _)| self.ends.contains(&name[at..]))
            || self.starts.iter().any(|start| name.starts_with(start))
            || self.within.iter().any(|part| name.contains(part))
    }
}

fn covers(pattern: &str, name: &str, above: &[Cow<'_, str>], is_folder: bool) -> bool {
    let (pattern, of_folder) = match pattern.strip_suffix('/') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    if is_folder && !of_folder || !is_folder && is_form(name) {
        return false;
    }
    if let Some((folder, name_in_it)) = pattern.rsplit_once('/') {
        // A repository's own folder holds those of its submodules and linked worktrees.
        let is_in_it = above.last().is_some_and(|last| last == folder)
            || folder == ".git" && above.iter().any(|above| above == folder);
        return name == name_in_it && is_in_it;
    }
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), None) => name.ends_with(end) && end.len() < name.len(),
        (None, Some(".env")) => name.starts_with(".env"),
        (None, Some(start)) => name.starts_with(start) && !is_source(name),
        (Some(end), Some(_)) => name.contains(end.trim_end_matches('*')) && !is_source(name),
        (None, None) => name == pattern,
    }
}

/// Whether a name is that of a template or of something public.
fn is_form(name: &str) -> bool {
    FORM_ENDINGS.iter().any(|end| name.ends_with(end)) || FORMS.contains(&name) || PUBLIC.contains(&name)
}

fn is_source(name: &str) -> bool {
    SOURCES.iter().any(|end| name.ends_with(end))
}

/// The name of the original, if `name` is that of a copy.
fn original(name: &str) -> &str {
    let mut name = name.trim_end();
    while let Some(rest) =
        COPIES.iter().find_map(|end| name.strip_suffix(end)).filter(|rest| !rest.is_empty())
    {
        name = rest.trim_end();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        let closed = [
            ".env",
            "a/b/.env",
            ".env.local",
            ".env.production",
            ".envrc",
            ".env-prod",
            "prod.env",
            ".ENV",
            ".Env.Local",
            ".env~",
            ".env.bak",
            ".env.old.bak",
            ".env.",
            ".env ",
            "key.pem",
            "tests/fixtures/server.pem",
            "SERVER.KEY",
            "id_rsa",
            "keys/id_ed25519",
            "id_rsa.bak",
            ".ssh/config",
            ".SSH/known_hosts",
            ".aws/credentials",
            "home/.aws/config",
            ".envs/.production/.django",
            ".env.js",
            ".npmrc",
            ".git/config",
            "a/.git/config",
            ".git/modules/a/config",
            "a/.git/worktrees/b/config.worktree",
            ".docker/config.json",
            "credentials.json",
            "client_secret_123.json",
            "service-account.json",
            "x-firebase-adminsdk-1.json",
            "secrets.yaml",
            "infra/terraform.tfstate",
            ".bash_history",
            // Case folding makes `s` of the long s and `k` of the sign for kelvin; a joiner is ignored.
            ".\u{17f}sh/x",
            "server.\u{212a}ey",
            ".e\u{200d}nv",
        ];
        let open = [
            ".",
            "env",
            "environment.ts",
            "src/env.rs",
            ".environment.d/x.md",
            ".env.example",
            ".env.sample",
            ".env.local.example",
            ".env.template",
            ".env.dist",
            "example.env",
            ".env.d.ts",
            "id_rsa.pub",
            "id_ed25519.pub",
            "keys.rs",
            "key",
            "src/pem.rs",
            "docs/key.md",
            "config.json",
            ".git/configure",
            "config",
            ".docker/Dockerfile",
            "credentials.rs",
            "src/credentials/mod.rs",
            "service-account.ts",
            "service_account.py",
            "client_secret.go",
            "secrets.rs",
            "src/secrets/mod.rs",
            "monkey.rs",
            "a.keys",
            "settings.xml",
            "auth.json",
            "package.json",
            "Cargo.toml",
            ".github/workflows/ci.yml",
            ".pem",
            ".key",
        ];
        for path in closed {
            assert!(pattern_for(&WorkspacePath::parse(path).unwrap()).is_some(), "{path}");
        }
        for path in open {
            assert_eq!(pattern_for(&WorkspacePath::parse(path).unwrap()), None, "{path}");
        }
    }

    #[test]
    fn patterns_are_known_that_are_made_for_secrets() {
        for (pattern, expected) in [
            (".e*", true),
            (".en?", true),
            (".[e]nv", true),
            ("*.pem", true),
            ("config/id_*", true),
            ("s*/.ss*/x", true),
            ("**/.env*", true),
            ("*", false),
            ("**/*", false),
            ("*.json", false),
            ("*.rs", false),
            ("src/*", false),
            (".env", false),
            ("docs/*.md", false),
        ] {
            assert_eq!(made_for(&WorkspacePath::parse(pattern).unwrap()).is_some(), expected, "{pattern}");
        }
    }

    #[test]
    fn the_table_is_in_lower_case_and_names_nothing_twice() {
        let mut seen = BTreeSet::new();
        for pattern in SECRET_FILES.iter().flat_map(|files| files.patterns) {
            assert_eq!(*pattern, pattern.to_lowercase());
            assert!(seen.insert(pattern), "{pattern}");
        }
        assert!(59 <= seen.len(), "{}", seen.len());
    }

    #[test]
    fn what_a_pattern_covers_has_a_part_of_it() {
        let patterns = || SECRET_FILES.iter().flat_map(|files| files.patterns);
        let names: Vec<String> = patterns()
            .flat_map(|pattern| {
                let name = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                ["", "x", ".x", "-x"].map(|text| name.replace('*', text))
            })
            .collect();
        let mut covered = 0;
        for name in names.iter().flat_map(|name| [name.clone(), format!("a{name}"), format!("{name}a")]) {
            let above = patterns().filter_map(|pattern| pattern.trim_end_matches('/').rsplit_once('/'));
            let above: Vec<_> = above.map(|(folder, _)| [Cow::Borrowed(folder)]).collect();
            for is_folder in [false, true] {
                let mut ways = patterns().flat_map(|pattern| above.iter().map(move |above| (pattern, above)));
                if ways.any(|(pattern, above)| covers(pattern, &name, above, is_folder)) {
                    covered += 1;
                    assert!(PARTS.may_be_in(&name), "{name}");
                }
            }
        }
        assert!(patterns().count() < covered, "{covered}");
    }
}
