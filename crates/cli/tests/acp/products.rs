//! Runs clients of other projects, which `.ci/install hosts` installs next to the build, and compares messages with the
//! protocol's own schema.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{User, stories};
use crate::client::check_messages_with;
use crate::support::{installed, neovim};

/// The schema of version 1 of the protocol, from its npm package.
fn schema() -> Value {
    let file = installed("@agentclientprotocol/sdk/schema/v1/schema.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// A program of another project, run in the folder of the user's project.
fn program(user: &User, file: PathBuf) -> Command {
    // The program's environment is only that of the user's session.
    let given = user.session.command(&[]);
    let mut program = Command::new(file);
    program.env_clear().envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    program.current_dir(user.session.workspace()).stdin(Stdio::null());
    program
}

fn node(user: &User) -> Command {
    program(user, installed("node/bin/node"))
}

/// A user whose work ahead writes a file.
fn user() -> User {
    User::with_suggestion().writes("tests.txt", "a test\n").says("Tests are there.")
}

#[test]
#[ignore = "needs the protocol's npm package; .ci/long installs it"]
fn the_protocols_own_client_has_a_session() {
    let user = user();
    let model = user.model();
    let modules = installed("node").parent().unwrap().to_owned();
    let workspace = user.session.workspace().canonicalize().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/sdk.mjs");
    let mut client = node(&user);
    client.arg(script).args([&modules, &workspace]).arg(env!("CARGO_BIN_EXE_headstart"));
    let output = client.args(["acp", "--model", &model]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(user.read("tests.txt"), None, "it is taken back");
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(20 < lines.lines().count(), "{lines}");
    for line in lines.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        assert!(schema.is_valid(&message), "{line}");
    }
}

#[test]
#[ignore = "needs acpx; .ci/long installs it"]
fn acpx_has_a_prompt_answered() {
    let user = User::new().writes("made.txt", "made\n").says("It is made.");
    let agent = format!("{} acp --model {}", env!("CARGO_BIN_EXE_headstart"), user.model());
    let mut client = node(&user);
    client.arg(installed(".bin/acpx")).args(["--agent", &agent, "--approve-all", "exec", "make it"]);
    let output = client.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("It is made.") && said.contains("[done] end_turn"), "{output:?}");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

/// Runs the example client of the protocol's own crate, which says yes to every question.
#[test]
#[ignore = "needs an example of the crate agent-client-protocol; .ci/long installs it"]
fn the_client_of_the_protocols_crate_has_a_prompt_answered() {
    let user = User::new().writes("made.txt", "made\n").says("It is made.");
    let agent = format!("{} acp --model {}", env!("CARGO_BIN_EXE_headstart"), user.model());
    let mut client = program(&user, installed("../rust/bin/yolo_one_shot_client"));
    let output = client.args(["--command", &agent, "make it"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let [updates, remarks] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    assert!(updates.contains("It is made."), "{output:?}");
    assert_eq!(remarks.matches("Auto-approving permission request").count(), 1, "{output:?}");
    assert!(remarks.contains("Stop reason: EndTurn"), "{output:?}");
    assert_eq!(user.read("made.txt").unwrap(), "made\n");
}

#[test]
#[ignore = "needs Neovim and two plugins; .ci/long installs them"]
fn a_plugin_in_neovim_asks_writes_and_takes_what_ran_ahead() {
    let user = User::new()
        .writes("first.txt", "1\n")
        .writes("second.txt", "2\n")
        .says("Understood.")
        .suggests("write the third")
        .writes("third.txt", "3\n")
        .says("The third is written.");
    let model = user.model();
    let (editor, plugins) = neovim();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/neovim.lua");
    let mut nvim = program(&user, editor);
    nvim.args(["--clean", "--headless", "-l", script]).arg(plugins).arg(env!("CARGO_BIN_EXE_headstart"));
    let output = nvim.args(["acp", "--model", &model]).output().unwrap();
    // Neovim writes its own messages to both streams as well, so both are searched for the line with the result.
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    let told: Value = serde_json::from_str(line).unwrap();
    // Of two calls in a turn, one was allowed and one refused; about the work that ran ahead there is one question.
    assert_eq!(told["questions"], json!([2, 1]), "{told}");
    assert_eq!(told["suggestion"], "write the third · ready, 1 file");
    assert!(told["chat"].as_str().unwrap().contains("The third is written."), "{told}");
    let written = ["first.txt", "second.txt", "third.txt"].map(|file| user.read(file));
    assert_eq!(written, [Some("1\n".to_owned()), None, Some("3\n".to_owned())]);
}

/// A message that is valid in the whole schema may be of any kind, so each is also compared with the part that its
/// method names.
#[test]
#[ignore = "needs the protocol's npm package; .ci/long installs it"]
fn every_message_of_the_stories_is_one_of_the_protocol() {
    let whole = schema();
    let of = |name: &str| {
        let part = json!({ "$schema": whole["$schema"], "$ref": format!("#/$defs/{name}"), "$defs": whole["$defs"] });
        jsonschema::validator_for(&part).unwrap()
    };
    let (all, update, question, error) = (
        jsonschema::validator_for(&whole).unwrap(),
        of("SessionNotification"),
        of("RequestPermissionRequest"),
        of("Error"),
    );
    let kinds = [("session/update", update), ("session/request_permission", question)];
    check_messages_with(Box::new(move |message| {
        let mut parts = kinds.iter().filter(|(method, _)| message["method"] == *method);
        let is_part = parts.all(|(_, part)| part.is_valid(&message["params"]));
        let is_error = message.get("error").is_none_or(|found| error.is_valid(found));
        all.is_valid(message) && is_part && is_error
    }));
    // Tests of this program that run later are compared as well.
    stories::a_prompt_is_answered();
    stories::the_tokens_of_a_session_are_told_with_each_answer();
    stories::an_edit_shows_both_sides();
    stories::always_counts_until_the_session_ends();
    stories::other_words_and_a_cancel_take_the_suggestion_back();
    stories::the_diff_of_what_ran_ahead_is_shown_before_it_is_taken();
    stories::what_is_off_suggests_nothing();
    stories::tools_servers_and_a_summary_are_asked_for_by_commands();
    stories::every_candidate_is_told_in_its_order();
    stories::every_tool_that_edits_shows_its_file_and_both_sides();
    stories::a_call_waits_for_its_user();
    stories::a_prompt_is_cancelled_in_the_middle_of_a_call();
    stories::a_suggestion_is_taken_by_its_words_and_by_the_command();
    stories::a_mode_that_asks_is_asked_once_for_all_of_it();
    stories::a_conflict_is_answered_by_the_user();
    stories::an_undo_takes_the_last_turn_back();
    super::bad_input::every_bad_line_has_its_error_and_the_next_line_its_answer();
    super::sessions::a_session_is_listed_loaded_resumed_forked_closed_and_deleted();
    super::sessions::modes_are_set_in_both_ways();
    super::sessions::another_model_answers_once_it_is_chosen();
    super::sessions::without_a_model_its_user_is_told_what_to_do();
    super::sessions::the_check_of_the_registry_finds_a_way_to_log_in();
    super::sessions::servers_of_the_editor_are_tools_of_the_session();
}
