use futures::StreamExt;
use headstart_followup_state::MAX_CHARACTERS;
use serde_json::Value;
use tracing::{Instrument, debug, debug_span, trace};

use crate::json::ObjectEnd;
use crate::{
    BackgroundModel, CONTENT, CacheSafeParams, FinishReason, Message, ModelError, ModelEvent, ModelRequest,
    Part, Role, Usage, with_yields,
};

/// One question in a fork of a conversation, which leaves no trace in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Query<'a> {
    /// Messages that follow the shared history, such as a speculated turn. They must be legal by themselves.
    pub after: &'a [Message],
    /// The question.
    pub prompt: &'a str,
    /// The JSON schema of the answer; `null` for an answer in words.
    pub schema: Value,
    /// The most tokens in the answer.
    pub max_output_tokens: Option<u32>,
    /// Whether to stop reading as soon as the answer cannot be a short JSON object any more: small models write on and on,
    /// and each word costs the machine of the user.
    pub gives_up: bool,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    /// The words, without thoughts and tool calls.
    pub text: String,
    /// The words as JSON, if they are JSON (possibly in a code fence). They are not checked against the schema.
    pub json: Option<Value>,
    /// Whether the model called a tool, which is not run.
    pub has_calls: bool,
    /// Why the answer ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
}

/// A query that failed, and what it cost nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct QueryError {
    /// What went wrong.
    pub error: ModelError,
    /// What was spent until then, as far as the provider said.
    pub usage: Usage,
}

/// Asks one question in a fork of the conversation.
///
/// The conversation's tools stay in the request if that makes its prefix the one that the provider has cached
/// ([`BackgroundModel::shares_cache`]); otherwise they are left out, because they cost tokens and are not to be
/// called.
///
/// Dropping the future cancels the request.
pub async fn forked_query(
    background: &BackgroundModel,
    params: &CacheSafeParams,
    query: Query<'_>,
) -> Result<QueryAnswer, QueryError> {
    let gives_up = query.gives_up;
    let request = request(background, params, query);
    let is_json = request.response_schema.is_some();
    let mut answer = Collected { is_json, gives_up: is_json && gives_up, ..Collected::default() };
    let span = debug_span!("query", messages = request.messages.len());
    let collected = answer.collect(background, &request).instrument(span).await;
    debug!(
        input_tokens = answer.usage.input_tokens,
        cached_input_tokens = answer.usage.cached_input_tokens,
        output_tokens = answer.usage.output_tokens,
        error = collected.as_ref().err().map(ModelError::code),
        "the model answered a query"
    );
    trace!(target: CONTENT, answer = answer.text, "its answer");
    match collected {
        Ok(finish) => {
            let Collected { text, has_calls, usage, .. } = answer;
            Ok(QueryAnswer { json: parse_json(&text), text, has_calls, finish, usage })
        }
        Err(error) => Err(QueryError { error, usage: answer.usage }),
    }
}

fn request(background: &BackgroundModel, params: &CacheSafeParams, query: Query<'_>) -> ModelRequest {
    let mut request = params.fork(background);
    if !background.shares_cache(params) {
        request.tools.clear();
    }
    request.messages.extend_from_slice(query.after);
    match request.messages.last_mut() {
        // The user's last message has no answer yet, and some servers refuse two messages of the user in a row.
        Some(last) if last.role == Role::User => {
            last.parts.push(Part::Text { text: format!("\n\n{}", query.prompt) });
        }
        _ => request.messages.push(Message::text(Role::User, query.prompt)),
    }
    request.response_schema = (!query.schema.is_null()).then_some(query.schema);
    request.max_output_tokens = query.max_output_tokens;
    request
}

#[derive(Default)]
struct Collected {
    text: String,
    /// Whether an object was asked for, whose end is the end of the answer.
    is_json: bool,
    gives_up: bool,
    object: ObjectEnd,
    has_calls: bool,
    usage: Usage,
}

impl Collected {
    async fn collect(
        &mut self,
        background: &BackgroundModel,
        request: &ModelRequest,
    ) -> Result<FinishReason, ModelError> {
        let mut stream = with_yields(background.model.stream(request).await?);
        let mut finish = None;
        while let Some(event) = stream.next().await {
            match event? {
                // What follows the object is not part of the answer, and not worth waiting for.
                ModelEvent::Text(_) | ModelEvent::Thought(_) if self.object.has_closed() => {
                    finish = Some(FinishReason::Stop);
                    if self.usage == Usage::default() {
                        self.usage = Usage::UNTOLD;
                    }
                    break;
                }
                ModelEvent::Text(text) => {
                    let end = if self.is_json { self.object.take(&text) } else { text.len() };
                    self.text.push_str(&text[..end]);
                    if self.gives_up && is_hopeless(&self.text) {
                        finish = Some(FinishReason::Length);
                        if self.usage == Usage::default() {
                            self.usage = Usage::UNTOLD;
                        }
                        break;
                    }
                }
                ModelEvent::Usage(usage) => self.usage = usage,
                ModelEvent::Finished(reason) => finish = Some(reason),
                ModelEvent::ToolCall(_) => self.has_calls = true,
                ModelEvent::Thought(_) | ModelEvent::CallFragment { .. } | ModelEvent::Opaque(_) => {}
            }
        }
        finish.ok_or_else(|| {
            let name = background.name.as_str();
            let provider = if name.is_empty() { "the model" } else { name }.to_owned();
            ModelError::Cut { provider, source: None }
        })
    }
}

/// Whether a text is no beginning of a short JSON object: it is too long for that, or has no object where already a guess
/// would have ended.
fn is_hopeless(text: &str) -> bool {
    /// About 300 tokens.
    const LONGEST: usize = 1_200;
    let has_object = || text.contains('{');
    LONGEST < text.len() || MAX_CHARACTERS < text.trim().chars().count() && !has_object()
}

fn parse_json(text: &str) -> Option<Value> {
    let text = text.trim();
    // Reading may have stopped before the end of the fence.
    let fenced = text.strip_prefix("```").map(|rest| rest.strip_suffix("```").unwrap_or(rest));
    let inside = fenced.map_or(text, |inside| inside.strip_prefix("json").unwrap_or(inside));
    serde_json::from_str(inside.trim()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use futures::executor::block_on;
    use serde_json::json;

    use super::*;
    use crate::ProviderRelation;
    use crate::testing::{Script, call, message, text, tools};

    fn params() -> CacheSafeParams {
        let history = [message(Role::User, [text("hi")]), message(Role::Model, [text("hello")])];
        CacheSafeParams::new(Some("Be brief.".into()), tools(), &history, "main")
    }

    fn query(prompt: &str) -> Query<'_> {
        Query {
            after: &[],
            prompt,
            schema: json!({"type": "object"}),
            max_output_tokens: Some(9),
            gives_up: false,
        }
    }

    /// A small model that writes on and on is not read to its end.
    #[test]
    fn reading_ends_as_soon_as_the_answer_can_be_no_object() {
        let words = |number: usize| (0..number).map(|_| Ok(ModelEvent::Text("words and words ".into())));
        let begins = |text: &str| [Ok(ModelEvent::Text(text.into()))];
        let end = [Ok(ModelEvent::Finished(FinishReason::Stop))];
        for (gives_up, first, number, expected) in [
            (true, "", 500, Some((112, FinishReason::Length))),
            (true, "{\"a\": \"", 500, Some((1_207, FinishReason::Length))),
            (true, "```json\n{\"a\": 1}", 5, Some((16, FinishReason::Stop))),
            (true, "", 6, Some((96, FinishReason::Stop))),
            (false, "", 500, Some((8_000, FinishReason::Stop))),
        ] {
            let script = Script::answering(begins(first).into_iter().chain(words(number)).chain(end.clone()));
            let background = BackgroundModel::main(script, "small");
            let query = Query { gives_up, ..query("?") };
            let answer = block_on(forked_query(&background, &params(), query)).unwrap();
            assert_eq!(Some((answer.text.len(), answer.finish)), expected, "{first:?} {number}");
        }
    }

    #[test]
    fn a_stream_that_is_always_ready_lets_others_go_on() {
        let babble = (0..100).map(|_| Ok(ModelEvent::Thought("hm".into())));
        let script = Script::answering(babble.chain([Ok(ModelEvent::Finished(FinishReason::Stop))]));
        let background = BackgroundModel::main(script, "main");
        let params = params();
        let mut asked = Box::pin(forked_query(&background, &params, query("?")));
        assert!(asked.as_mut().now_or_never().is_none(), "it was done within one poll");
        assert_eq!(block_on(asked).unwrap().finish, FinishReason::Stop);
    }

    #[test]
    fn thoughts_and_calls_are_dropped_and_the_last_usage_counts() {
        let Part::ToolCall(dropped) = call("1") else { panic!("a call") };
        let usage = Usage { input_tokens: 10, cached_input_tokens: 8, output_tokens: 2, ..Usage::default() };
        let script = Script::answering([
            Ok(ModelEvent::Thought("hm".into())),
            Ok(ModelEvent::Usage(Usage { input_tokens: 1, ..Usage::default() })),
            Ok(ModelEvent::Text("{\"a\"".into())),
            Ok(ModelEvent::ToolCall(dropped)),
            Ok(ModelEvent::Text(":1}".into())),
            Ok(ModelEvent::Usage(usage)),
            Ok(ModelEvent::Finished(FinishReason::Stop)),
        ]);
        let background = BackgroundModel::main(Arc::clone(&script) as Arc<_>, "main");
        let answer = block_on(forked_query(&background, &params(), query("?"))).unwrap();
        assert_eq!(answer.text, "{\"a\":1}");
        assert_eq!((answer.json, answer.usage), (Some(json!({"a": 1})), usage));

        let request = script.last_request();
        assert_eq!(request.tools, tools());
        assert!(!request.thinking);
        assert_eq!(request.messages[..2], *params().history());
        assert_eq!(request.messages[2], Message::text(Role::User, "?"));
        assert_eq!(
            (request.response_schema, request.max_output_tokens),
            (Some(json!({"type": "object"})), Some(9))
        );
    }

    #[test]
    fn a_question_after_a_message_of_the_user_is_part_of_it() {
        let script = Script::answering([Ok(ModelEvent::Finished(FinishReason::Stop))]);
        let background = BackgroundModel::main(Arc::clone(&script) as Arc<_>, "main");
        let after = [Message::text(Role::User, "I took that back.")];
        let query = Query { after: &after, ..query("?") };
        block_on(forked_query(&background, &params(), query)).unwrap();
        let messages = script.last_request().messages;
        assert_eq!(messages.len(), 3);
        assert_eq!(messages[2].to_text(), "I took that back.\n\n?");
    }

    #[test]
    fn a_model_that_cannot_share_the_cache_gets_no_tools() {
        for (name, provider) in [("fast", ProviderRelation::Same), ("main", ProviderRelation::Other)] {
            let script = Script::answering([Ok(ModelEvent::Finished(FinishReason::Stop))]);
            let background = BackgroundModel::fast(Arc::clone(&script) as Arc<_>, name, provider);
            block_on(forked_query(&background, &params(), query("?"))).unwrap();
            assert_eq!((script.last_request().tools.len(), &*script.last_request().model), (0, name));
        }
    }

    #[test]
    fn a_cut_or_failed_answer_is_an_error_that_knows_its_cost() {
        let usage = Usage { input_tokens: 7, ..Usage::default() };
        let script = Script::answering([Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Text("{".into()))]);
        let background = BackgroundModel::main(script, "main");
        let error = block_on(forked_query(&background, &params(), query("?"))).unwrap_err();
        assert_eq!(
            error,
            QueryError { error: ModelError::Cut { provider: "main".into(), source: None }, usage }
        );
    }

    #[test]
    fn json_in_words() {
        let cases = [
            ("{\"a\":1}", Some(json!({"a": 1}))),
            ("\n```json\n{\"a\":1}\n```\n", Some(json!({"a": 1}))),
            ("```\n[1]\n```", Some(json!([1]))),
            ("commit this", None),
            ("{\"a\":", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_json(text), expected, "{text:?}");
        }
    }
}
