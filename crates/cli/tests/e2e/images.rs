//! Holds that images which a prompt names reach every provider: in a turn, ahead, and in a conversation that is
//! continued.

use serde_json::Value;

use crate::formats::{FORMATS, KEY};
use crate::support::Session;
use crate::support::server::{ScriptedResponse, Server};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and what follows";
/// The content of [`PNG`] in base64.
const DATA: &str = "iVBORw0KGgogYW5kIHdoYXQgZm9sbG93cw==";

fn session(variable: &str, settings: &str) -> Session {
    let session = Session::with_project().variable(variable, KEY).variable("HEADSTART_SUGGEST", "off");
    session.write("project/shot.png", PNG);
    session.write("home/.config/headstart/config.toml", settings);
    session
}

#[test]
fn every_provider_sees_it_in_turns_ahead_and_when_the_conversation_goes_on() {
    for format in &FORMATS {
        let session = session(format.variable, "");
        let answers = ["A cat.", "Sure.", "Still a cat."].map(|text| format.stream(text, &[]));
        let server = Server::start(answers.to_vec());
        let model = format.model();
        let chat = ["chat", "--model", &model, "--base-url", &server.base_url];
        let outcome = session.run_with_input(&chat, "what is on @shot.png?\nsure?\n");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "A cat.\nSure.\n"), "{outcome}");
        let again = session.run_with_input(&[&chat[..], &["--continue"]].concat(), "and now?\n");
        assert_eq!(again.code, Some(0), "{again}");
        let requests = server.requests();
        assert_eq!(requests.len(), 3);
        let mut bodies = Vec::new();
        for request in &requests {
            assert_eq!(request.body.matches(DATA).count(), 1, "{}", format.prefix);
            bodies.push(request.body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""));
        }
        for pair in bodies.windows(2) {
            let end = pair[0].rfind(']').unwrap();
            assert_eq!(pair[0][..end], pair[1][..end], "{}: the prefix changed", format.prefix);
        }

        let server = Server::start(vec![format.stream("A cat.", &[])]);
        let outcome = session.run(&server.speculation(&model, &["what is on @shot.png?"]));
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(server.requests()[0].body.matches(DATA).count(), 1, "{}", format.prefix);
        let id = outcome.finished()["id"].as_str().unwrap().to_owned();
        let shown = session.run(&["show", &id]);
        assert!(shown.stdout.contains("image/png") && !shown.stdout.contains(DATA), "{shown}");
    }
}

#[test]
fn a_model_without_images_is_sent_none_and_the_prompt_is_not_lost() {
    let format = FORMATS.iter().find(|format| format.prefix == "openai").unwrap();
    let settings = format!("[models.'{}']\nimages = false\n", format.model());
    let session = session(format.variable, &settings);
    let server = Server::start(vec![format.stream("Words.", &[])]);
    let model = format.model();
    let chat = ["chat", "--json", "--model", &model, "--base-url", &server.base_url];
    let outcome = session.run_with_input(&chat, "what is on @shot.png?\nhello\n");
    assert!(
        format!("{outcome}").contains("your configuration says images = false of this model"),
        "{outcome}"
    );
    assert!(server.requests().iter().all(|request| !request.body.contains(DATA)), "{outcome}");
}

#[test]
fn a_provider_that_refuses_an_image_is_heard_in_its_own_words() {
    let format = FORMATS.iter().find(|format| format.prefix == "openai").unwrap();
    let session = session(format.variable, "");
    let body = r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#;
    let refusal = ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: body.to_owned() };
    let server = Server::start(vec![refusal]);
    let model = format.model();
    let chat = ["chat", "--json", "--model", &model, "--base-url", &server.base_url];
    let outcome = session.run_with_input(&chat, "what is on @shot.png?\n");
    assert!(format!("{outcome}").contains("No endpoints found that support image input"), "{outcome}");
    let request_body: Value = server.requests()[0].json();
    assert!(request_body.to_string().contains(DATA));
}
