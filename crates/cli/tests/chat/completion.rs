//! Holds what is proposed while a `/` or an `@` is typed.

use crate::fixture::{Chat, GHOST, project, project_with_suggestion};
use crate::support::server::{Server, says};

#[test]
fn a_slash_lists_the_commands_and_tab_takes_the_marked_one() {
    let mut chat = project().says(0, "It is.").chat_in("plan", 80, 30);
    chat.send("/");
    chat.wait_for("> /\n> /help              the commands and keys\n  /diff");
    chat.send("md");
    chat.wait_for("> /md\n> /mode [MODE]   what may run: plan, chat (no tools)");
    chat.send("\t");
    chat.wait_for("\n> plan\n  chat\n  default\n  auto-edit\n  yolo");
    chat.send("a\t");
    chat.wait_for_row("> /mode auto-edit");
    chat.send("\r");
    chat.wait_for("the mode is auto-edit from now on");
    chat.send("/qui");
    chat.wait_for("> /qui\n> /quit");
    // Esc closes only the list, and Enter sends what is typed.
    chat.send("\x1b");
    chat.wait_until_gone("leave (also");
    chat.send("\r");
    chat.wait_for("there is no command /qui; the nearest is /quit, and /help lists all");
    chat.send("/usr/bin is empty?");
    chat.wait_for_row("> /usr/bin is empty?");
    assert_eq!(chat.count("the commands and keys"), 0, "{}", chat.contents());
    chat.send("\r");
    chat.wait_for("It is.");
    chat.send("/q\x1b[B\r");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn among_very_many_files_a_key_waits_for_the_list_that_fits_what_is_typed() {
    let project = project().says(0, "Never.");
    for number in 0..10_100 {
        project.session.write(&format!("project/many/{:03}/{number:05}.txt", number / 100), "");
    }
    let mut chat = project.chat_in("plan", 80, 30);
    // The last name is not among those that are listed for a part of it.
    for (keys, chosen) in [("10099\t", "> @many/100/10099.txt"), ("1009\x1b[B\t", "> @many/100/10091.txt")] {
        chat.send("@");
        chat.wait_for("@many/\n");
        chat.send(keys);
        chat.wait_for_row(chosen);
        chat.empty_the_prompt();
    }
    chat.leave();
}

#[test]
fn an_at_lists_files_folders_and_rules_and_what_is_chosen_is_told() {
    let server = Server::start(vec![says("I see it.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    for (path, text) in [
        ("src/my parser.rs", "fn parse() {}\n"),
        ("src/lib.rs", "\n"),
        (".env", "KEY=hidden\n"),
        ("target/out.txt", "built\n"),
        (".gitignore", "target/\n"),
        (".headstart/rules/style.md", "Use tabs.\n"),
    ] {
        project.session.write(&format!("project/{path}"), text);
    }
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 80, 30);
    chat.send("see @");
    chat.wait_for("> see @\n> @diff");
    chat.wait_for("@rule:style  a rule of the project");
    chat.wait_for("@src/\n");
    assert_eq!(chat.count(".env") + chat.count("out.txt"), 0, "{}", chat.contents());
    chat.send("mypa");
    chat.wait_for("> see @mypa\n> @\"src/my parser.rs\"");
    chat.send("\t");
    chat.wait_for_row("> see @\"src/my parser.rs\"");
    chat.send("and @src");
    chat.wait_for("and @src\n> @src/\n");
    // After a folder, the list goes on with what is in it.
    chat.send("\t");
    chat.wait_for("@src/lib.rs");
    chat.send("\x17this\r");
    chat.wait_for("I see it.");
    let request_body = server.requests()[0].json()["messages"].to_string();
    assert!(
        request_body.contains("fn parse() {}") && request_body.contains("src/my parser.rs"),
        "{request_body}"
    );
    assert!(!request_body.contains("KEY=hidden"), "{request_body}");
    chat.leave();
}

#[test]
fn a_question_mark_alone_lists_the_keys_and_takes_nothing_from_what_is_suggested() {
    let mut chat = project_with_suggestion().says(60_000, "never").chat_with_ghost("auto-edit");
    chat.send("?");
    chat.wait_for("> ?\n> Tab        takes the suggestion and what ran ahead for it\n  Right ");
    chat.wait_for("\n  Ctrl-O ");
    // Tab chooses none of the listed keys; the list goes and the suggestion is shown again.
    chat.send("\t");
    chat.wait_for_row(GHOST);
    // If more follows the `?`, it is the beginning of a prompt.
    chat.send("?!");
    chat.wait_for_row("> ?!");
    assert_eq!(chat.count("takes the suggestion"), 0, "{}", chat.contents());
    chat.send("\x15?\r");
    chat.wait_for("`headstart keys` lists all keys");
    chat.leave();
}

#[test]
fn a_file_that_is_dropped_on_the_terminal_is_mentioned_where_it_may_be() {
    let project = project().says(0, "never");
    for path in ["my shot.png", ".env", "lib.rs"] {
        project.session.write(&format!("project/{path}"), "one\n");
    }
    project.session.write("home/elsewhere.txt", "one\n");
    let (workspace, home) = (project.session.workspace(), project.session.home());
    let mut chat = project.chat_in("plan", 80, 30);
    let paste = |path: &std::path::Path| {
        let text = path.display().to_string().replace(' ', "\\ ");
        format!("\x1b[200~{text}\x1b[201~")
    };
    chat.send("see ");
    chat.send(&paste(&workspace.join("my shot.png")));
    chat.send(&paste(&workspace.join("lib.rs")));
    chat.wait_for("> see @\"my shot.png\" @lib.rs");
    // The path of a file that is closed to the model, or outside the project, stays as it was pasted.
    for path in [workspace.join(".env"), home.join("elsewhere.txt")] {
        chat.send("\x15");
        chat.send(&paste(&path));
        let name = path.file_name().expect("works because it was joined").to_string_lossy().into_owned();
        chat.wait_for(&name);
        assert_eq!(chat.count("@"), 0, "{}", chat.contents());
    }
    // A command that the user runs gets the path itself.
    chat.send("\x15!cat ");
    chat.send(&paste(&workspace.join("lib.rs")));
    chat.wait_for("lib.rs");
    assert_eq!(chat.count("@"), 0, "{}", chat.contents());
    chat.empty_the_prompt();
    chat.leave();
}
