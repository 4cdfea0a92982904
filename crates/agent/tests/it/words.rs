//! A host describes the calls of its own tool in its own words.

use std::sync::Arc;

use async_trait::async_trait;
use headstart_agent::{CallItem, Item};
use headstart_forked_query::ToolSchema;
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolOutput, Wording};
use serde_json::{Map, Value, json};

use crate::harness::{Harness, HarnessOptions, lock};

struct Deploy;

#[async_trait]
impl Tool for Deploy {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: "deploy".to_owned(),
            description: "Says where it would be.".to_owned(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn wording(&self) -> Wording {
        Wording {
            title: "Deploy".to_owned(),
            would_like_to: "send it to {place}".to_owned(),
            is_currently: "sending it to {place}".to_owned(),
            has_already: "sent it to {place}".to_owned(),
        }
    }

    async fn run(
        &self,
        _args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        Ok("it is there".into())
    }
}

fn setting() -> HarnessOptions {
    HarnessOptions { tools: vec![Arc::new(Deploy)], ..HarnessOptions::default() }
}

fn call_of<'a>(items: impl IntoIterator<Item = &'a Arc<Item>>) -> Option<CallItem> {
    items.into_iter().find_map(|item| match &**item {
        Item::Call(call) => Some((**call).clone()),
        _ => None,
    })
}

#[test]
fn work_ahead_tells_a_tool_in_its_own_words() {
    let mut harness = Harness::with_suggestion(&setting(), "deploy harbour");
    let ahead = harness.agent.view().ahead.clone().unwrap();
    let calls: Vec<_> = ahead.progress.calls.iter().map(|call| call.sentence.as_str()).collect();
    assert_eq!(calls, ["sent it to harbour"]);
    harness.agent.take("deploy harbour").unwrap();
    let view = harness.settle();
    assert_eq!(call_of(&view.items).unwrap().sentence, "sent it to harbour");
}

#[test]
fn a_conversation_that_goes_on_tells_a_tool_in_its_own_words() {
    let mut harness = Harness::new(&setting());
    let said = harness.say("deploy harbour");
    assert_eq!(call_of(&said.items).unwrap().sentence, "sent it to harbour");
    let kept = lock(&harness.store.kept).clone();
    // If the host no longer offers the tool, only its name is known.
    for (tools, sentence) in [(setting().tools, "sent it to harbour"), (Vec::new(), "used the deploy tool")] {
        let harness =
            Harness::new(&HarnessOptions { kept: kept.clone(), tools, ..HarnessOptions::default() });
        assert_eq!(call_of(&harness.agent.view().items).unwrap().sentence, sentence);
    }
}
