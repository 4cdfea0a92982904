//! Holds that work ahead is not told what git keeps of closed files: neither by git's own commands nor by a program
//! that asks git.

use serde_json::json;

use crate::shadow::{events, session, shell};
use crate::support::Session;

const SECRET: &str = "never-to-be-told-4711";

/// A program of the project, of which the gate knows nothing. It asks git, and reads what git reads, without a word about
/// it on the command line.
const PROGRAM: &str = r#"case $1 in
docs) git log -p --all; git archive HEAD ;;
env) git show HEAD:.env ;;
value) git show HEAD:.env | cut -d= -f2 | sed 's/^/it is /' ;;
copy) git show HEAD:.env > notes.txt ;;
wrapped) git show HEAD:.env | sed 's/^/beside /' | base64 ;;
digits) git show HEAD:.env | od -An -tx1 | tr -d ' \n' ;;
field) git show HEAD:credentials.json | grep -o 'token[^,]*' | cut -d'"' -f3 ;;
long) git show HEAD:.bash_history | tail -1 ;;
part) git -C parts/two show HEAD:.env ;;
bare) git -C parts/three.git show HEAD:.env ;;
gone) git --git-dir=.git/modules/parts/gone --work-tree=. show HEAD:.env ;;
remotes) cat parts/one/.git/config; git -C parts/one remote -v; grep -rh url .git/modules ;;
honest) git log -1 --format=%s; cat a.txt ;;
esac
"#;

/// A repository whose first commit holds closed files, and one below a deny rule that its last commit removed.
fn repository(deny: &str) -> Session {
    let session = session();
    session
        .write("home/.config/headstart/config.toml", format!("deny = {deny}\n"))
        .write("project/tell.sh", PROGRAM)
        .write("project/a.txt", "open\n")
        .write("project/.env", format!("KEY={SECRET}\n"))
        .write(
            "project/credentials.json",
            format!("{{\"user\":\"ada\",\"token\":\"{SECRET}\",\"on\":true}}\n"),
        )
        .write("project/.bash_history", format!("{}deploy --token {SECRET}\n", "ls -la src\n".repeat(40_000)))
        .write("project/private/plan.txt", format!("{SECRET}\n"));
    session.git(&["init", "-q"]);
    commit(&session, "first");
    session.git(&["rm", "-rq", "--cached", "private"]);
    commit(&session, "second");
    session
}

fn commit(session: &Session, message: &str) {
    session.git(&["add", "-f", "a.txt", ".env", "credentials.json", ".bash_history", "tell.sh"]);
    if message == "first" {
        session.git(&["add", "-f", "private"]);
    }
    session.git(&["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", message]);
}

/// How work ends that runs a command, and whether the model was told the secret.
fn end_of(session: &mut Session, command: &str) -> (String, bool) {
    let recording = json!({"turns": [{"toolCalls": [shell(command)]}, {"text": "Done."}]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let told = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    (outcome.finished()["status"].as_str().unwrap().to_owned(), told.contains(SECRET))
}

#[test]
fn nothing_runs_over_a_repository_that_keeps_what_a_rule_covers() {
    let mut session = repository("['private/']");
    for command in [
        "sh tell.sh docs",
        "touch x; git show HEAD~1:private/plan.txt",
        "git log -p -2",
        "git show HEAD~1",
        "git format-patch --stdout --root HEAD",
        "sh -c 'git stash show -p; git cat-file -p HEAD~1:private/plan.txt'",
        "echo HEAD~1:private/plan.txt | git cat-file --batch",
    ] {
        assert_eq!(end_of(&mut session, command), ("boundary".to_owned(), false), "{command}");
    }
    // Without such a rule, and over a repository that keeps nothing of it, commands run.
    let mut session = repository("['elsewhere/']");
    for command in ["touch x; git status --short", "git add a.txt; git log -1 --format=%s"] {
        assert_eq!(end_of(&mut session, command).0, "completed", "{command}");
    }
}

/// Git keeps a commit for weeks after the last name of it is gone, and a program can find it.
#[test]
fn a_commit_that_nothing_names_any_more_counts_as_kept() {
    let mut session = session();
    session
        .write("home/.config/headstart/config.toml", "deny = ['/private/']\n")
        .write("project/a.txt", "open\n")
        .write("project/tell.sh", "git cat-file -p \"$1:$2\"\n");
    session.git(&["init", "-q"]);
    let commit = |session: &Session, files: &[&str]| {
        session.git(&[&["add", "-f"], files].concat());
        session.git(&["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "one"]);
    };
    commit(&session, &["a.txt", "tell.sh"]);
    let honest = "touch x; git log -1 --format=%s";
    session.write("project/.env", format!("KEY={SECRET}\n"));
    commit(&session, &[".env"]);
    let dropped = session.git(&["rev-parse", "HEAD"]);
    let forget = |session: &Session| {
        session.git(&["reset", "-q", "--soft", "HEAD~1"]);
        session.git(&["reset", "-q"]);
        session.git(&["reflog", "expire", "--expire=now", "--all"]);
    };
    forget(&session);
    let tell = format!("touch x; sh tell.sh {} .env", dropped.trim());
    assert_eq!(end_of(&mut session, &tell), ("boundary".to_owned(), false), "a secret by its name");
    assert_eq!(end_of(&mut session, honest).0, "completed");
    // A commit that was given up leaves a tree.
    session.write("project/deep/.env", format!("KEY={SECRET}2\n"));
    session.git(&["add", "-f", "deep"]);
    let tree = session.git(&["write-tree"]);
    session.git(&["reset", "-q"]);
    let tell = format!("touch x; sh tell.sh {} deep/.env", tree.trim());
    assert_eq!(end_of(&mut session, &tell), ("boundary".to_owned(), false), "a secret in a tree");
    assert_eq!(end_of(&mut session, honest).0, "completed");
    session.write("project/private/deep/plan.txt", format!("{SECRET}\n"));
    session.git(&["add", "-f", "private"]);
    session.git(&["write-tree"]);
    session.git(&["reset", "-q"]);
    assert_eq!(
        end_of(&mut session, honest),
        ("boundary".to_owned(), false),
        "a tree with what a rule covers"
    );
    session.git(&["prune", "--expire=now"]);
    assert_eq!(end_of(&mut session, honest).0, "completed");
    commit(&session, &["private"]);
    forget(&session);
    assert_eq!(end_of(&mut session, honest), ("boundary".to_owned(), false), "what a rule covers");
}

#[test]
fn no_program_unpacks_what_git_keeps_and_a_rule_covers() {
    let mut session = repository("['/private/']");
    let object = session.git(&["rev-parse", "HEAD~1:private/plan.txt"]);
    let object = format!("{}/{}", &object[..2], object[2..].trim());
    session.git(&["clone", "-q", "--bare", ".", "copy"]);
    session.git(&["-C", "copy", "gc", "-q"]);
    let unpack = |file: &str| {
        let header = r"printf '\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03'";
        format!("{{ {header}; tail -c +3 {file}; }} | gzip -dc")
    };
    for command in [
        unpack(&format!(".git/objects/{object}")),
        unpack(&format!("./.git/../.git/obj*/{object}")),
        "base64 copy/objects/pack/*".to_owned(),
        "git log --oneline; base64 copy/objects/pack/*.pack".to_owned(),
        "find .git -type f -exec base64 {} +".to_owned(),
        "git diff --no-index --text a.txt copy/objects/pack".to_owned(),
    ] {
        let (status, is_told) = end_of(&mut session, &command);
        assert_eq!((status.as_str(), is_told), ("boundary", false), "{command}");
    }
    // A text does not show that a repository lies in this folder. The kernel closes what is kept there.
    let recording = json!({"turns": [
        {"toolCalls": [shell("find copy -type f -exec base64 {} \\;")]}, {"text": "Done."},
    ]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let told = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    assert!(told.contains("Permission denied") && told.contains("cmVmOiByZWZz"), "{told}");
    let pack = std::fs::read_dir(session.workspace().join("copy/objects/pack")).unwrap();
    let pack = pack
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "pack"));
    let beginning = std::fs::read(pack.unwrap()).unwrap();
    assert_eq!(&beginning[..4], b"PACK");
    assert!(!told.contains("UEFDS"), "{told}");
}

/// A clone brings links, and the text of a command does not show where one leads.
#[test]
fn no_link_leads_a_command_to_what_a_rule_covers() {
    let mut session = repository("['/private/']");
    let at = |path: &str| session.workspace().join(path);
    std::os::unix::fs::symlink("private/plan.txt", at("to-file")).unwrap();
    std::os::unix::fs::symlink("private", at("to-folder")).unwrap();
    std::fs::create_dir(at("node_modules")).unwrap();
    std::os::unix::fs::symlink("../private/plan.txt", at("node_modules/link")).unwrap();
    std::fs::hard_link(at("private/plan.txt"), at("same.txt")).unwrap();
    for command in [
        "cat to-file",
        "cat to-folder/plan.txt",
        "head -1 to-folder/*",
        "cat same.txt",
        "cat node_modules/link",
        "git status --short; cat to-file",
    ] {
        let ran = session.run(&["run", "--read-only", "--", command]);
        assert!(!ran.to_string().contains(SECRET), "{command}: {ran}");
        assert!(!end_of(&mut session, command).1, "{command}");
    }
    // Git needs its own folder, so a link that leads there ends a command that starts git beside other programs.
    let object = session.git(&["rev-parse", "HEAD~1:private/plan.txt"]);
    let read = format!("git log --oneline; base64 kept/{}/{}", &object[..2], object[2..].trim());
    std::os::unix::fs::symlink(".git/objects", session.workspace().join("kept")).unwrap();
    let ran = session.run(&["run", "--", &read]);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("the link") && ran.code != Some(0), "{ran}");
    std::fs::remove_file(session.workspace().join("kept")).unwrap();
    let ran = session.run(&["run", "--", "cat a.txt; git status --short -- a.txt"]);
    assert!(ran.stdout == "open\n" && ran.code == Some(0), "{ran}");
}

#[test]
fn git_hands_out_no_secret_that_was_committed() {
    let mut session = repository("[]");
    for command in [
        "git archive HEAD",
        "git format-patch --stdout --root HEAD",
        "git fast-export HEAD",
        "git bundle create x.bundle --all",
        "sh -c 'git show HEAD:.env'",
        "git grep KEY HEAD -- '.e*'",
        "git blame .env",
    ] {
        assert_eq!(end_of(&mut session, command), ("boundary".to_owned(), false), "{command}");
    }
}

#[test]
fn a_token_in_the_address_of_a_remote_is_not_told() {
    let mut session = repository("[]");
    session.git(&["remote", "add", "origin", "https://ada:never-to-be-told-4711@example.org/x.git"]);
    for command in [
        "git remote -v",
        "git config -l",
        "touch x; cat .git/config",
        "touch x; git remote -v",
        "grep -r url .git",
    ] {
        let (status, told) = end_of(&mut session, command);
        // To the model, a read that is refused is an error that says what to do instead.
        assert!(!told && (status == "boundary" || !command.starts_with("touch")), "{command}: {status}");
    }
    session.git(&["remote", "set-url", "origin", "https://example.org/x.git"]);
    // A helper of git keeps passwords in a file beside, and an editor a copy of the settings.
    for file in [".git/credentials", ".git/config~"] {
        let url = if file.ends_with('~') { "[remote \"origin\"]\n\turl = " } else { "" };
        session.write(&format!("project/{file}"), format!("{url}https://ada:{SECRET}@example.org/x.git\n"));
        let of_name = format!("cat .git/{}*", &file[5..9]);
        for command in [
            of_name.clone(),
            "grep -rh ada .git".to_owned(),
            format!("touch x; {of_name}"),
            "touch x; python3 -c \"import glob; [print(open(f).read()) for f in glob.glob('.git/c*')]\""
                .to_owned(),
        ] {
            assert!(!end_of(&mut session, &command).1, "{command}: {file}");
        }
        std::fs::remove_file(session.workspace().join(file)).unwrap();
    }
    assert_eq!(end_of(&mut session, "git status --short; git log -1 --format=%s").0, "completed");
    session.git(&["remote", "set-url", "origin", "https://example.org/x.git"]);
    for command in ["git remote -v", "touch x; git remote -v"] {
        assert_eq!(end_of(&mut session, command).0, "completed", "{command}");
    }
}

#[test]
fn another_name_of_a_closed_file_is_closed() {
    let mut session = repository("[]");
    let at = |path: &str| session.workspace().join(path);
    std::fs::hard_link(at(".env"), at("notes.txt")).unwrap();
    for command in ["cat notes.txt", "touch x; cat notes.txt", "grep -r KEY .", "sh tell.sh; cat n*"] {
        assert!(!end_of(&mut session, command).1, "{command}");
    }
}

#[test]
fn a_program_that_asks_git_for_a_file_with_a_secret_tells_nobody() {
    let mut session = repository("[]");
    for command in [
        "sh tell.sh env",
        "sh tell.sh value",
        "sh tell.sh copy",
        "sh tell.sh wrapped",
        "sh tell.sh digits",
        "sh tell.sh field",
        "sh tell.sh long",
        "sh -c 'git cat-file -p HEAD:.env | rev | rev'",
    ] {
        assert_eq!(end_of(&mut session, command), ("boundary".to_owned(), false), "{command}");
    }
    assert_eq!(end_of(&mut session, "sh tell.sh honest"), ("completed".to_owned(), false));
    // What stands in an open file as well is no secret.
    session.write("project/compose.yml", format!("environment:\n  KEY={SECRET}\n"));
    session.git(&["add", "compose.yml"]);
    commit(&session, "third");
    assert_eq!(end_of(&mut session, "sh tell.sh env"), ("completed".to_owned(), true));
}

/// The same of a repository below the workspace's own, whose files the workspace's one does not know.
#[test]
fn what_a_repository_below_keeps_is_told_to_nobody() {
    let mut session = repository("['elsewhere/', 'parts/two/private/']");
    session.write("project/parts/two/.env", format!("KEY={SECRET}\n")).write("project/parts/two/x", "");
    let part = session.workspace().join("parts/two");
    for words in [
        &["init", "-q"][..],
        &["add", "-f", "."],
        &["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "part"],
    ] {
        session.git_at(&part, words);
    }
    assert_eq!(end_of(&mut session, "sh tell.sh honest"), ("completed".to_owned(), false));
    session.git(&["clone", "-q", "--bare", "parts/two", "parts/three.git"]);
    for command in ["sh tell.sh part", "sh tell.sh bare"] {
        assert_eq!(end_of(&mut session, command), ("boundary".to_owned(), false), "{command}");
    }
    session.write("project/parts/two/private/plan.txt", "plan");
    session.git_at(&part, &["add", "."]);
    assert_eq!(
        end_of(&mut session, "sh tell.sh honest"),
        ("boundary".to_owned(), false),
        "a deny rule covers it"
    );
}

/// Git keeps the objects of a submodule whose files are gone.
#[test]
fn what_is_kept_of_a_submodule_that_is_gone_is_told_to_nobody() {
    let mut session = repository("['elsewhere/', 'parts/gone/private/']");
    session.write("project/parts/gone/.env", format!("KEY={SECRET}\n")).write("project/parts/gone/x", "");
    let (part, modules) =
        (session.workspace().join("parts/gone"), session.workspace().join(".git/modules/parts"));
    let commit = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "part"];
    let all = ["add", "-f", "."];
    for words in [&["init", "-q"][..], &all, &commit, &["config", "core.worktree", "../../../../parts/gone"]]
    {
        session.git_at(&part, words);
    }
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::rename(part.join(".git"), modules.join("gone")).unwrap();
    std::fs::remove_dir_all(&part).unwrap();
    assert_eq!(end_of(&mut session, "sh tell.sh honest"), ("completed".to_owned(), false));
    assert_eq!(end_of(&mut session, "sh tell.sh gone"), ("boundary".to_owned(), false));

    std::fs::create_dir_all(part.join("private")).unwrap();
    std::fs::write(part.join(".git"), "gitdir: ../../.git/modules/parts/gone\n").unwrap();
    session.write("project/parts/gone/private/plan.txt", "plan");
    for words in [&all[..], &commit] {
        session.git_at(&part, words);
    }
    std::fs::remove_dir_all(&part).unwrap();
    assert_eq!(
        end_of(&mut session, "sh tell.sh honest"),
        ("boundary".to_owned(), false),
        "a deny rule covers it"
    );
}

#[test]
fn a_token_of_a_submodule_or_of_a_repository_below_is_not_told() {
    let mut session = repository("[]");
    let remote = format!("https://ada:{SECRET}@example.org/one.git");
    session.write("project/parts/one/x", "");
    let part = session.workspace().join("parts/one");
    session.git_at(&part, &["init", "-q"]);
    session.git_at(&part, &["remote", "add", "origin", &remote]);
    for command in [
        "sh tell.sh remotes",
        "touch x; grep -r url parts",
        "grep -r url parts",
        "cat parts/one/.git/config",
        "git -C parts/one remote -v",
        "cd parts/one && git config -l",
    ] {
        assert!(!end_of(&mut session, command).1, "{command}");
    }
    // The same repository as that of a submodule.
    let modules = session.workspace().join(".git/modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::rename(part.join(".git"), modules.join("one")).unwrap();
    std::fs::write(part.join(".git"), "gitdir: ../../.git/modules/one\n").unwrap();
    for command in [
        "sh tell.sh remotes",
        "touch x; cat .git/modules/one/config",
        "cat .git/modules/one/config",
        "grep -r url .git/modules",
        "grep -rh url .",
        "git -C parts/one remote -v",
        "cd parts/one && git config -l",
    ] {
        assert!(!end_of(&mut session, command).1, "{command}");
    }
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4\n\
    -----END PRIVATE KEY-----\n";
/// A check of the project's that reads each of its certificates, and says how many it has read.
const CHECK: &str = "read=0; for file in server.key tests/certs/*.key; do if [ -s $file ]; then read=$((read+1)); fi; done; echo read $read";

/// A repository whose tests have a key of their own, besides one that is no test's.
fn with_test_keys() -> Session {
    let session = session();
    session
        .write("project/check.sh", CHECK)
        .write("project/a.txt", "open\n")
        .write("project/server.key", KEY.replace('7', "8"))
        .write("project/tests/certs/server.key", KEY);
    session.git(&["init", "-q"]);
    session.git(&["add", "-f", "."]);
    session.git(&["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "first"]);
    session
}

/// What a command printed that the model was told; the reason where it stopped.
fn told_of(session: &mut Session, command: &str) -> String {
    let recording = json!({"turns": [{"toolCalls": [shell(command)]}, {"text": "Done."}]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let finished = outcome.finished();
    let told = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    format!("{}: {told} {}", finished["status"].as_str().unwrap(), finished["boundary"])
}

#[test]
fn a_projects_own_test_finds_the_test_keys_that_git_keeps() {
    let mut session = with_test_keys();
    let told = told_of(&mut session, "sh check.sh");
    assert!(
        told.starts_with("completed") && told.contains("read 1"),
        "not the one outside of the tests: {told}"
    );
    let own = session.run(&["shadow", "run", "--", "sh", "check.sh"]);
    assert_eq!(own.stdout, "read 1\n", "{own}");
    let changed = session.run(&["shadow", "run", "--", "git", "status", "--porcelain"]);
    assert_eq!(changed.stdout, "", "{changed}");
}

#[test]
fn what_a_command_tells_of_a_test_key_is_withheld() {
    let mut session = with_test_keys();
    // What a command names itself is told by the gate, so these name nothing.
    for script in [
        "cat tests/certs/server.key",
        "tail -n 3 tests/certs/server.key | head -n 1 | sed s/^/x/",
        "cp tests/certs/server.key copy.txt",
        "tr -d '\\n' < tests/certs/server.key",
    ] {
        session.write("project/tell.sh", script);
        let told = told_of(&mut session, "sh tell.sh");
        assert!(told.starts_with("boundary") && told.contains("which is closed"), "{script}: {told}");
        assert!(!told.contains("MIIEvQ") && !told.contains("VJTUt9"), "{script}: {told}");
    }
    // Changed by a command, it is as closed as before.
    session.write("project/tell.sh", "echo x >> tests/certs/server.key");
    let told = told_of(&mut session, "sh tell.sh");
    assert!(told.starts_with("boundary") && told.contains("secret_path"), "{told}");
}

#[test]
fn a_key_among_the_tests_that_git_does_not_keep_stays_hidden() {
    let mut session = with_test_keys();
    // Put there, and not tracked; a link to one that is no test's; and one that is not as it was committed.
    session.write("project/tests/certs/mine.key", KEY.replace('7', "9"));
    std::os::unix::fs::symlink("../../server.key", session.workspace().join("tests/certs/link.key")).unwrap();
    assert!(told_of(&mut session, "sh check.sh").contains("read 1"));
    session.write("project/tests/certs/server.key", KEY.replace('7', "3"));
    assert!(told_of(&mut session, "sh check.sh").contains("read 0"));
    session.write("project/tests/certs/server.key", KEY);
    assert!(told_of(&mut session, "sh check.sh").contains("read 1"));
    // A rule of the user's covers it, or it is shown to whoever has the network.
    session.write("home/.config/headstart/config.toml", "deny = ['tests/certs/']\n");
    assert!(!told_of(&mut session, "sh check.sh").contains("read 1"));
}

#[test]
fn a_key_that_changes_while_a_command_can_read_it_is_told_to_nobody() {
    let mut session = with_test_keys();
    let file = session.workspace().join("tests/certs/server.key");
    let script =
        "until grep -q of-the-users tests/certs/server.key; do sleep 0.02; done; rev tests/certs/server.key";
    session.write("project/slow-4711.sh", script);
    let user = std::thread::spawn(move || {
        let runs = |process: std::fs::DirEntry| {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            command == b"sh\0slow-4711.sh\0"
        };
        while !std::fs::read_dir("/proc").unwrap().flatten().any(runs) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::fs::write(file, "a-secret-of-the-users-4711\n").unwrap();
    });
    let told = told_of(&mut session, "sh slow-4711.sh");
    user.join().unwrap();
    assert!(told.starts_with("boundary") && told.contains("changed while"), "{told}");
    assert!(!told.contains("1174-sresu"), "{told}");
}
