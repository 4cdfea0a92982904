//! Holds that what is closed stays so where git cannot be asked, where files are copied while a command runs, and where a
//! closed name is a link.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::shadow::{events, session, shell};
use crate::support::Session;

const SECRET: &str = "never-to-be-told-4711";

/// A repository with an open file, and a file with a secret that it does not track.
fn repository(script: &str) -> Session {
    let session = session();
    session
        .write("project/.gitignore", "*.env\n.env\n")
        .write("project/a.txt", "open\n")
        .write("project/signal.txt", "wait\n")
        .write("project/tell.sh", script)
        .write("project/.env", format!("KEY={SECRET}\n"));
    session.git(&["init", "-q"]);
    commit(&session, &["a.txt", "signal.txt", "tell.sh", ".gitignore"]);
    session
}

fn commit(session: &Session, files: &[&str]) {
    session.git(&[&["add", "-f"], files].concat());
    session.git(&["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "one"]);
}

/// How work ends that runs a command, and what the model was told.
fn told_of(session: &mut Session, command: &str) -> (String, String) {
    let recording = json!({"turns": [{"toolCalls": [shell(command)]}, {"text": "Done."}]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let finished = outcome.finished();
    let told = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    (finished["status"].as_str().unwrap().to_owned(), format!("{told} {}", finished["boundary"]))
}

fn says_nothing(session: &mut Session, command: &str, why: &str) {
    let (status, told) = told_of(session, command);
    assert!(!told.contains(SECRET) && told.contains(why), "{command}: {status} {told}");
}

fn completes(session: &mut Session, command: &str, says: &str) {
    let (status, told) = told_of(session, command);
    assert!(status == "completed" && told.contains(says), "{command}: {status} {told}");
}

#[test]
fn where_git_cannot_be_asked_no_program_runs_in_a_view() {
    let mut session = repository("sh fix.sh; git show HEAD:.env; cat a.txt");
    completes(&mut session, "sh tell.sh", "open");
    commit(&session, &[".env"]);
    let workspace = session.workspace();
    let at = |path: &str| workspace.join(path);
    let (config, head) = (at(".git/config"), at(".git/HEAD"));
    let (honest, branch) = (std::fs::read(&config).unwrap(), std::fs::read(&head).unwrap());
    std::fs::write(&config, "[core\n").unwrap();
    session.write("project/fix.sh", "printf '[core]\\n\\tbare = false\\n' > .git/config");
    says_nothing(&mut session, "sh tell.sh", "what the repository keeps of files with secrets");
    std::fs::write(&config, &honest).unwrap();
    std::fs::remove_file(&head).unwrap();
    let branch = String::from_utf8(branch).unwrap();
    session.write("project/fix.sh", format!("printf '{}\\n' > .git/HEAD", branch.trim()));
    says_nothing(&mut session, "sh tell.sh", "lacks the file HEAD");
    std::fs::write(&head, branch).unwrap();
    says_nothing(&mut session, "sh tell.sh", "which is closed");
    // An object that is gone hides no other one.
    let object = session.git(&["rev-parse", "HEAD:a.txt"]);
    std::fs::remove_file(at(&format!(".git/objects/{}/{}", &object[..2], object[2..].trim()))).unwrap();
    says_nothing(&mut session, "sh tell.sh", "which is closed");
    completes(&mut session, "touch x; cat a.txt", "open");
}

/// Package managers put repositories among what they fetch, and so may anybody.
#[test]
fn a_repository_among_packages_is_told_to_nobody() {
    let mut session = repository("git -C $1 show HEAD:.env");
    let commit = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "part"];
    session.write("project/node_modules/file/.git", "gitdir: ../../../.git/modules/gone\n");
    session.write("project/node_modules/file/index.js", "");
    completes(&mut session, "touch x; cat a.txt", "open");
    for part in ["node_modules/one", ".venv/src/two", "target/three"] {
        session.write(&format!("project/{part}/.env"), format!("KEY={SECRET}\n"));
        let folder = session.workspace().join(part);
        session.git_at(&folder, &["init", "-q"]);
        completes(&mut session, "touch x; cat a.txt", "open");
        for words in [&["add", "-f", "."][..], &commit] {
            session.git_at(&folder, words);
        }
        std::fs::remove_file(folder.join(".env")).unwrap();
        says_nothing(&mut session, &format!("sh tell.sh {part}"), "which is closed");
        completes(&mut session, "touch x; cat a.txt", "open");
        std::fs::write(folder.join(".git/config"), "[core\n").unwrap();
        says_nothing(&mut session, "touch x; cat a.txt", part);
        let remote = format!("[remote \"origin\"]\n\turl = https://ada:{SECRET}@example.org/x.git\n");
        std::fs::write(folder.join(".git/config"), remote).unwrap();
        says_nothing(&mut session, &format!("touch x; cd {part} && cat .git/c*g"), "which is closed");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Runs a command, and does something as soon as its script runs. The command waits for the word in `signal.txt`.
fn while_it_runs(session: &mut Session, command: &str, act: impl FnOnce() + Send) -> (String, String) {
    let signal = session.workspace().join("signal.txt");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let runs = |process: std::fs::DirEntry| {
                let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                command.ends_with(b"waiting-4712\0")
            };
            while !std::fs::read_dir("/proc").unwrap().flatten().any(runs) {
                std::thread::sleep(Duration::from_millis(10));
            }
            act();
            std::fs::write(signal, "go\n").unwrap();
        });
        told_of(session, command)
    })
}

const WAITS: &str = "until grep -q go signal.txt; do sleep 0.02; done; ";

#[test]
fn what_is_closed_while_a_command_runs_is_told_to_nobody() {
    let act = |workspace: PathBuf, what: &'static str| {
        move || match what {
            "copy" => {
                std::fs::copy(workspace.join(".env"), workspace.join("copies/prod.env")).unwrap();
            }
            _ => std::fs::hard_link(workspace.join(".env"), workspace.join("copies/notes.txt")).unwrap(),
        }
    };
    for (what, command) in
        [("copy", "touch x; sh tell.sh waiting-4712"), ("link", "touch x; sh tell.sh waiting-4712")]
    {
        let mut session = repository(&format!("{WAITS} cat copies/*"));
        session.write("project/copies/open.txt", "open\n");
        let act = act(session.workspace(), what);
        let (status, told) = while_it_runs(&mut session, command, act);
        assert!(!told.contains(SECRET), "{what} {command}: {status} {told}");
        assert!(told.contains("came while the command ran"), "{what} {command}: {status} {told}");
        says_nothing(&mut session, command, "open");
    }
    let mut session = repository(&format!("{WAITS} git show HEAD:.env"));
    let (workspace, state) = (session.workspace(), session.git(&["rev-parse", "HEAD"]));
    let act = move || {
        for words in [
            &["add", "-f", ".env"][..],
            &["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "two"],
        ] {
            let mut git = std::process::Command::new("git");
            let done = git.arg("-C").arg(&workspace).args(words).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    };
    let (status, told) = while_it_runs(&mut session, "touch x; sh tell.sh waiting-4712", act);
    assert_ne!(session.git(&["rev-parse", "HEAD"]), state);
    assert!(status == "boundary" && !told.contains(SECRET), "{status} {told}");
    assert!(told.contains("which is closed"), "{told}");
}

/// The same of a command that the gate has proved to only read, on the real files.
#[test]
fn a_reading_command_does_not_tell_what_is_closed_while_it_runs() {
    let mut session = repository("");
    session.write("project/copies/open.txt", "open\n").write("project/waiting-4712", "");
    let act = {
        let workspace = session.workspace();
        move || {
            std::fs::copy(workspace.join(".env"), workspace.join("copies/prod.env")).unwrap();
        }
    };
    let command = "until grep -q go signal.txt waiting-4712; do sleep 0.05; done; cat copies/*";
    let (status, told) = while_it_runs(&mut session, command, act);
    assert!(told.contains("came while the command ran") && !told.contains(SECRET), "{status} {told}");
}

#[test]
fn the_file_to_which_a_closed_name_leads_is_closed() {
    let mut session = repository("cat shared/*.txt keys/store/*; cat a.txt");
    session
        .write("project/shared/env.txt", format!("KEY={SECRET}\n"))
        .write("project/keys/store/first", format!("{SECRET}\n"));
    std::fs::remove_file(session.workspace().join(".env")).unwrap();
    symlink("other", session.workspace().join(".env")).unwrap();
    symlink("shared/env.txt", session.workspace().join("other")).unwrap();
    symlink("keys/store", session.workspace().join(".ssh")).unwrap();
    for command in [
        "cat shared/env.txt",
        "cat shared/*",
        "grep -r KEY shared",
        "grep -rh never .",
        "cat keys/store/first",
        "touch x; cat shared/env.txt keys/store/first",
        "touch x; sh tell.sh",
        "touch x; cp -r shared keys copy; cat copy/*; cat copy/*/*",
    ] {
        let (status, told) = told_of(&mut session, command);
        assert!(!told.contains(SECRET), "{command}: {status} {told}");
    }
    completes(&mut session, "touch x; sh tell.sh", "open");
    completes(&mut session, "cat a.txt", "open");
    // What leads to the folder that it is in closes nothing but a view.
    symlink(".", session.workspace().join(".envrc")).unwrap();
    says_nothing(&mut session, "touch x; sh tell.sh", "leads to the workspace itself");
    completes(&mut session, "cat a.txt", "open");
}

/// Git keeps what was staged for weeks, and what it knows of conflicts and lost objects under no name of a file.
#[test]
fn what_git_keeps_without_a_name_is_told_to_nobody() {
    let all = "git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | \
               while read -r kind name; do if [ $kind = blob ]; then git cat-file -p $name; fi; done";
    let mut session = repository(all);
    let stage = |session: &Session, file: &str, text: String| {
        session.write(&format!("project/{file}"), text);
        session.git(&["add", "-f", file]);
        session.git(&["reset", "-q", "--", file]);
    };
    stage(&session, "a.txt", "open, and staged once\n".to_owned());
    stage(&session, "settings.sh", "WIDTH=80\nVERSION=1.2.3-beta-4711\n".to_owned());
    completes(&mut session, "touch x; sh tell.sh", "staged once");
    stage(&session, ".env", format!("# mine\nHOST=a\nexport API_KEY=\"{SECRET}\"\n"));
    std::fs::remove_file(session.workspace().join(".env")).unwrap();
    says_nothing(&mut session, "touch x; sh tell.sh", "a file that was staged once");
    completes(&mut session, "touch x; cat a.txt", "open");

    let script = "cat .git/rr-cache/*/preimage .git/lost-found/other/*; cat a.txt";
    let mut session = repository(script);
    for file in ["rr-cache/1f/preimage", "lost-found/other/2e"] {
        session.write(&format!("project/.git/{file}"), format!("KEY={SECRET}\n"));
    }
    for command in [
        "touch x; sh tell.sh",
        "cat .git/rr-cache/*/preimage",
        "cat .git/lost-found/other/2e",
        "grep -rh KEY .git",
        "git status --short; cat .git/rr-cache/1f/*",
    ] {
        says_nothing(&mut session, command, "");
    }
    completes(&mut session, "touch x; sh tell.sh; git add a.txt; git status --short", "open");
}
