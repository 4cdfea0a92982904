use std::cell::RefCell;

use headstart_followup_state::{AcceptMethod, Config, Event, RequestId};
use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::fields::{Fields, millis};
use crate::input::parse;

/// The suggestion on screen.
#[wasm_bindgen]
pub struct FollowupController {
    inner: RefCell<headstart_followup_state::FollowupController>,
}

/// [`Config`], in which a misspelt field is told.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ConfigFields {
    enabled: bool,
    show_delay_ms: u64,
    accept_lock_ms: u64,
    tab_delay_ms: u64,
    slip_ms: u64,
}

impl Default for ConfigFields {
    fn default() -> Self {
        let Config { enabled, show_delay_ms, accept_lock_ms, tab_delay_ms, slip_ms } = Config::default();
        Self { enabled, show_delay_ms, accept_lock_ms, tab_delay_ms, slip_ms }
    }
}

#[wasm_bindgen]
impl FollowupController {
    /// A controller with nothing on screen; `config` is JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str) -> Result<Self, Failure> {
        let ConfigFields { enabled, show_delay_ms, accept_lock_ms, tab_delay_ms, slip_ms } =
            parse("config", config)?;
        let config = Config { enabled, show_delay_ms, accept_lock_ms, tab_delay_ms, slip_ms };
        Ok(Self { inner: RefCell::new(headstart_followup_state::FollowupController::new(config)) })
    }

    /// Takes an event, and gives the effects: both are JSON.
    pub fn handle(&self, event: &str, now: f64) -> Result<String, Failure> {
        let event = read_event(&Fields::parse("event", event)?)?;
        let now = millis("now", now)?;
        Ok(json(&self.inner.borrow_mut().handle(now, event)))
    }

    /// The text on screen.
    #[wasm_bindgen(getter)]
    pub fn visible(&self) -> Option<String> {
        self.inner.borrow().visible().map(|suggestion| suggestion.as_str().to_owned())
    }
}

fn read_event(fields: &Fields) -> Result<Event, Failure> {
    let request = || fields.whole_number("request").map(RequestId);
    Ok(match fields.text("type")? {
        "requested" => Event::Requested { request: request()? },
        "suggested" => {
            let best = fields.suggestion("suggestion")?;
            Event::suggested(request()?, best.into_iter().chain(fields.suggestions("others")?))
        }
        "suppressed" => Event::Suppressed { request: request()?, reason: fields.text("reason")?.to_owned() },
        "enabled" => Event::Enabled { enabled: fields.required_flag("enabled")? },
        "accept" => Event::Accept {
            method: accept_method(fields.text("method")?)?,
            fallback_text: fields.optional_text("fallbackText")?.map(str::to_owned),
            skip_insert: fields.flag("skipInsert")?.unwrap_or_default(),
        },
        "dismiss" => Event::Dismiss,
        "clear" => Event::Clear,
        "keystroke" => Event::Keystroke { typed: fields.required_flag("typed")? },
        "edited" => Event::Edited { text: fields.text("text")?.to_owned() },
        "nextCandidate" => Event::NextCandidate,
        "previousCandidate" => Event::PreviousCandidate,
        "wake" => Event::Wake,
        "cleanup" => Event::Cleanup,
        other => return Err(Failure::input("type", format!("there is no event {other:?}"))),
    })
}

fn accept_method(method: &str) -> Result<AcceptMethod, Failure> {
    match method {
        "tab" => Ok(AcceptMethod::Tab),
        "enter" => Ok(AcceptMethod::Enter),
        "right" => Ok(AcceptMethod::Right),
        _ => Err(Failure::input(
            "method",
            format!("must be \"tab\", \"enter\" or \"right\", and is {method:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use headstart_followup_state::filter;

    use super::*;

    #[test]
    fn every_event_is_read_as_serde_writes_it() {
        let suggestion = |text| filter(text).unwrap();
        let request = RequestId(7);
        let events = [
            Event::Requested { request },
            Event::suggested(request, [suggestion("run the tests"), suggestion("commit this")]),
            Event::suggested(request, []),
            Event::Suppressed { request, reason: "empty".into() },
            Event::Enabled { enabled: false },
            Event::accept(AcceptMethod::Tab),
            Event::accept(AcceptMethod::Right),
            Event::Accept { method: AcceptMethod::Enter, fallback_text: Some("x".into()), skip_insert: true },
            Event::Dismiss,
            Event::Clear,
            Event::Keystroke { typed: true },
            Event::Edited { text: "ru".into() },
            Event::NextCandidate,
            Event::PreviousCandidate,
            Event::Wake,
            Event::Cleanup,
        ];
        for event in events {
            let read = read_event(&Fields::parse("event", &json(&event)).unwrap());
            assert_eq!(read, Ok(event));
        }
    }

    #[test]
    fn a_mistake_names_its_field() {
        let cases = [
            (r#"{"type":"nope"}"#, "type", "type: there is no event \"nope\""),
            ("{}", "type", "type: is missing; it must be a string"),
            (r#"{"type":"wake","x":1}"#, "", ""),
            (
                r#"{"type":"requested","request":-1}"#,
                "request",
                "request: must be a whole number, 0 or more, and is -1",
            ),
            (
                r#"{"type":"requested","request":null}"#,
                "request",
                "request: is missing; it must be a whole number, 0 or more",
            ),
            (
                r#"{"type":"suggested","request":1,"suggestion":"is it done?"}"#,
                "suggestion",
                "suggestion: the filter refuses this text (question): the text is a question",
            ),
            (
                r#"{"type":"suggested","request":1,"others":["run the tests","ok then?"]}"#,
                "others[1]",
                "others[1]: the filter refuses this text (question): the text is a question",
            ),
            (
                r#"{"type":"suggested","request":1,"others":[1]}"#,
                "others[0]",
                "others[0]: must be a string, and is 1",
            ),
            (
                r#"{"type":"accept","method":"mouse"}"#,
                "method",
                "method: must be \"tab\", \"enter\" or \"right\", and is \"mouse\"",
            ),
            (r#"{"type":"keystroke"}"#, "typed", "typed: is missing; it must be true or false"),
            (r#"{"type":"edited","text":3}"#, "text", "text: must be a string, and is 3"),
        ];
        for (event, path, message) in cases {
            let read = read_event(&Fields::parse("event", event).unwrap());
            match read {
                Ok(_) => assert_eq!(path, "", "{event}"),
                Err(failure) => {
                    assert_eq!(
                        (failure.path.as_deref(), &*failure.message),
                        (Some(path), message),
                        "{event}"
                    );
                }
            }
        }
    }
}
