use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{ID, Options};
use crate::text_tools::{ToolSupport, with_text_tools};
use crate::wire::encoding;
use crate::wire::given_ids::GivenIds;
use headstart_forked_query::{Image, ImageType, Message, ModelRequest, Part, Role, ToolOutcome, ToolResult};

/// The most stop sequences that the service accepts.
const MAX_STOPS: usize = 4;

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked
/// here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    let has_calls = request.messages.iter().any(|message| message.tool_calls().next().is_some());
    // A request without tools must not contain calls and results.
    let request = if request.tools.is_empty() && has_calls {
        Cow::Owned(with_text_tools(request, ToolSupport::None))
    } else {
        Cow::Borrowed(request)
    };
    let cache_points = supported_cache_points(&request.model);
    let mut body = Map::new();
    if !request.tools.is_empty() {
        body.insert("toolConfig".into(), json!({ "tools": tools(&request, cache_points) }));
    }
    if let Some(system) = request.system.as_deref().filter(|system| !system.trim().is_empty()) {
        let mut blocks = vec![json!({ "text": system })];
        blocks.extend((cache_points != CachePoints::None).then(cache_point));
        body.insert("system".into(), blocks.into());
    }
    body.insert("messages".into(), messages(&request, cache_points).into());
    let stops = options.stop_sequences.iter().filter(|stop| !stop.trim().is_empty()).take(MAX_STOPS);
    let stops: Vec<_> = stops.cloned().collect();
    let mut inference = Map::new();
    if let Some(tokens) = encoding::output_limit(&request, false) {
        inference.insert("maxTokens".into(), tokens.into());
    }
    if !stops.is_empty() {
        inference.insert("stopSequences".into(), stops.into());
    }
    if !inference.is_empty() {
        body.insert("inferenceConfig".into(), inference.into());
    }
    encoding::to_bytes(&body)
}

/// Where a model accepts cache points. Other places make it refuse the request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CachePoints {
    None,
    Messages,
    MessagesAndTools,
}

fn supported_cache_points(model: &str) -> CachePoints {
    if model.contains("anthropic.claude") {
        CachePoints::MessagesAndTools
    } else if model.contains("amazon.nova") {
        CachePoints::Messages
    } else {
        CachePoints::None
    }
}

fn cache_point() -> Value {
    json!({ "cachePoint": { "type": "default" } })
}

fn tools(request: &ModelRequest, cache_points: CachePoints) -> Vec<Value> {
    let tools = request.tools.iter().map(|tool| {
        let schema = json!({ "json": tool.parameters });
        json!({ "toolSpec": { "name": tool.name, "description": tool.description, "inputSchema": schema } })
    });
    tools.chain((cache_points == CachePoints::MessagesAndTools).then(cache_point)).collect()
}

/// The consecutive blocks of one side, because two messages of one side in a row are refused.
struct WireMessage {
    role: &'static str,
    content: Vec<Value>,
}

fn messages(request: &ModelRequest, cache_points: CachePoints) -> Vec<Value> {
    let ids = GivenIds::of(&request.messages, ID, &request.model);
    let (shared, question) = encoding::split_question(request);
    let mut turns = Vec::new();
    add(&mut turns, shared, &ids);
    if cache_points != CachePoints::None {
        let before_answer = turns.iter().rposition(|turn| turn.role == "assistant").unwrap_or_default();
        let last_before = turns[..before_answer].len().checked_sub(1);
        let marked = [last_before, turns.len().checked_sub(1)];
        for (place, turn) in turns.iter_mut().enumerate() {
            if marked.contains(&Some(place)) {
                turn.content.push(cache_point());
            }
        }
    }
    add(&mut turns, question.map_or(&[], std::slice::from_ref), &ids);
    if let (Some(schema), Some(last)) = (&request.response_schema, turns.last_mut()) {
        last.content.push(json!({ "text": encoding::schema_instruction(schema).trim_start() }));
    }
    let message = |turn: WireMessage| json!({ "role": turn.role, "content": turn.content });
    turns.into_iter().map(message).collect()
}

fn add(turns: &mut Vec<WireMessage>, messages: &[Message], ids: &GivenIds<'_>) {
    for message in messages {
        let role = if message.role == Role::Model { "assistant" } else { "user" };
        let content = message.parts.iter().filter_map(|part| block(part, ids));
        let content: Vec<_> = content.collect();
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some(turn) if turn.role == role => turn.content.extend(content),
            _ => turns.push(WireMessage { role, content }),
        }
    }
}

fn block(part: &Part, ids: &GivenIds<'_>) -> Option<Value> {
    match part {
        // A blank text is refused.
        Part::Text { text } => (!text.trim().is_empty()).then(|| json!({ "text": text })),
        Part::Image(Image { media_type, data }) => {
            let format = match media_type {
                ImageType::Png => "png",
                ImageType::Jpeg => "jpeg",
                ImageType::Gif => "gif",
                ImageType::WebP => "webp",
            };
            Some(json!({ "image": { "format": format, "source": { "bytes": data } } }))
        }
        Part::ToolCall(call) => Some(json!({
            "toolUse": { "toolUseId": ids.given_or_plain(&call.id), "name": encoding::plain_id(&call.name), "input": call.args }
        })),
        Part::ToolResult(result) => Some(tool_result(result, ids)),
        Part::Opaque(_) => None,
    }
}

fn tool_result(result: &ToolResult, ids: &GivenIds<'_>) -> Value {
    let text = encoding::outcome_text(result);
    let text = if text.trim().is_empty() { "(nothing)" } else { &text };
    let mut json = json!({ "toolUseId": ids.given_or_plain(&result.id), "content": [{ "text": text }] });
    if matches!(result.outcome, ToolOutcome::Error(_)) {
        json["status"] = "error".into();
    }
    json!({ "toolResult": json })
}
