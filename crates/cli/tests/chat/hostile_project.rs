//! A project that somebody only cloned and opened, and that tries all it can: through a chat, a search and the
//! gate.

use serde_json::json;

use crate::fixture::project;
use crate::pty::Pty;
#[cfg(unix)]
use crate::support::hostile::{
    GIT_LOOKS, LOOSENING, SECRET, for_each_plant, for_each_repository_elsewhere, looks, obedient_model,
    run_bounded,
};
use crate::support::server::{Server, says};

const PROJECT_FILE: &str = "project/.headstart/config.toml";
const USER_FILE: &str = "home/.config/headstart/config.toml";

/// The model follows the project's words; what it writes for other programs to run is asked about all the same.
#[test]
fn what_other_programs_would_run_is_asked_about_though_edits_are_not() {
    let mut chat = project()
        .writes(0, "src/fine.txt", "fine\n")
        .writes(0, ".vscode/tasks.json", "{}\n")
        .writes(0, "web/.Claude/settings.json", "{}\n")
        .says(0, "I was not allowed.")
        .chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    for (path, what) in [
        (".vscode/tasks.json", "names programs that an editor starts"),
        ("web/.Claude/settings.json", "tells coding agents what to do, what to run and what to ask"),
    ] {
        chat.wait_for(&format!("{path} {what}"));
        chat.wait_for("run this? [y]es / [n]o / [w]hy not");
        chat.answer("n");
    }
    chat.wait_for("I was not allowed.");
    assert_eq!(chat.read("src/fine.txt").as_deref(), Some("fine\n"));
    assert_eq!((chat.read(".vscode/tasks.json"), chat.read("web/.Claude/settings.json")), (None, None));
    chat.leave();
}

/// A link that has a harmless name leads to such a file.
#[cfg(unix)]
#[test]
fn a_link_to_what_other_programs_run_is_not_written_through() {
    let project = project().writes(0, "notes/todo.md", "{}\n").says(0, "It did not work.");
    project.session.write("project/.vscode/tasks.json", "");
    project.session.write("project/notes/x", "");
    let link = project.session.workspace().join("notes/todo.md");
    std::os::unix::fs::symlink("../.vscode/tasks.json", link).unwrap();
    let mut chat = project.chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    chat.wait_for("It did not work.");
    assert_eq!(chat.read(".vscode/tasks.json").as_deref(), Some(""));
    chat.leave();
}

/// Another model costs something else and may run elsewhere, so its user says whether it is used.
#[test]
fn a_projects_model_is_asked_about_once_and_nobody_is_moved_to_it_in_silence() {
    let server = Server::answering(|_| says("Hello."));
    let project = project().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
    let session = &project.session;
    session.write(USER_FILE, format!("model = 'openai:own'\nbase_url = '{}'\n", server.base_url));
    session.write(PROJECT_FILE, "model = 'openai:theirs'\n");
    let piped = || session.run_with_input(&["chat", "--mode", "default"], "hi\n");
    let asked_for = || server.requests().last().unwrap().json()["model"].clone();

    let outcome = piped();
    assert!(
        outcome.stderr.contains("chooses openai:theirs in place of openai:own. It is not used"),
        "{outcome}"
    );
    assert_eq!(asked_for(), "own");
    for (answer, used) in [("n", "own"), ("y", "theirs")] {
        // Another choice of the project is another question.
        session.write(PROJECT_FILE, format!("model = 'openai:theirs'\nfast_model = 'openai:{answer}'\n"));
        for is_asked in [true, false] {
            let mut chat = Pty::of(&session.command(&["chat", "--mode", "default"]), 160, 40);
            if is_asked {
                chat.wait_for(
                    "This project's .headstart/config.toml chooses openai:theirs in place of openai:own",
                );
                chat.wait_for("Use it here, now and later? [y/N]");
                chat.send(&format!("{answer}\r"));
            }
            chat.wait_for(&format!("headstart: {used} · default"));
            chat.wait_for("? keys");
            chat.send("\x04");
            assert_eq!(chat.exit_code(), 0);
        }
        assert_eq!(piped().code, Some(0));
        assert_eq!(asked_for(), used);
    }
}

/// All of what a server would run and get stands in the question, and each sign of it.
#[cfg(feature = "mcp")]
#[test]
fn a_question_about_a_projects_server_shows_all_that_would_run() {
    let project = project().says(0, "Hello.");
    let text = "[mcp.t]\ncommand = ['bash', '-c', \"true\\n   touch owned\"]\nenv = { LEVEL = \"a\\nb\", TOKEN = 'env:MINE' }\n";
    project.session.write(PROJECT_FILE, text);
    let arguments = project.arguments("default");
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut chat = Pty::of(&project.session.command(&arguments), 100, 40);
    chat.wait_for(
        "  t: bash -c 'true\\n   touch owned'\n  It gets these variables:\n    LEVEL='a\\nb'\n    TOKEN, from your variable MINE\n",
    );
    chat.send("n\r");
    chat.wait_for("? keys");
    assert_eq!(project.read("owned"), None);
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
}

/// What a project may not say is an error that names the field, wherever it is read, and repeats no line of the file.
#[cfg(unix)]
#[test]
fn a_line_that_steers_what_runs_is_an_error_that_repeats_nothing() {
    let project = project().says(0, "Hello.");
    let arguments = project.arguments("default");
    let chat: Vec<_> = arguments.iter().map(String::as_str).collect();
    let session = &project.session;
    let doors: [(&[&str], String); 4] = [
        (&chat, "hi\n".to_owned()),
        (&["search", "one"], String::new()),
        (&["gate"], json!({ "cmd": "ls" }).to_string()),
        (&["tools"], String::new()),
    ];
    // The mode is given on the command line here, and counts before any file.
    for (line, field) in LOOSENING.iter().filter(|(_, field)| *field != "mode") {
        session.write(PROJECT_FILE, line);
        for (arguments, input) in &doors {
            let outcome = session.run_with_input(arguments, input.clone());
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.code == Some(1) && said.contains(field), "{arguments:?}: {outcome}");
            assert!(!said.contains("canary"), "{arguments:?}: {outcome}");
        }
    }
}

/// Links to secrets and what never ends, in the place of each file that is read of a project.
#[cfg(unix)]
#[test]
fn whatever_lies_in_the_place_of_a_file_tells_no_secret_and_hangs_nothing() {
    for_each_plant(|plant, session| {
        let server = obedient_model(looks());
        session.write(USER_FILE, format!("model = 'openai:own'\nbase_url = '{}'\n", server.base_url));
        for (arguments, input) in [
            (&["chat", "--mode", "default"][..], "look around\n"),
            (&["speculate", "--json", "--mode", "default", "look around"], ""),
            (&["search", "one"], ""),
            (&["gate"], "{\"cmd\":\"git status\"}\n"),
            (&["doctor"], ""),
        ] {
            let outcome = run_bounded(session, arguments, input);
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.code.is_some() && !said.contains(SECRET), "{plant}: {outcome}");
            assert!(said.len() < 1 << 20, "{plant}: {arguments:?}: {} bytes", said.len());
        }
        let sent: String = server.requests().into_iter().map(|request| request.body).collect();
        assert!(!sent.contains(SECRET), "{plant}: {sent}");
    });
}

/// A `.git` of the project, or of a folder in it, that leads to a private repository or to files of its user.
#[cfg(unix)]
#[test]
fn a_repository_elsewhere_stays_closed() {
    for_each_repository_elsewhere(|way, session| {
        let commands =
            GIT_LOOKS.iter().chain(&["touch x; git log -p; git -C sub log -p; git status", "cat sub/.git"]);
        let calls = commands.map(|command| ("shell", json!({ "command": command })));
        let server = obedient_model(calls.collect());
        session.write(USER_FILE, format!("model = 'openai:own'\nbase_url = '{}'\n", server.base_url));
        for (arguments, input) in [
            (&["chat", "--mode", "default"][..], "look around\n"),
            (&["speculate", "--json", "--mode", "auto-edit", "look around"], ""),
            (&["search", "the plan"], ""),
            (&["doctor"], ""),
        ] {
            let outcome = run_bounded(session, arguments, input);
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.code.is_some() && !said.contains(SECRET), "{way}: {outcome}");
        }
        let sent: String = server.requests().into_iter().map(|request| request.body).collect();
        assert!(!sent.is_empty() && !sent.contains(SECRET), "{way}: {sent}");
    });
}
