//! A workspace whose names are chosen by an attacker, beside a file that nobody may read. No allowed command shows that
//! file in its hardened form. The plain forms do show it, which proves that the names would have worked.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the test runs programs over files")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use headstart_tool_gate::{Decision, Gate, GateContext, Hardened, clean_environment};

const SECRET: &str = "the-secret-outside";
const EVERYDAY: &str = include_str!("data/everyday.txt");

/// A folder that holds the secret, with the workspace below it.
struct Place {
    base: PathBuf,
}

impl Place {
    fn new(name: &str, dashes: bool) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if base.exists() {
            fs::remove_dir_all(&base).expect("the scratch folder of an earlier run goes away");
        }
        fs::create_dir_all(base.join("home")).expect("a scratch folder");
        let place = Self { base };
        fs::write(place.base.join("secret.rs"), SECRET).expect("a file can be written");
        let work = place.work();
        let outside = place.base.join("secret.rs").into_os_string();
        let outside = outside.as_bytes();
        // Each of these is one path, and the content of its file is harmless.
        let paths: [&[u8]; 15] = [
            &[b"newline\n", outside].concat(),
            &[b" ", outside].concat(),
            &[b"blank ", outside].concat(),
            &[b"blank\t", outside].concat(),
            b"climbs\n../secret.rs",
            b"climbs\n.. ",
            b".. /secret.rs",
            b"deep/ ../secret.rs",
            b"..a/secret.rs",
            b"--files0-from=list.rs",
            b"-flist.rs",
            b"-",
            b"star*/x.rs",
            b"\xff\n../secret.rs",
            b"plain.rs",
        ];
        for path in paths.into_iter().filter(|path| dashes || !path.starts_with(b"-")) {
            let file = work.join(
                OsStr::from_bytes(path)
                    .as_bytes()
                    .strip_prefix(b"/")
                    .map_or(Path::new(OsStr::from_bytes(path)), |rest| Path::new(OsStr::from_bytes(rest))),
            );
            fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder can be made");
            fs::write(file, "TODO foo harmless\n").expect("a file can be written");
        }
        fs::write(work.join("list.rs"), outside).expect("a file can be written");
        let setup = "git init -q . && git config user.name a && git config user.email a && git add -A && git commit -qm a \
                     && for f in *.rs; do echo foo >>\"./$f\"; done";
        place.run(setup, None);
        place
    }

    fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    /// The output of a command.
    fn run(&self, command: &str, hardened: Option<&Hardened>) -> String {
        fs::create_dir_all(self.work()).expect("a scratch folder");
        let text = hardened.and_then(Hardened::shown).unwrap_or(command);
        let mut program = Command::new("timeout");
        program.args(["-s", "KILL", "5", "bash", "--norc", "--noprofile", "-c", text]);
        program.env_clear().envs(clean_environment(&self.base.join("home").to_string_lossy()));
        if let Some(hardened) = hardened {
            program.envs(&*hardened.environment);
        }
        let program = program.current_dir(self.work()).stdin(Stdio::null()).output();
        let output = program.expect("this test needs timeout and bash");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// The output of an allowed command, run as an executor would run it; `None` if the command is a boundary.
    fn judged(&self, command: &str) -> Option<String> {
        let workspace = self.work().to_str().expect("a path of plain text").to_owned();
        let context = GateContext { workspace, ..GateContext::default() };
        let verdict = Gate::new().judge_command(command, &context);
        (verdict.decision == Decision::Allow).then(|| self.run(command, verdict.hardened.as_ref()))
    }
}

/// Commands that use names, and whether the plain form shows the secret in this workspace.
const COMMANDS: &[(&str, bool)] = &[
    ("find . -name '*.rs' | xargs cat", true),
    ("find . -name '*.rs' | xargs -I{} cat {}", true),
    ("find . -type f | while read -r f; do cat \"$f\"; done", true),
    ("cat $(find . -name '*.rs')", true),
    ("cat `find . -name '*.rs'`", true),
    ("for f in $(find . -name '*.rs'); do cat $f; done", true),
    ("f=$(find . -name '*.rs'); cat $f", true),
    ("git ls-files | xargs cat", true),
    ("git ls-files | xargs -I{} cat {}", true),
    ("git ls-files | while read -r f; do cat \"$f\"; done", true),
    ("while read -r f; do cat \"$f\"; done < <(git ls-files)", true),
    ("cat $(git ls-files)", true),
    ("git ls-files -z | xargs -0 cat", false),
    ("git ls-files | tr '\\n' '\\0' | xargs -0 cat", false),
    ("git grep -l foo | xargs cat", true),
    ("git diff --name-only | xargs cat", false),
    ("grep -rl foo . | xargs cat", true),
    ("grep -rn foo . | cut -d: -f1 | sort -u | xargs cat", true),
    ("ls | xargs -I{} cat {}/secret.rs", true),
    ("ls | while read -r f; do cat \"$f/secret.rs\"; done", true),
    ("for d in $(ls -A); do cat $d/secret.rs; done", true),
    ("find . -print0 | xargs -0 cat", false),
    ("find . -print0 | sort -z | xargs -0 cat", false),
    ("find . -exec cat {} +", false),
    ("find . -name '*.rs' | sort | head -50 | xargs cat", true),
    ("find . -name '*.rs' | sed 's|^./||' | xargs cat", true),
    ("cat *.rs", false),
    ("wc -l *", false),
    ("wc -l *.rs", false),
    ("grep -c foo *", false),
    ("ls | xargs wc -l", false),
    ("for f in *; do wc -l \"$f\"; done", false),
    ("for f in *; do cat \"$f\"/secret.rs; done", false),
];

#[test]
fn no_name_leads_an_allowed_command_outside() {
    let place = Place::new("hostile", false);
    let dashes = Place::new("dashes", true);
    let mut allowed = 0;
    for (command, leads_out) in COMMANDS {
        let plain = place.run(command, None).contains(SECRET);
        assert!(plain || !leads_out, "the names are harmless for: {command}");
        let Some(shown) = place.judged(command) else { continue };
        allowed += 1;
        assert!(!shown.contains(SECRET), "{command}");
        assert!(!shown.contains("syntax error"), "{command}: {shown}");
        assert!(!dashes.judged(command).is_some_and(|shown| shown.contains(SECRET)), "{command}");
    }
    assert!(20 < allowed, "only {allowed} are allowed");
    for command in EVERYDAY.lines() {
        let command = command.replace("\\n", "\n").replace("\\t", "\t");
        for place in [&place, &dashes] {
            assert!(!place.judged(&command).is_some_and(|shown| shown.contains(SECRET)), "{command}");
        }
    }
}

/// The filters keep names that are harmless.
#[test]
fn a_listing_without_such_names_stays_whole() {
    let place = Place::new("whole", false);
    for (command, leads_out) in COMMANDS.iter().filter(|(_, leads_out)| *leads_out) {
        if let Some(shown) = place.judged(command) {
            let own = command.contains("/secret.rs") || shown.contains("harmless");
            assert!(own, "{command} {leads_out}: {shown}");
        }
    }
}
