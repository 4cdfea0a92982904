//! Measures how much of each request its provider has seen before: for the user's own turns, and for the question
//! after each.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::{Map, json};

use super::providers;
use crate::Provider;
use crate::testing::{Script, message, request, text};
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Guards, Message, ModelRequest, Part, ProviderRelation, Role, ToolCall,
    ToolOutcome, ToolResult, generate_suggestion,
};

/// The number of calls in each of sixteen turns: mostly few, sometimes many.
const CALLS: [usize; 16] = [3, 25, 1, 8, 0, 12, 4, 2, 30, 6, 1, 0, 18, 5, 9, 3];

const MODEL: &str = "main";

/// The messages of a step: one call, and a file as its result. No two are the same.
fn step(turn: usize, number: usize) -> [Message; 2] {
    let id = format!("{turn}-{number}");
    let args = Map::from_iter([("path".to_owned(), json!(format!("src/{id}.rs")))]);
    let lines = format!("a line of {id}\n").repeat(60);
    let call = ToolCall { id: id.clone(), name: "ls".into(), args };
    let result = ToolResult { id, name: "ls".into(), outcome: ToolOutcome::Output(json!(lines)) };
    [message(Role::Model, [Part::ToolCall(call)]), message(Role::Tool, [Part::ToolResult(result)])]
}

/// The bytes that were sent, and how many of them an earlier request began with.
#[derive(Default)]
struct Shared {
    sent: usize,
    known: usize,
    /// The most new bytes in one request.
    most_new: usize,
}

impl Shared {
    fn add(&mut self, body: &str, before: &str) {
        self.sent += body.len();
        let known = body.bytes().zip(before.bytes()).take_while(|(one, other)| one == other).count();
        self.known += known;
        self.most_new = self.most_new.max(body.len() - known);
    }

    fn percent(&self) -> f64 {
        let per_mille = self.known * 1_000 / self.sent.max(1);
        f64::from(u32::try_from(per_mille).unwrap()) / 10.0
    }
}

/// The shares for the turns' own requests, the questions to the same model, and those to another one.
fn play(provider: &Provider) -> [Shared; 3] {
    let encode = |request: &ModelRequest| {
        // A mark says where to look, and is not content.
        let body = String::from_utf8(provider.wire.encode(request)).unwrap();
        body.replace(super::requests::EPHEMERAL, "")
    };
    let [mut own, mut asked, mut another] = [(); 3].map(|()| Shared::default());
    let [mut last, mut last_of_another] = [String::new(), String::new()];
    let mut history = Vec::new();
    for (turn, calls) in CALLS.into_iter().enumerate() {
        history.push(Message::text(Role::User, format!("prompt {turn}")));
        for number in 0..=calls {
            let body = encode(&ModelRequest { model: MODEL.into(), messages: history.clone(), ..request() });
            own.add(&body, &last);
            last = body;
            if number < calls {
                history.extend(step(turn, number));
            }
        }
        history.push(message(Role::Model, [text(&format!("Done with {turn}."))]));
        let params = CacheSafeParams::new(request().system, request().tools, &history, MODEL);
        let question = |background: &dyn Fn(Arc<Script>) -> BackgroundModel| {
            let script = Script::saying(r#"{"suggestion": ""}"#);
            let _nothing =
                block_on(generate_suggestion(&background(Arc::clone(&script)), &params, Guards::default()));
            script.requests().pop().map(|request| encode(&request))
        };
        if let Some(body) = question(&|script| BackgroundModel::main(script, MODEL)) {
            asked.add(&body, &last);
        }
        let fast = |script: Arc<Script>| BackgroundModel::fast(script, "fast", ProviderRelation::Same);
        if let Some(body) = question(&fast) {
            another.add(&body, &last_of_another);
            last_of_another = body;
        }
    }
    [own, asked, another]
}

/// A question is known up to the turn before it, in every format and for any number of calls: only the model's last
/// words and the question itself are new. `--nocapture` shows the numbers.
#[test]
fn a_question_is_as_well_known_as_the_turns_of_the_user() {
    /// More bytes than the words of the question have in any format.
    const QUESTION: usize = 4_500;
    for provider in providers() {
        let [own, asked, another] = play(&provider);
        let percents = [&own, &asked, &another].map(Shared::percent);
        println!(
            "{:12} turns {} %, questions {} %, questions to another model {} %; new in a question: {} bytes",
            provider.name, percents[0], percents[1], percents[2], asked.most_new
        );
        assert!(asked.most_new <= QUESTION, "{}: {} bytes are new", provider.name, asked.most_new);
        assert!(percents[0] - 4.0 <= percents[1] && percents[2] < 60.0, "{}: {percents:?}", provider.name);
    }
}
