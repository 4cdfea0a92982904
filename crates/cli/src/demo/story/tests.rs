use futures::StreamExt;
use headstart_forked_query::{ModelEvent, ToolCall, ToolResult};

use super::super::sample::recording;
use super::*;
use crate::demo::REQUEST;

/// A conversation with the recording. All calls succeed except for one that is declined, if the test says so.
struct TestConversation {
    story: Story,
    messages: Vec<Message>,
}

impl TestConversation {
    fn new() -> Self {
        Self { story: Story::new(recording(), REQUEST, 4, 1000.0), messages: Vec::new() }
    }

    fn request(&self, schema: bool) -> ModelRequest {
        ModelRequest {
            model: "recording".to_owned(),
            system: None,
            tools: Vec::new(),
            messages: self.messages.clone(),
            thinking: false,
            response_schema: schema.then(|| json!({ "properties": { "guesses": {} } })),
            max_output_tokens: None,
        }
    }

    async fn events(&self, schema: bool) -> Vec<ModelEvent> {
        let stream = self.story.stream(&self.request(schema)).await.unwrap();
        stream.map(Result::unwrap).collect().await
    }

    /// Returns the names of the calls and the last text.
    ///
    /// `declines` is the name of a tool, or a part of a command, that is declined.
    async fn ask(&mut self, prompt: &str, declines: Option<&str>) -> (Vec<String>, String) {
        let text = |text: &str| Part::Text { text: text.to_owned() };
        self.messages.push(Message { role: Role::User, parts: vec![text(prompt)] });
        let mut names = Vec::new();
        loop {
            let (mut said, mut calls) = (String::new(), Vec::<ToolCall>::new());
            for event in self.events(false).await {
                match event {
                    ModelEvent::Text(more) => said += &more,
                    ModelEvent::ToolCall(call) => calls.push(call),
                    _ => {}
                }
            }
            let parts = Some(text(&said)).filter(|_| !said.is_empty()).into_iter();
            let parts = parts.chain(calls.iter().cloned().map(Part::ToolCall)).collect();
            self.messages.push(Message { role: Role::Model, parts });
            if calls.is_empty() {
                return (names, said);
            }
            for call in calls {
                let outcome = match declines {
                    Some(what) if call.name == what || json!(call.args).to_string().contains(what) => {
                        ToolOutcome::Error("declined".to_owned())
                    }
                    _ => ToolOutcome::Output(json!("done")),
                };
                let result = ToolResult { id: call.id, name: call.name.clone(), outcome };
                names.push(call.name);
                self.messages.push(Message { role: Role::Tool, parts: vec![Part::ToolResult(result)] });
            }
        }
    }

    async fn suggestion(&self) -> String {
        let events = self.events(true).await;
        let ModelEvent::Text(answer) = &events[0] else { panic!("{events:?}") };
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        answer["guesses"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn who_takes_each_suggestion_hears_the_whole_recording_and_that_it_is_over() {
    let mut talk = TestConversation::new();
    let (calls, _) = talk.ask(REQUEST, None).await;
    assert_eq!(calls, ["read_file", "edit"]);
    let mut taken = Vec::new();
    let mut last = String::new();
    loop {
        let suggestion = talk.suggestion().await;
        if suggestion.is_empty() {
            break;
        }
        last = talk.ask(&suggestion, None).await.1;
        taken.push(suggestion);
    }
    assert_eq!(taken, ["add tests for top", "update the changelog", "commit and push"]);
    assert!(last.starts_with("Pushed as one commit.") && last.ends_with(LAST_WORDS), "{last}");
    let (_, after) = talk.ask("commit and push", None).await;
    assert!(after.contains("a recording, not a model") && after.ends_with(LAST_WORDS), "{after}");
}

#[tokio::test]
async fn other_prompts_are_told_what_this_is_and_use_nothing_up() {
    let mut talk = TestConversation::new();
    for prompt in ["what is this?", "commit and push", "/usr/bin is empty?", "語", "add tests for top"] {
        let (calls, said) = talk.ask(prompt, None).await;
        // Suggestions begin with the second answer.
        assert_eq!(calls, ["read_file"], "{prompt}");
        assert!(said.contains("a recording, not a model") && said.contains(REQUEST), "{prompt}: {said}");
        assert_eq!(talk.suggestion().await, REQUEST);
    }
    let news = format!("(Told first: the user undid notes.txt.)\n\n{}.", REQUEST.to_uppercase());
    assert_eq!(talk.ask(&news, None).await.0, ["read_file", "edit"]);
    assert_eq!(talk.ask("thanks", None).await.0, ["read_file"]);
    assert_eq!(talk.suggestion().await, "add tests for top");
}

#[tokio::test]
async fn what_the_user_took_back_is_offered_again() {
    for note in ["the user dropped your changes of these files", "the user has undone changes that you made"]
    {
        let mut talk = TestConversation::new();
        talk.ask(REQUEST, None).await;
        talk.ask("add tests for top", None).await;
        let (calls, said) =
            talk.ask(&format!("[Note: {note}: tests/top.sh]\n\nupdate the changelog"), None).await;
        assert_eq!(calls, ["read_file"]);
        assert!(said.contains("The next one is \"add tests for top\""), "{said}");
        assert_eq!(talk.suggestion().await, "add tests for top");
        talk.ask("add tests for top", None).await;
        assert_eq!(talk.suggestion().await, "update the changelog");
    }
}

#[tokio::test]
async fn work_that_is_given_up_is_played_again() {
    let mut talk = TestConversation::new();
    talk.ask(REQUEST, None).await;
    let before = talk.messages.clone();
    for wording in ["add tests for top", "Write tests for top.", "test top"] {
        let (calls, _) = talk.ask(wording, None).await;
        assert_eq!(calls, ["read_file", "grep", "write_file", "glob", "shell"]);
        talk.messages.clone_from(&before);
    }
}

#[tokio::test]
async fn a_call_that_is_declined_is_not_said_to_have_run() {
    let mut talk = TestConversation::new();
    let (_, said) = talk.ask(REQUEST, Some("edit")).await;
    assert_eq!(said, REFUSED);
    assert_eq!(talk.suggestion().await, REQUEST);
    let (_, said) = talk.ask(REQUEST, None).await;
    assert!(said.starts_with("`top NUMBER` is in"), "{said}");
}

#[tokio::test]
async fn a_part_whose_last_call_is_declined_ends_and_the_next_one_is_suggested() {
    let mut talk = TestConversation::new();
    talk.ask(REQUEST, None).await;
    let (_, said) = talk.ask("add tests for top", Some("test.sh")).await;
    assert!(said.starts_with("The last call did not run"), "{said}");
    assert_eq!(talk.suggestion().await, "update the changelog");
    talk.ask("update the changelog", None).await;
    let (_, said) = talk.ask("commit and push", Some("git push")).await;
    assert!(said.starts_with("The last call did not run") && said.ends_with(LAST_WORDS), "{said}");
    assert_eq!(talk.suggestion().await, "");
}

#[tokio::test]
async fn what_fails_twice_is_not_suggested_again() {
    let mut talk = TestConversation::new();
    for next in [REQUEST, ""] {
        let (_, said) = talk.ask(REQUEST, Some("edit")).await;
        assert_eq!(said, REFUSED);
        assert_eq!(talk.suggestion().await, next);
    }
}
