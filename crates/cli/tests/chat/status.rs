//! Holds what the last row of the screen says.

use std::process::Command;

use crate::fixture::{Chat, GHOST, Project, project, project_with_suggestion};
use crate::support::server::{Server, says};

#[test]
fn the_last_row_says_what_the_conversation_is() {
    let project = project().says(0, "It is.");
    let workspace = project.session.workspace();
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").args(arguments).current_dir(&workspace).output().expect("git is there");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=trunk"]);
    let mut chat = project.chat_in("auto-edit", 100, 30);
    chat.wait_for("auto-edit · recording.json · trunk* · ");
    chat.send("/mode yolo\r");
    chat.wait_for("\nyolo · recording.json · trunk* · ");
    let accent = |screen: &vt100::Screen| {
        let (rows, _) = screen.size();
        (0..rows.get()).any(|row| {
            let first = screen.cell(row, 0);
            first.is_some_and(|cell| cell.contents() == "y" && cell.fgcolor() != vt100::Color::Default)
        })
    };
    chat.wait_until("the mode that never asks to be marked", accent);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "first"]);
    git(&["checkout", "--quiet", "-b", "other"]);
    chat.send("begin\r");
    chat.wait_for("It is.");
    chat.wait_for("yolo · recording.json · other* · ");
    // Answers of a recording cost nothing; this is shown as free, not as 0.
    chat.wait_for(" · free · ahead auto");
    chat.send("/background off\r");
    chat.wait_for(" · free · ahead off");
    chat.resize(40, 30);
    chat.wait_until("mode and context alone", |screen| {
        let text = screen.contents();
        text.contains("yolo · ") && !text.contains("other* ·")
    });
    chat.leave();
}

#[test]
fn a_price_that_nobody_knows_is_a_dash_and_the_row_is_as_its_user_wants_it() {
    let server = Server::start(vec![says("It is.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    project.session.write(
        "home/.config/headstart/config.toml",
        "status = [\"cost\", \"mode\"]\nsuggestions = false\n[models.\"openai:m\"]\nfree = false\n",
    );
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 80, 30);
    chat.wait_for("\nplan  ");
    chat.send("begin\r");
    chat.wait_for("\n– · plan  ");
    chat.send("/cost\r");
    chat.wait_for("own turns       1  ");
    chat.wait_until("no price anywhere", |screen| {
        let text = screen.contents();
        text.contains("together") && !text.contains("$0")
    });
    chat.send("/stats\r");
    chat.wait_for("0 offered, 0 taken, 0 s saved");
    chat.leave();
}

#[test]
fn what_was_saved_is_taken_back_with_the_work_as_in_the_statistics() {
    let project = project_with_suggestion().writes(1_500, "tests.txt", "x\n").says(0, "Written.");
    let mut chat = project.chat_with_ghost_in("auto-edit", 80);
    chat.wait_for("ahead ✓ ready");
    chat.take();
    chat.wait_for(" · saved ");
    chat.send("/stats\r");
    chat.wait_for("1 offered, 1 taken, ");
    assert_eq!(chat.count(" 0 s saved"), 0, "{}", chat.contents());
    chat.send("/undo\r");
    chat.wait_for("is taken back");
    chat.wait_until_gone(" · saved ");
    chat.send("/stats\r");
    chat.wait_for(" 0 s saved");
    chat.leave();
}

#[test]
fn a_wide_last_row_says_what_was_spent_today_in_all_projects() {
    let server = Server::start(vec![says("It is."), says("It is, too.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let settings = "status = [\"mode\", \"cost\"]\nsuggestions = false\n[models.\"openai:m\"]\nfree = false\n\
                    [models.\"openai:m\".prices]\ninput = 100\noutput = 100\n";
    project.session.write("home/.config/headstart/config.toml", settings);
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    let turn = format!(r#"{{"type":"turn","at":{now},"model":"n","inputTokens":9,"money":1.5}}"#) + "\n";
    project.session.write("home/.local/state/headstart/ledgers/other-0000000000000000.jsonl", turn);
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 120, 30);
    chat.wait_for("\nplan · today $1.50  ");
    chat.send("begin\r");
    chat.wait_for("It is.");
    chat.wait_until("what this chat cost, and a sum that holds it", |screen| {
        let text = screen.contents();
        text.contains("\nplan · $0.0") && text.contains(" today $1.5") && !text.contains("today $1.50")
    });
    chat.resize(80, 30);
    chat.wait_until("the cost of this chat alone", |screen| {
        screen.contents().contains("\nplan · $0.0") && !screen.contents().contains("today")
    });
    chat.leave();
}

/// The last row of the screen.
fn last_row(chat: &Chat) -> String {
    chat.contents().trim_end().lines().last().unwrap_or_default().to_owned()
}

/// What belongs to a conversation begins anew with `/clear`: its size, its cost and its title. What was spent today and
/// in this chat stays.
#[test]
fn a_conversation_that_begins_anew_has_counts_of_its_own() {
    let long = (0..8_000).map(|number| format!("{number:04} ")).collect::<Vec<_>>().concat();
    let server = Server::start(vec![says(&long), says("It is short.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let settings = "status = [\"mode\", \"context\", \"cost\"]\n[models.\"openai:m\"]\nfree = false\n\
                    [models.\"openai:m\".prices]\ninput = 100\noutput = 100\n";
    project.session.write("home/.config/headstart/config.toml", settings);
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 120, 30);
    chat.wait_for("\nplan · ");
    let begun = last_row(&chat);
    chat.send("begin\r");
    let size_of =
        |row: &str| row.split(" · ").nth(1).map(|size| size.trim_end_matches("? keys").trim().to_owned());
    chat.wait_until("another size, and a cost", |screen| {
        let text = screen.contents();
        let row = text.trim_end().lines().last().unwrap_or_default();
        row.contains("today $") && size_of(row) != size_of(&begun)
    });
    let spent = last_row(&chat);
    let today = spent.split(" today ").nth(1).expect("what was spent").trim_end_matches("   ? keys").trim();
    chat.send("/clear\r");
    chat.wait_for("the conversation is forgotten · suggestions after a tool call or the second answer");
    let size = size_of(&begun).expect("a size");
    chat.wait_for(&format!("\nplan · {size} · today {today} "));
    chat.send("/cost\r");
    chat.wait_for("since /clear                                          nothing");
    chat.wait_for("own turns       1  ");
    chat.send("again\r");
    chat.wait_for("It is short.");
    chat.wait_until("the cost of this conversation", |screen| {
        let text = screen.contents();
        text.lines().any(|row| row.starts_with("plan · ") && row.contains(" · $0.01 today $"))
    });
    let project = leave_for_list(chat);
    let listed = project.session.run(&["sessions", "--json"]).json();
    let [row] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((row["title"].as_str(), row["prompts"].as_u64()), (Some("again"), Some(1)));
}

/// A conversation that was forgotten and in which nothing was said since is not one to go on with.
#[test]
fn nobody_is_told_how_to_go_on_with_nothing() {
    let mut chat = project().says(0, "It is.").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("It is.");
    chat.send("/clear\r");
    chat.wait_for("the conversation is forgotten");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    chat.wait_for("1 turn · free");
    assert_eq!(chat.count("goes on with it"), 0, "{}", chat.contents());
    let listed = chat.project.session.run(&["sessions"]).stdout;
    assert!(listed.contains("  0 prompts  (nothing said since /clear)\n"), "{listed}");
}

fn leave_for_list(mut chat: Chat) -> Project {
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    chat.project
}

const TAKES: &str = "Tab takes it · → edits it";

fn project_with_work() -> Project {
    project_with_suggestion().writes(300, "tests.txt", "tests\n").says(0, "Tests are written.")
}

#[test]
fn the_last_row_says_what_the_keys_of_a_suggestion_do_once_its_work_is_ready() {
    let mut chat = project_with_work().chat_in("auto-edit", 80, 30);
    chat.send("begin\r");
    chat.wait_for("ahead looking");
    chat.wait_for_row(GHOST);
    chat.wait_for("✓ ready");
    chat.wait_for(TAKES);
    // In the middle of what is typed, Right moves the cursor.
    chat.send("add\x02");
    chat.wait_until("Tab alone", |screen| {
        screen.contents().contains("Tab takes it") && !screen.contents().contains("edits it")
    });
    chat.send("\x05\x15");
    chat.wait_for(TAKES);
    // While a list is open, Tab takes what is marked in it.
    chat.send("/");
    chat.wait_for("   ? keys");
    chat.send("\x1b\x7f");
    chat.wait_for(TAKES);
    chat.insert();
    chat.wait_for_row("> add tests");
    chat.wait_for("Enter takes it");
    assert_eq!(chat.count("Tab takes it"), 0, "{}", chat.contents());
    chat.send(" anew");
    chat.wait_until_gone("takes it");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn the_last_row_does_not_say_what_a_key_does_not_do() {
    // Without work, Tab sends the suggestion as any other prompt.
    let chat = project_with_work().variable("HEADSTART_SPECULATE", "off").chat_with_ghost_in("auto-edit", 80);
    chat.settle();
    assert_eq!(chat.count("takes it"), 0, "{}", chat.contents());
    chat.wait_for("   ? keys");
    chat.leave();
    for (settings, ghost, hint) in [
        ("tab = 'insert'\n", GHOST, "   Tab edits it, Tab again takes it"),
        ("[keys]\ntake = ['f2']\nright = ['f3']\n", "> add tests  [F2]", "   F2 takes it · F3 edits it"),
        ("[keys]\ntake = []\n", "> add tests", "   ? keys"),
    ] {
        let project = project_with_work();
        project.session.write("home/.config/headstart/config.toml", settings);
        let mut chat = project.chat_in("auto-edit", 80, 30);
        chat.send("begin\r");
        chat.wait_for("✓ ready");
        chat.wait_for_row(ghost);
        chat.wait_for(hint);
        chat.leave();
    }
    // While a question stands, only its own letters count.
    let mut chat = project_with_work().chat_in("default", 80, 30);
    chat.send("begin\r");
    chat.wait_for(TAKES);
    chat.take();
    chat.wait_for("write this?");
    assert_eq!(chat.count("takes it") + chat.count("   ? keys"), 0, "{}", chat.contents());
    chat.answer_about_changes("y");
    chat.wait_for("   ? keys");
    chat.leave();
    // Where there is room for the mode and the context only, the hint is left out.
    let mut chat = project_with_work().chat_in("auto-edit", 24, 30);
    chat.send("begin\r");
    chat.wait_for("✓ ready");
    chat.wait_for_row(GHOST);
    chat.settle();
    assert_eq!(chat.count("takes it"), 0, "{}", chat.contents());
    chat.leave();
}
