//! Holds what the screen shows of a call, from its first letter to its result, and of a question about a call.

use std::time::Duration;

use serde_json::json;

use crate::fixture::{Chat, project};
use crate::support::server::{ScriptedResponse, Server, StreamStep, calls, says};

#[test]
fn a_command_that_runs_shows_its_last_rows_and_its_seconds() {
    let mut chat = project()
        .shell(0, "printf 'one\\ntwo\\nthree\\nfour\\nfive\\n10 %%\\r90 %%'; while [ ! -e go ]; do sleep 0.05; done; echo; exit 3")
        .says(0, "It failed.")
        .chat("yolo");
    chat.send("begin\r");
    chat.wait_for("\n  three\n  four\n  five\n  90 %\nworking (Ctrl-C interrupts)\n>");
    assert_eq!(chat.count("two\n"), 0, "{}", chat.contents());
    for second in ["1 s", "2 s", "3 s"] {
        chat.wait_until(second, |screen| {
            let rows = screen.rows(0, 72).collect::<Vec<_>>();
            rows.iter().any(|row| row.starts_with("● shell") && row.trim_end().ends_with(second))
        });
    }
    chat.project.session.write("project/go", "");
    chat.wait_for("exit 3 · ");
    chat.wait_for("\n  one\n  two\n  three\n  four\n  five\n  90 %\nIt failed.");
    chat.wait_until_gone("●");
    chat.leave();
}

/// What a command had printed stays on the screen when its user interrupts it, and the model reads it with the next
/// prompt. Only the end of a long output is known then.
#[test]
fn what_an_interrupted_command_had_printed_is_not_lost() {
    let whole = "\n  1\n  2\n  … 10 more lines (Ctrl-T)\n  13\n  14\n  15\n  16\n  17\n  18\n  19\n  20\n";
    let cases = [
        ("\x1b", 20, whole, "1\n2\n3\n"),
        (
            "\x03",
            5_000,
            "\n  [… what it printed before is left out …]\n",
            "[… what it printed before is left out …]\n",
        ),
    ];
    for (key, last, shown, told) in cases {
        let command = format!("seq 1 {last}; sleep 60");
        let server =
            Server::start(vec![calls(&[("shell", json!({ "command": command }))]), says("I go on.")]);
        let project = project().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
        let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "yolo"];
        let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 80, 40);
        chat.send("begin\r");
        chat.wait_for(&format!("\n  {last}\nworking"));
        chat.send(key);
        chat.wait_for(&format!("– shell {command}  interrupted"));
        chat.wait_for(shown);
        // The prompt has an answer by now, so it is not called back.
        chat.wait_for(&format!("\n  {last}\ninterrupted\n>"));
        chat.wait_for_row(">");
        chat.wait_for_processes(1);
        chat.send("go on\r");
        chat.wait_for("I go on.");
        let request = server.requests()[1].json();
        let messages = request["messages"].as_array().expect("messages");
        let roles: Vec<_> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles[roles.len() - 4..], ["user", "assistant", "tool", "user"]);
        let result = messages[messages.len() - 2]["content"].as_str().unwrap_or_default();
        let (printed, end) = result.rsplit_once('\n').unwrap_or_default();
        assert!(printed.starts_with(told) && printed.ends_with(&format!("\n{last}")), "{result}");
        let is_told = end.starts_with("[interrupted by the user after ");
        assert!(is_told && end.ends_with("; what it did until then stays]"), "{result}");
        chat.leave();
    }
}

#[test]
fn nothing_moves_for_whoever_wants_it_so() {
    let waits = "while [ ! -e go ]; do sleep 0.05; done";
    let project = project().shell(0, waits).says(0, "It went.");
    project.session.write("home/.config/headstart/config.toml", "animations = false\n");
    let mut chat = project.chat("yolo");
    for (prompt, row) in
        [("begin\r", "● shell while"), ("!while [ ! -e gone ]; do sleep 0.05; done\r", "● ! while")]
    {
        chat.send(prompt);
        chat.wait_until("a row without seconds", |screen| {
            screen.rows(0, 72).any(|shown| shown.starts_with(row) && shown.trim_end().ends_with("  …"))
        });
    }
    chat.settle();
    let written = chat.written().len();
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(chat.written().len(), written, "{}", chat.contents());
    chat.project.session.write("project/go", "");
    chat.wait_for("It went.");
    chat.project.session.write("project/gone", "");
    // How long it took is said once it has ended, because that changes no more.
    chat.wait_until("how long the command took", |screen| {
        screen.rows(0, 72).any(|row| row.starts_with("✓ ! while") && row.trim_end().ends_with(" s"))
    });
    chat.leave();
}

#[test]
fn files_that_are_read_one_after_the_other_are_one_line() {
    let read = |name: &str| ("read_file", json!({ "file_path": name }));
    let names: Vec<String> = (1..=44).map(|number| format!("{number}.txt")).collect();
    let many: Vec<_> = names.iter().map(|name| read(name)).collect();
    let project = project()
        .turn(0, "", &[read("a.txt"), read("b.txt"), read("c.txt"), read("a.txt"), read("notes.txt")])
        .turn(0, "", &[read("d.txt")])
        .turn(0, "", &many)
        .turn(0, "", &[read("gone.txt"), ("grep", json!({ "pattern": "one" }))])
        .says(0, "All is read.");
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"].into_iter().chain(names.iter().map(String::as_str)) {
        project.session.write(&format!("project/{name}"), "x\n");
    }
    let mut chat = project.chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("> begin\n✓ read a.txt, b.txt, c.txt  +46\n✗ read gone.txt\n  ");
    chat.wait_for("✓ grep one  1 in 1 file\nAll is read.");
    chat.wait_until("one line of reads", |screen| screen.contents().matches("✓ read").count() == 1);
    chat.leave();
}

/// The most memory that a process has had, in megabytes.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux counts it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[cfg(target_os = "linux")]
#[test]
fn of_an_output_of_100_mb_only_the_beginning_and_the_end_are_kept() {
    // The last line is not part of the command's text.
    let print = |bytes: u64| format!("echo first; yes | head -c {bytes}; echo $(({bytes} + 1))");
    let mut chat = project()
        .shell(0, &print(1_000_000))
        .says(0, "A little.")
        .shell(0, &print(100_000_000))
        .says(0, "A lot.")
        .chat("yolo");
    // The program itself is in memory once the same was done with less.
    chat.send("begin\r");
    chat.wait_for("A little.");
    chat.send(&format!("!{}\r", print(1_000_000)));
    chat.wait_for("\n  1000001\n");
    let before = peak_memory(chat.process_id());
    chat.send("go on\r");
    chat.wait_for("\n  first\n  y\n  … ");
    chat.wait_for("\n  100000001\n  [the output was cut");
    chat.wait_for("A lot.");
    chat.send(&format!("!{}\r", print(100_000_000)));
    chat.wait_for("  y\n  y\n  100000001\n");
    let more = peak_memory(chat.process_id()) - before;
    assert!(more < 30, "{more} MB more than for a hundredth of it");
    chat.leave();
}

#[test]
fn a_sub_task_is_one_line_with_what_its_calls_came_to() {
    let mut chat = project()
        .calls(0, "task", json!({ "title": "tidy the notes", "prompt": "make it two, @notes.txt" }))
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
        .shell(0, "while [ ! -e go ]; do sleep 0.05; done; sh -c true")
        .says(0, "It is two, and nobody sees this.")
        .says(0, "All done.")
        .chat("default");
    chat.send("begin\r");
    chat.wait_for("run this?\n[y]es / [a]lways edits in the top folder");
    chat.answer("y");
    chat.wait_for("command: while");
    chat.answer("y");
    chat.wait_for("● task: tidy the notes");
    chat.wait_for("\n  1 read, 1 edit\n  running while ");
    chat.project.session.write("project/go", "");
    chat.wait_for("✓ task: tidy the notes  1 read, 1 edit, 1 command; edited notes.txt");
    chat.wait_for("\nAll done.");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\n"));
    assert_eq!(chat.count("nobody sees"), 0, "{}", chat.contents());
    chat.leave();
}

#[test]
fn a_yes_for_the_session_is_what_was_shown_and_can_be_taken_back() {
    let mut chat = project()
        .shell(0, "make all")
        .shell(0, "make 'all'")
        .shell(0, "make all; touch made.txt")
        .says(0, "Made.")
        .shell(0, "make all")
        .says(0, "Made anew.")
        .chat_in("default", 100, 40);
    chat.send("begin\r");
    chat.wait_for("run this? [y]es / [a]lways `make all` this session / [n]o / [w]hy not");
    chat.answer("a");
    chat.wait_for("  always: `make all`, until this session ends; /permissions lists it\n");
    // The second call was not asked about. The third one is, because the rule covers only half of it.
    chat.wait_for("command: make all; touch made.txt\n");
    chat.wait_for("run this? [y]es / [n]o / [w]hy not");
    assert_eq!(chat.count("wants to run"), 2);
    chat.answer("n");
    chat.wait_for("Made.");
    assert_eq!(chat.read("made.txt"), None);
    chat.send("/permissions\r");
    chat.wait_for("1  `make all`\n");
    chat.send("/permissions 1\r");
    chat.wait_for("`make all`: you are asked again");
    chat.send("/permissions 1\r");
    chat.wait_for("there is no line 1 in the list of /permissions");
    chat.send("go on\r");
    chat.wait_for("[a]lways `make all`");
    chat.answer("n");
    chat.wait_for("Made anew.");
    chat.leave();
}

#[test]
fn a_long_command_is_read_from_its_first_line_before_it_is_asked_about_and_told_in_short_after() {
    let lines = (1..=40).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let command = format!("cat > made.txt <<EOF\n{lines}EOF");
    let mut chat = project().shell(0, &command).says(0, "It is made.").chat_in("default", 80, 24);
    chat.send("begin\r");
    chat.wait_for("shell wants to run\n  command: cat > made.txt <<EOF\n    line 1\n");
    chat.wait_for("what is asked about · 23/44 · q leaves");
    // In the reader, no letter answers the question.
    chat.settle();
    chat.send("y");
    chat.settle();
    assert_eq!(chat.read("made.txt"), None);
    chat.send("q");
    chat.wait_for("    EOF\n  writes to \"made.txt\"\nrun this?");
    chat.answer("y");
    chat.wait_for("✓ shell cat > made.txt <<EOF\n  … 41 more lines of the command (Ctrl-T)\nIt is made.");
    assert_eq!(chat.read("made.txt"), Some(lines));
    chat.send("\x14");
    chat.wait_for("    line 40\n    EOF\n");
    chat.send("q");
    chat.wait_for_row(">");
    chat.leave();
}

#[test]
fn why_not_is_told_to_the_model_and_esc_leads_back_to_the_question() {
    let mut chat = project().shell(0, "touch made.txt").says(0, "I see.").chat("default");
    chat.send("begin\r");
    chat.answer("w");
    chat.wait_for("why not? Enter tells the model, Esc goes back to the question\n>");
    chat.send("wrong na");
    chat.wait_for_row("> wrong na");
    chat.send("\x1b");
    chat.wait_for("run this?");
    chat.answer("w");
    chat.send("use another name\r");
    chat.wait_for("  no: use another name\n– shell touch made.txt\nI see.");
    assert_eq!(chat.read("made.txt"), None);
    // What the model reads of the no is part of the conversation that is kept.
    chat.leave_keeping(|session| {
        let state = session.home().join(".local/state/headstart/sessions");
        let folder = std::fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
        let kept: String = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok())
            .collect();
        assert!(kept.contains("the user declined this call, and says: use another name"), "{kept}");
    });
}

/// A piece of a call's arguments, as a provider streams it.
fn argument_piece(name: Option<&str>, letters: &str) -> StreamStep {
    let function = match name {
        Some(name) => json!({ "name": name, "arguments": letters }),
        None => json!({ "arguments": letters }),
    };
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
    let delta = json!({ "tool_calls": [call] });
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{ "index": 0, "delta": delta }] });
    StreamStep::Data(chunk.to_string())
}

#[test]
fn a_call_shows_while_the_model_writes_it() {
    let args = json!({ "file_path": "long.txt", "content": "x".repeat(400) }).to_string();
    let mut steps = vec![argument_piece(Some("write_file"), "")];
    for letter in args.chars() {
        steps.push(argument_piece(None, &letter.to_string()));
        steps.push(StreamStep::Wait(Duration::from_millis(8)));
    }
    let finish = json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    steps.push(StreamStep::Data(finish.to_string()));
    steps.push(StreamStep::Data("[DONE]".to_owned()));
    let server = Server::start(vec![ScriptedResponse::Stream(steps), says("Written.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "auto-edit"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.send("begin\r");
    chat.wait_for("○ write long.txt\nworking (Ctrl-C interrupts)\n>");
    assert_eq!(chat.read("long.txt"), None);
    chat.wait_for("✓ write long.txt  +1\n    1 + xxx");
    chat.wait_for("Written.");
    chat.leave();
}

#[test]
fn a_command_of_the_users_own_runs_unasked_and_the_model_is_told_with_the_next_prompt() {
    let server = Server::start(vec![says("I see it."), says("Once more.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.send("!echo seen; touch mine.txt; exit 3\r");
    chat.wait_for("✗ ! echo seen; touch mine.txt; exit 3  exit 3\n  seen\n>");
    assert_eq!(chat.read("mine.txt").as_deref(), Some(""));
    chat.send("!!echo hush\r");
    chat.wait_for("✓ ! echo hush\n  hush\n>");
    chat.send("!sleep 60\r");
    chat.wait_for("● ! sleep 60");
    chat.wait_for_command("sleep 60");
    chat.send("\x03");
    chat.wait_for("– ! sleep 60  interrupted");
    chat.send("!echo begun; exec sleep 61\r");
    chat.wait_for("● ! echo begun; exec sleep 61");
    chat.wait_for("\n  begun\n");
    chat.send("\x03");
    chat.wait_for("– ! echo begun; exec sleep 61  interrupted");
    chat.wait_for_processes(1);
    // What it had printed stays, here and in the whole conversation, which holds commands that were ended, too.
    assert_eq!(chat.count("\n  begun\n"), 1, "{}", chat.contents());
    chat.send("\x14");
    chat.wait_for("– ! sleep 60  interrupted");
    chat.wait_for("– ! echo begun; exec sleep 61  interrupted");
    chat.wait_for("\n  begun\n");
    chat.send("q");
    chat.send("what now?\r");
    chat.wait_for("I see it.");
    // The turn ends shortly after its last text.
    chat.settle();
    chat.send("/retry\r");
    chat.wait_for("> what now?\nOnce more.");
    let asked = |number: usize| server.requests()[number].json()["messages"].to_string();
    let first = asked(0);
    assert!(first.contains("the user ran `echo seen; touch mine.txt; exit 3` in a terminal here"), "{first}");
    assert!(
        first.contains("seen\\n[exit code 3]") && first.contains("began to run, and ended, `sleep 60`"),
        "{first}"
    );
    assert!(
        first.contains("It had printed nothing.")
            && first.contains("sleep 61` in a terminal here. What it printed:\\nbegun"),
        "{first}"
    );
    assert!(!first.contains("hush"), "{first}");
    assert_eq!(asked(1).matches("the user ran").count(), 1, "it is told once");
    chat.leave();
}

#[test]
fn a_prompt_may_begin_with_a_path_or_with_two_slashes() {
    let mut chat = project().says(0, "It is.").says(0, "A slash.").chat("auto-edit");
    chat.send("/usr/bin is empty?\r");
    chat.wait_for("> /usr/bin is empty?\nIt is.");
    chat.send("//help me\r");
    chat.wait_for("> /help me\nA slash.");
    chat.send("/helpme\r");
    chat.wait_for("there is no command /helpme; the nearest is /help, and /help lists all");
    chat.leave();
}
