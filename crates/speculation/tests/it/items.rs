//! Items that tools found, which are reported beside the text that the model reads.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{ModelEvent, Part, ToolOutcome};
use headstart_speculation::{Ending, Event, Events, Limits, Transcript};
use headstart_tool_gate::ApprovalMode;
use serde_json::{Value, json};

use crate::support::{Fixture, call, calls, read, says};

fn grep() -> ModelEvent {
    call("grep", &json!({ "pattern": "sample|one" }))
}

/// The items of each result, as JSON.
fn told(events: Events) -> Vec<Value> {
    let events = block_on(events.collect::<Vec<_>>());
    let results = events.into_iter().filter(|event| matches!(event, Event::ToolResult { .. }));
    results.map(|result| serde_json::to_value(result).unwrap()["items"].clone()).collect()
}

#[test]
fn results_are_told_with_their_places_and_the_model_reads_the_text_alone() {
    let answers = || [calls([grep(), read("README.md"), read("missing")]), says("Done.")];
    let fixture = Fixture::new(ApprovalMode::Default, answers());
    let (turn, events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("look"),
        Limits::default(),
    );
    assert_eq!(block_on(turn.run()), Ending::Completed);
    let expected = [
        json!([
            {"name": "README.md (1)", "description": "README.md", "content": "README.md:1:# sample\n",
             "uri": {"type": "file", "value": "README.md", "lines": [1, 1]}},
            {"name": "lib.rs (1)", "description": "src/lib.rs", "content": "src/lib.rs:1:pub fn one() -> u32 {",
             "uri": {"type": "file", "value": "src/lib.rs", "lines": [1, 1]}},
        ]),
        json!([{"name": "README.md", "description": "README.md", "content": "# sample\n",
                "uri": {"type": "file", "value": "README.md"}}]),
        Value::Null,
    ];
    assert_eq!(told(events), expected);

    let transcript = turn.transcript();
    let outcomes: Vec<_> = transcript.messages.iter().flat_map(|message| &message.parts).collect();
    let outputs = outcomes.into_iter().filter_map(|part| match part {
        Part::ToolResult(result) => match &result.outcome {
            ToolOutcome::Output(output) => output.as_str(),
            ToolOutcome::Error(_) => None,
        },
        _ => None,
    });
    let outputs: Vec<_> = outputs.collect();
    assert_eq!(outputs, ["README.md:1:# sample\nsrc/lib.rs:1:pub fn one() -> u32 {", "# sample\n"]);
    let asked = serde_json::to_string(&fixture.model.requests.lock().unwrap()[1].messages).unwrap();
    assert!(asked.contains("src/lib.rs:1:pub fn one") && !asked.contains("uri"), "{asked}");

    // The items are stored with the transcript, and can be read again.
    let kept = serde_json::to_string(&transcript).unwrap();
    assert_eq!(serde_json::from_str::<Transcript>(&kept).unwrap(), transcript);
    assert_eq!(transcript.items.len(), 2);

    let ahead = Fixture::new(ApprovalMode::Default, answers());
    let (_speculation, driver, events) = ahead.start("look");
    block_on(driver);
    assert_eq!(told(events), expected);
}

/// Such a transcript was written before there were items, so it must still be readable.
#[test]
fn a_transcript_without_items_is_written_as_before() {
    let json = serde_json::to_value(Transcript::new("look")).unwrap();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["messages", "rest", "restContinues"]);
    assert_eq!(serde_json::from_value::<Transcript>(json).unwrap(), Transcript::new("look"));
}
