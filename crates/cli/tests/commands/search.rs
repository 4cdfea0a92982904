use std::process::Command;

use serde_json::Value;

use crate::support::Session;

fn project() -> Session {
    let session = Session::new();
    session
        .write(
            "project/src/auth.rs",
            "/// Checks a password.\npub fn check_login(name: &str) -> bool {\n    true\n}\n",
        )
        .write("project/src/cart.rs", "pub fn total() -> u64 {\n    0\n}\n")
        .write("project/.env", "PASSWORD=check_login\n")
        .write("project/target/debug/auth.rs", "check_login\n")
        .write("project/notes.md", "# Notes\n\nThe login is in auth.\n");
    session
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn database(session: &Session) -> std::path::PathBuf {
    let folder = session.home().join(".local/state/headstart/index");
    let entries = std::fs::read_dir(folder).expect("the folder of indexes");
    let mut files = entries.map_while(Result::ok).map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "sqlite")).expect("an index")
}

#[test]
fn a_name_is_found_where_it_is_defined() {
    let session = project();
    let outcome = session.run(&["search", "where is check_login defined?"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(
        outcome.stdout.starts_with("src/auth.rs:2  check_login\n     2  pub fn check_login"),
        "{outcome}"
    );
    // Files that contain secrets by their name, and files that a compiler wrote, are not found.
    assert!(!outcome.stdout.contains(".env") && !outcome.stdout.contains("target"), "{outcome}");
}

#[test]
fn a_program_reads_one_place_a_line() {
    let session = project();
    let outcome = session.run(&["search", "check password", "--json"]);
    let lines = lines(&outcome.stdout);
    assert_eq!(lines[0]["path"], "src/auth.rs");
    assert_eq!(lines[0]["lines"], serde_json::json!([1, 4]));
    assert_eq!(lines[0]["symbol"], "check_login");
    assert!(lines[0]["why"].as_array().unwrap().iter().any(|why| why["term"] == "password"), "{outcome}");
    let scores: Vec<f64> = lines.iter().map(|line| line["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    let limited = session.run(&["search", "login", "--limit", "1", "--path", "src", "--json"]);
    assert_eq!(limited.stdout.lines().count(), 1, "{limited}");
}

/// A person gets what editors open, a model the code of a sure place with its numbers, and a script an exit code.
#[test]
fn an_answer_is_what_its_reader_wants() {
    let session = project();
    let long = "    let filler = some_thing_else();\n".repeat(300);
    session.write("project/src/long.rs", format!("/// Is long.\nfn long_one() {{\n{long}}}\n"));
    let code = session.run(&["search", "check_login", "--code"]);
    let expected = "src/auth.rs:2-4 check_login\n1: /// Checks a password.\n2: pub fn check_login(name: &str) -> bool {\n\
                    3:     true\n4: }\n";
    assert_eq!((code.code, code.stdout.as_str()), (Some(0), expected), "{code}");
    let long = session.run(&["search", "long_one", "--code"]).stdout;
    assert!(long.starts_with("src/long.rs:2-303 long_one\n1: /// Is long.\n2: fn long_one() {\n"), "{long}");
    assert!(long.len() < 2_000 && long.ends_with(" lines]\n"), "{long}");
    let person = session.run(&["search", "is a password checked?"]).stdout;
    assert!(person.starts_with("src/auth.rs:2  check_login\n"), "{person}");

    for flags in [&[][..], &["--json"], &["--code"]] {
        let nothing = session.run(&[&["search", "zzzzqqqq"][..], flags].concat());
        assert_eq!(nothing.code, Some(1), "{nothing}");
        assert!(!nothing.stderr.contains("error"), "{nothing}");
    }
    for path in ["nowhere", "src/nowhere.rs", ".env"] {
        let refused = session.run(&["search", "login", "--path", path]);
        refused.assert_refused(2, &["--path: the project has nothing at", path]);
    }
}

#[test]
fn an_edit_is_found_by_the_next_search() {
    let session = project();
    session.run(&["search", "cart"]);
    session.write("project/src/cart.rs", "pub fn retry_payment() {}\n");
    std::fs::remove_file(session.workspace().join("notes.md")).unwrap();
    assert!(session.run(&["search", "retry_payment"]).stdout.starts_with("src/cart.rs:1  retry_payment\n"));
    assert!(!session.run(&["search", "login notes"]).stdout.contains("notes.md"));
    let status = session.run(&["index", "status", "--json"]);
    assert_eq!(lines(&status.stdout)[0]["files"], 2, "{status}");
}

#[test]
fn past_commits_name_files_that_lack_the_word() {
    let session = project();
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(session.workspace())
            .env("HOME", session.home())
            .output();
        assert!(status.expect("git is needed for this test").status.success(), "git {arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "src/cart.rs"]);
    git(&["commit", "-q", "-m", "Round halfpennies up"]);
    assert!(session.run(&["search", "halfpennies"]).stdout.starts_with("src/cart.rs"));
    session.write("home/.config/headstart/config.toml", "[code-index]\nhistory = false\n");
    session.run(&["index", "rebuild"]);
    assert_eq!(session.run(&["search", "halfpennies"]).stdout, "");
}

#[test]
fn the_home_folder_is_only_indexed_where_it_is_named() {
    let session = Session::with_project();
    let home = session.workspace().display().to_string();
    let session = session.variable("HOME", &home);
    for arguments in [&["index"][..], &["index", "rebuild"]] {
        let refused = session.run(arguments);
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(
            refused.stderr.contains("your home folder") && refused.stderr.contains("--workspace"),
            "{refused}"
        );
    }
    assert_eq!(session.run(&["index", "--workspace", &home]).code, Some(0));
    let deeper = session.variable("HOME", &format!("{home}/src"));
    deeper.run(&["index"]).assert_refused(1, &["is above your home folder"]);
}

#[test]
fn a_damaged_index_is_made_anew_and_a_clean_one_is_empty() {
    let session = project();
    session.run(&["index"]);
    std::fs::write(database(&session), "no database").unwrap();
    let outcome = session.run(&["search", "password"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stderr.contains("is damaged; it is made anew"), "{outcome}");
    assert!(outcome.stdout.starts_with("src/auth.rs"), "{outcome}");
    let cleaned = session.run(&["index", "clear", "--json"]);
    assert_eq!(lines(&cleaned.stdout)[0]["files"], 0, "{cleaned}");
}

#[test]
fn what_a_file_says_of_the_index_counts_and_mistakes_are_named() {
    let session = project();
    let user = "home/.config/headstart/config.toml";
    let cases = [
        ("[code-index]\nmax_bytes = 3\n", "config.toml:2: code-index.max_bytes: must be at least 1048576"),
        ("[code-index]\nhistory = 1\n", "config.toml:2: "),
        ("[code-index]\nembedding = true\n", "config.toml:2: unknown field `embedding`"),
        ("[code-index]\nenabled = false\n", "the index is off"),
    ];
    for (text, words) in cases {
        session.write(user, text);
        let outcome = session.run(&["search", "login"]);
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert!(outcome.stderr.contains(words), "{outcome}");
    }
    // The configuration of a project cannot turn anything on.
    session.write("project/.headstart/config.toml", "[code-index]\nenabled = true\n");
    let outcome = session.run(&["search", "login"]);
    assert!(outcome.stderr.contains("code-index.enabled: a project can only turn this off"), "{outcome}");
}

#[test]
fn a_paused_index_says_so_until_it_is_resumed() {
    let session = project();
    session.run(&["index"]);
    let paused = |action: &str| lines(&session.run(&["index", action, "--json"]).stdout)[0]["paused"].clone();
    assert_eq!((paused("pause"), paused("status"), paused("clear")), (true.into(), true.into(), true.into()));
    let shown = session.run(&["index", "status"]);
    assert!(
        shown.stdout.starts_with("0 files in 0 chunks") && shown.stdout.ends_with(" (paused)\n"),
        "{shown}"
    );
    // A user who searches explicitly still gets an answer.
    assert!(session.run(&["search", "password"]).stdout.starts_with("src/auth.rs"));
    assert_eq!((paused("resume"), paused("status")), (false.into(), false.into()));
}

#[test]
fn a_hostile_project_starts_no_program_and_breaks_no_search() {
    let session = project();
    let marker = session.home().join("ran");
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    session.write("project/evil", script);
    let evil = session.workspace().join("evil");
    std::fs::set_permissions(&evil, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"]);
        git.args(arguments).current_dir(session.workspace()).env("HOME", session.home());
        assert!(git.output().expect("git is needed for this test").status.success(), "git {arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "src"]);
    git(&["commit", "-q", "-m", "Round halfpennies up"]);
    let program = evil.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("core.sshCommand", program),
        ("core.hooksPath", session.workspace().to_str().unwrap()),
        ("gpg.program", program),
        ("log.showSignature", "true"),
        ("diff.external", program),
        ("diff.evil.textconv", program),
        ("filter.evil.smudge", program),
    ] {
        git(&["config", key, value]);
    }
    session.write("project/.gitattributes", "* diff=evil filter=evil\n");
    session.write("project/long.rs", "needle ".repeat(1_500_000));
    session.write("project/lines.rs", "needle".repeat(30_000));
    for name in ["a \"b\" OR c.rs", "new\nline.rs", "'; DROP TABLE file; --.rs", "col:NEAR(a b).rs"] {
        session.write(&format!("project/{name}"), "fn needle() {}\n");
    }
    std::os::unix::fs::symlink(".", session.workspace().join("circle")).unwrap();
    std::os::unix::fs::symlink("/etc", session.workspace().join("outside")).unwrap();
    for query in [
        "needle",
        "\"",
        "needle AND",
        "* NEAR(needle)",
        "'; DROP TABLE file; --",
        "in circle needle",
        "\u{1b}[31m",
    ] {
        let outcome = session.run(&["search", query, "--json"]);
        assert_eq!(outcome.code, Some(i32::from(outcome.stdout.is_empty())), "{outcome}");
        assert!(!outcome.stdout.contains("outside/") && !outcome.stdout.contains("circle/"), "{outcome}");
    }
    let needles = session.run(&["search", "needle", "--json"]);
    assert_eq!(lines(&needles.stdout).len(), 4, "{needles}");
    assert!(session.run(&["search", "halfpennies"]).stdout.starts_with("src/"));
    // For a person, each place has a line of its own, whatever its name is.
    let needles = session.run(&["search", "needle"]).stdout;
    assert_eq!(needles.lines().filter(|line| !line.starts_with(' ')).count(), 4, "{needles}");
    assert!(!marker.exists(), "the project had a program of its own run");
}

#[test]
fn an_index_that_another_process_holds_still_answers() {
    let session = project();
    session.run(&["index"]);
    let other = rusqlite::Connection::open(database(&session)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE held (x)").unwrap();
    session.write("project/src/late.rs", "pub fn late() {}\n");
    let outcome = session.run(&["search", "where is check_login defined?"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.starts_with("src/auth.rs:2  check_login"), "{outcome}");
    assert!(outcome.stderr.contains("another process is writing the index"), "{outcome}");
    drop(other);
    let outcome = session.run(&["search", "late"]);
    assert!(outcome.stdout.starts_with("src/late.rs") && outcome.stderr.is_empty(), "{outcome}");
}

#[test]
fn clones_that_lack_something_are_searched_and_nothing_is_fetched() {
    let git = |session: &Session, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"]);
        git.args(["-c", "protocol.file.allow=always"]).args(arguments);
        git.current_dir(session.workspace()).env("HOME", session.home()).env_remove("GIT_NO_LAZY_FETCH");
        let done = git.output().expect("git is needed for this test");
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    // A shallow clone knows only the last subject. A partial clone knows all of them, although it has no old content.
    for (how, known) in
        [("--depth=1", ["farthings"].as_slice()), ("--filter=blob:none", &["farthings", "halfpennies"])]
    {
        let session = Session::new();
        session.write("project/origin/cart.rs", "pub fn total() {}\n");
        git(&session, &["init", "-q", "origin"]);
        git(&session, &["-C", "origin", "config", "uploadpack.allowFilter", "true"]);
        for subject in ["Round halfpennies up", "Round farthings up"] {
            session.write("project/origin/cart.rs", format!("pub fn total() {{}} // {}\n", subject.len()));
            git(&session, &["-C", "origin", "add", "."]);
            git(&session, &["-C", "origin", "commit", "-q", "-m", subject]);
        }
        let origin = format!("file://{}", session.workspace().join("origin").display());
        git(&session, &["clone", "-q", how, &origin, "clone"]);
        // From now on a fetch would fail, because the origin is gone.
        std::fs::rename(session.workspace().join("origin"), session.home().join("gone")).unwrap();
        let search = |query: &str| session.run(&["search", query, "--workspace", "clone"]);
        assert!(search("total").stdout.starts_with("cart.rs:1  total"), "{how}: {}", search("total"));
        for word in ["farthings", "halfpennies"] {
            let outcome = search(word);
            assert_eq!(outcome.stdout.starts_with("cart.rs"), known.contains(&word), "{how}: {outcome}");
            assert_eq!(
                (outcome.code, outcome.stderr.contains("error")),
                (Some(i32::from(!known.contains(&word))), false),
                "{how}: {outcome}"
            );
        }
    }
}

#[test]
#[ignore = "twenty thousand files: for the long checks"]
fn twenty_thousand_files_are_indexed_bit_by_bit() {
    let session = project();
    for folder in 0..20 {
        for file in 0..1_000 {
            session.write(
                &format!("project/many/{folder}/{file}.rs"),
                format!("fn needle_{folder}_{file}() {{}}\n"),
            );
        }
    }
    let first = session.run(&["search", "needle_7_7"]);
    assert_eq!(first.code, Some(0), "{first}");
    for _ in 0..100 {
        let outcome = session.run(&["search", "needle_7_7", "--limit", "1"]);
        if !outcome.stderr.contains("indexed") {
            assert!(outcome.stdout.starts_with("many/7/7.rs:1  "), "{outcome}");
            return;
        }
    }
    panic!("the index came to no end");
}
