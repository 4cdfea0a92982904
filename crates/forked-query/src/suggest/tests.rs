use std::sync::Arc;

use futures::executor::block_on;

use super::*;
use crate::testing::{Script, call, message, result, text, tools};
use crate::{FinishReason, ModelEvent};

fn history() -> Vec<Message> {
    vec![
        message(Role::User, [text("add a function")]),
        message(Role::Model, [call("1")]),
        message(Role::Tool, [result("1")]),
        message(Role::Model, [text("It is there.")]),
    ]
}

fn params(entries: usize) -> CacheSafeParams {
    CacheSafeParams::new(Some("Be brief.".into()), tools(), &history()[..entries], "main")
}

#[expect(clippy::result_large_err, reason = "it is what the function under test returns")]
fn ask(script: &Arc<Script>, entries: usize, guards: Guards) -> Result<Generated, Suppressed> {
    let background = BackgroundModel::main(Arc::clone(script) as Arc<_>, "main");
    block_on(generate_suggestion(&background, &params(entries), guards))
}

#[test]
fn answers_and_what_becomes_of_them() {
    let cases = [
        (r#"{"suggestion":"run the tests"}"#, Ok("run the tests")),
        ("```json\n{\"suggestion\": \"  commit this \"}\n```", Ok("commit this")),
        (r#""push it""#, Ok("push it")),
        ("run the tests", Ok("run the tests")),
        (r#"{"suggestion":""}"#, Err("empty")),
        (r#"{"suggestion":"  \n"}"#, Err("empty")),
        (r#"{"suggestion":null}"#, Err("empty")),
        (r#"{"guess":"run the tests"}"#, Err("empty")),
        (r#"{"suggestion":["run the tests"]}"#, Err("empty")),
        (r#"{"suggestion":"run the"#, Err("empty")),
        ("[]", Err("empty")),
        ("null", Err("empty")),
        ("", Err("empty")),
        (
            r#"{"guesses":[{"text":"run the tests","chance":60,"kind":"trade","sign":"","also":[]}]}"#,
            Ok("run the tests"),
        ),
        (r#"{"guesses":[]}"#, Err("empty")),
        (r#"{"suggestion":"thanks, looks good to me"}"#, Err("evaluative")),
        ("Let me run the tests", Err("ai_voice")),
        // What small models say.
        ("The user of this coding session types next.", Err("echo")),
        ("Look in this order", Err("echo")),
        (r#"{"guesses":[{"text":"the plan that the user has given","chance":50}]}"#, Err("echo")),
        ("add a function", Err("echo")),
        ("Add a function.", Err("echo")),
    ];
    for (answer, expected) in cases {
        let script = Script::saying(answer);
        let found = ask(&script, 4, Guards::default());
        let (found, usage) = match &found {
            Ok(generated) => (Ok(generated.suggestions.best().as_str()), generated.usage),
            Err(suppressed) => (Err(suppressed.reason.as_str()), suppressed.usage),
        };
        assert_eq!(found, expected, "{answer:?}");
        assert_eq!(usage.cached_input_tokens, 90, "what was spent is reported, whatever came of it");
    }
}

#[test]
fn guards_keep_the_model_from_being_asked() {
    let ended = |turn| Guards { turn, ..Guards::default() };
    let cases = [
        (2, Guards::default(), "early_conversation"),
        (4, ended(TurnEnd::Failed), "error"),
        (4, ended(TurnEnd::Aborted), "aborted"),
        (4, Guards { plan_mode: true, ..Guards::default() }, "plan_mode"),
    ];
    for (entries, guards, expected) in cases {
        let script = Script::saying(r#"{"suggestion":"run the tests"}"#);
        let suppressed = ask(&script, entries, guards).unwrap_err();
        assert_eq!(suppressed.reason.as_str(), expected);
        assert_eq!((suppressed.usage, script.requests().len()), (Usage::default(), 0));
    }
}

#[test]
fn a_failed_query_and_half_an_answer_are_no_suggestion() {
    let limited = ModelError::RateLimited { provider: "p".into(), message: String::new(), retry_after: None };
    let suppressed = ask(&Script::answering([Err(limited.clone())]), 4, Guards::default()).unwrap_err();
    assert_eq!(suppressed.reason, SuppressionReason::QueryFailed(limited));
    assert_eq!(suppressed.reason.as_str(), "error");

    let half = Script::answering([
        Ok(ModelEvent::Text("delete the".into())),
        Ok(ModelEvent::Finished(FinishReason::Length)),
    ]);
    assert_eq!(ask(&half, 4, Guards::default()).unwrap_err().reason, SuppressionReason::Unreadable);
}

#[test]
fn the_next_suggestion_sees_the_speculated_turn_with_its_results() {
    let script = Script::saying(r#"{"suggestion":"commit this"}"#);
    let background = BackgroundModel::main(Arc::clone(&script) as Arc<_>, "main");
    let speculated = [
        message(Role::User, [text("run the tests")]),
        message(Role::Model, [call("2")]),
        message(Role::Tool, [result("2")]),
        message(Role::Model, [text("All green.")]),
    ];
    // Together with the speculated messages, the model has written enough.
    let params = params(3);
    let query = generate_candidates(&background, &params, &speculated, Guards::default(), 1);
    assert_eq!(block_on(query).unwrap().suggestions.best().as_str(), "commit this");
    let request = script.last_request();
    assert_eq!(request.messages[..3], history()[..3]);
    assert_eq!(request.messages[3..7], speculated);
    assert_eq!(request.messages[7].to_text(), prompt::PROMPT);
}

#[expect(clippy::result_large_err, reason = "it is what the function under test returns")]
fn ask_for(script: &Arc<Script>, speculated: &[Message], count: usize) -> Result<Generated, Suppressed> {
    let background = BackgroundModel::main(Arc::clone(script) as Arc<_>, "main");
    block_on(generate_candidates(&background, &params(4), speculated, Guards::default(), count))
}

#[test]
fn one_of_several_is_asked_for_with_the_same_bytes_as_a_suggestion() {
    let script = Script::saying(r#"{"suggestion":"run the tests"}"#);
    ask(&script, 4, Guards::default()).unwrap();
    for count in [0, 1] {
        assert_eq!(ask_for(&script, &[], count).unwrap().suggestions.others(), []);
    }
    let [one, again, clamped] = &script.requests()[..] else { panic!("three requests") };
    assert!(one == again && one == clamped);
    // Providers' caches and recordings depend on the question and the form of the answer.
    insta::assert_snapshot!(format!("{}\n{}", prompt::PROMPT, one.response_schema.as_ref().unwrap()));
}

#[test]
fn several_are_asked_for_in_one_query_behind_the_same_history() {
    let script = Script::saying(r#"{"suggestions":["run the tests","commit this","push it","tag it"]}"#);
    for (count, expected) in [(2, 2), (3, 3), (99, 3)] {
        let generated = ask_for(&script, &[], count).unwrap();
        assert_eq!(
            (generated.suggestions.best().as_str(), generated.suggestions.len()),
            ("run the tests", expected)
        );
        assert_eq!(generated.usage.cached_input_tokens, 90);
        let request = script.last_request();
        assert_eq!(request.messages[..4], history()[..4]);
        let question = request.messages[4].to_text();
        assert!(question.contains(if expected == 2 { "up to two" } else { "up to three" }), "{question}");
        assert!(question.len() < 4_500, "{} bytes are paid for at every turn", question.len());
    }
    assert_eq!(script.requests().len(), 3);
}

#[test]
fn several_are_asked_for_after_a_speculated_turn_too() {
    let script = Script::saying("1. commit this\n2. push it");
    let speculated =
        [message(Role::User, [text("run the tests")]), message(Role::Model, [text("All green.")])];
    let generated = ask_for(&script, &speculated, 2).unwrap();
    assert_eq!(generated.suggestions[1].as_str(), "push it");
    assert_eq!(script.last_request().messages[4..6], speculated);
}

#[test]
fn the_question_names_its_rules_and_stays_affordable() {
    for rule in [
        "Write as this user writes",
        "The last five messages that they typed",
        "two to twelve words",
        "no question",
        "Chance in percent",
        "JSON",
    ] {
        assert!(prompt::PROMPT.contains(rule), "{rule}");
    }
    assert!(prompt::PROMPT.len() < 4_000, "{} bytes are paid for at every turn", prompt::PROMPT.len());
}

#[test]
fn the_queries_can_be_spawned() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let background = BackgroundModel::main(Script::saying("push it"), "main");
    let params = params(4);
    let generated = block_on(is_send(generate_suggestion(&background, &params, Guards::default())));
    assert_eq!(generated.unwrap().suggestions.best().as_str(), "push it");
}

fn local(script: &Arc<Script>) -> BackgroundModel {
    BackgroundModel { is_local: true, ..BackgroundModel::main(Arc::clone(script) as Arc<_>, "small") }
}

#[test]
fn a_model_on_this_machine_reads_a_short_question_and_may_not_write_much() {
    let script = Script::saying(r#"{"guesses":[{"text":"run the linter","chance":40}]}"#);
    let (background, params) = (local(&script), params(4));
    let asked = generate_candidates(&background, &params, &[], Guards::default(), 3);
    assert_eq!(block_on(asked).unwrap().suggestions.best().as_str(), "run the linter");
    let request = script.last_request();
    let question = request.messages.last().unwrap().to_text();
    // Four bytes are about a token; the schema is read as well where a server does not take it as a field.
    let schema = request.response_schema.unwrap().to_string();
    assert!(
        (question.len() + schema.len()).div_ceil(5) < 250 && question.len() < 1_000,
        "{}",
        question.len()
    );
    assert_eq!(request.max_output_tokens, Some(300));
}

#[test]
fn a_model_on_this_machine_that_babbles_is_given_up() {
    let babble = (0..400).map(|_| Ok(ModelEvent::Text("The user of this session types. ".into())));
    let script = Script::answering(babble.chain([Ok(ModelEvent::Finished(FinishReason::Stop))]));
    let (background, params) = (local(&script), params(4));
    let asked = generate_candidates(&background, &params, &[], Guards::default(), 1);
    assert_eq!(block_on(asked).unwrap_err().reason, SuppressionReason::Unreadable);
}

#[test]
fn only_a_model_on_this_machine_has_a_deadline() {
    let script = Script::saying(r#"{"guesses":[{"text":"run the linter"}]}"#);
    let never = || future::pending::<Result<Generated, Suppressed>>();
    let late = block_on(in_time(&local(&script), never(), future::ready(()))).unwrap_err();
    assert_eq!((late.reason.as_str(), late.usage), ("too_slow", Usage::UNTOLD));
    let remote = BackgroundModel::main(Arc::clone(&script) as Arc<_>, "main");
    let params = params(4);
    for background in [&remote, &local(&script)] {
        let asked = generate_suggestion(background, &params, Guards::default());
        let deadline = async {
            if background.is_local {
                future::pending::<()>().await;
            }
        };
        assert!(block_on(in_time(background, asked, deadline)).is_ok());
    }
}
