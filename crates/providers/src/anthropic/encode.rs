use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ID, Options};
use crate::wire::cache_control::{CacheControl, EPHEMERAL};
use crate::wire::encoding;
use crate::wire::given_ids::GivenIds;
use crate::wire::layout::{self, AnswerPiece};
use headstart_forked_query::{Image, Message, ModelRequest, Part, Role, ToolOutcome, ToolResult, ToolSchema};

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked
/// here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    encoding::to_bytes(&Body {
        model: &request.model,
        stream: true,
        tools: tools(&request.tools),
        system: request
            .system
            .iter()
            .filter_map(|system| text(system.as_str()))
            .map(Block::with_cache_control)
            .collect(),
        messages: messages(request),
        max_tokens: max_tokens(request, options),
    })
}

/// The limit of the answer. The provider counts thoughts too, so there must be room for them besides the answer.
fn max_tokens(request: &ModelRequest, options: &Options) -> u32 {
    /// More tokens than a model thinks about a single question.
    const ROOM: u32 = 4_096;
    match request.max_output_tokens {
        Some(tokens) if thinks_unasked(&request.model) => tokens.saturating_add(ROOM),
        Some(tokens) => tokens,
        None => options.max_tokens,
    }
}

/// Whether the model thinks without being asked. From the fifth family on this is the default, and some models cannot
/// be kept from it.
fn thinks_unasked(model: &str) -> bool {
    let name = model.rsplit_once("claude-").map_or("", |(_, name)| name);
    name.split('-').find_map(|word| word.parse::<u32>().ok()).is_some_and(|family| 5 <= family)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<WireMessage<'a>>,
    // The fields from here on may differ between requests of one conversation.
    max_tokens: u32,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    // The last field, so that all bytes before it are the same as in a block without a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "String::is_empty")]
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    /// A block that the model wants back unchanged.
    #[serde(untagged)]
    Thought(&'a Map<String, Value>),
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: &'a str,
}

impl Block<'_> {
    fn with_cache_control(mut self) -> Self {
        self.cache_control = Some(EPHEMERAL);
        self
    }
}

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, cache_control: None }
    }
}

fn tools(tools: &[ToolSchema]) -> Vec<Tool<'_>> {
    let mut tools: Vec<_> = tools
        .iter()
        .map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.parameters,
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(EPHEMERAL);
    }
    tools
}

fn messages(request: &ModelRequest) -> Vec<WireMessage<'_>> {
    let (shared, question) = encoding::split_question(request);
    let ids = GivenIds::of(&request.messages, ID, &request.model);
    let message = |turn| message(turn, &request.model, &ids);
    let mut list: Vec<_> = encoding::group_tool_messages(shared).filter_map(message).collect();
    let before_answer = list.iter().rposition(|message| message.role == "assistant").unwrap_or_default();
    set_cache_control(&mut list[..before_answer]);
    set_cache_control(&mut list);
    let question = question.into_iter().filter_map(|question| message(std::slice::from_ref(question)));
    list.extend(question);
    if let (Some(schema), Some(last)) = (&request.response_schema, list.last_mut()) {
        last.content.push(
            Content::Text { text: encoding::schema_instruction(schema).trim_start().to_owned().into() }
                .into(),
        );
    }
    list
}

/// Marks the last block with content, because a mark on an empty block or on a thought is refused.
fn set_cache_control(messages: &mut [WireMessage<'_>]) {
    let blocks = messages.iter_mut().flat_map(|message| &mut message.content).rev();
    let full = |block: &&mut Block| match &block.content {
        Content::ToolResult { content, .. } => !content.trim().is_empty(),
        content => !content.is_thought(),
    };
    if let Some(block) = blocks.into_iter().find(full) {
        block.cache_control = Some(EPHEMERAL);
    }
}

/// One message, or several consecutive tool messages as one; `None` if it is empty, because an empty message is
/// refused.
fn message<'a>(turn: &'a [Message], model: &str, ids: &GivenIds<'_>) -> Option<WireMessage<'a>> {
    let first = turn.first()?;
    if first.role == Role::Model {
        return answer(first, model, ids);
    }
    let content = turn.iter().flat_map(|message| &message.parts);
    let content: Vec<_> = content.filter_map(|part| block(part, ids)).collect();
    (!content.is_empty()).then_some(WireMessage { role: "user", content })
}

fn block<'a>(part: &'a Part, ids: &GivenIds<'_>) -> Option<Block<'a>> {
    match part {
        Part::Text { text: words } => text(words.as_str()),
        Part::ToolResult(result) => Some(tool_result(result, ids).into()),
        Part::Image(image) => {
            let Image { media_type, data } = image;
            Some(
                Content::Image { source: Source { r#type: "base64", media_type: media_type.as_str(), data } }
                    .into(),
            )
        }
        Part::ToolCall(_) | Part::Opaque(_) => None,
    }
}

/// What the model said, with the thoughts that it wants back in their places.
fn answer<'a>(message: &'a Message, model: &str, ids: &GivenIds<'_>) -> Option<WireMessage<'a>> {
    let pieces = layout::pieces(message, ID, model).into_iter();
    let mut content: Vec<_> = pieces.filter_map(|piece| encode_piece(piece, ids)).collect();
    // A thought may be last if only white space followed it.
    while content.last().is_some_and(|block| block.content.is_thought()) {
        content.pop();
    }
    (!content.is_empty()).then_some(WireMessage { role: "assistant", content })
}

fn encode_piece<'a>(piece: AnswerPiece<'a>, ids: &GivenIds<'_>) -> Option<Block<'a>> {
    match piece {
        AnswerPiece::Text(words, _) => text(words),
        AnswerPiece::Call(call, _) => Some(
            Content::ToolUse {
                id: ids.given_or_plain(&call.id),
                name: encoding::plain_id(&call.name),
                input: &call.args,
            }
            .into(),
        ),
        AnswerPiece::Raw(thought) => is_thought(thought).then(|| Content::Thought(thought).into()),
    }
}

/// Whether a block is a thought. Nothing else is sent back unchanged, whatever a history file contains.
fn is_thought(block: &Map<String, Value>) -> bool {
    block.get("type").is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking")
}

impl Content<'_> {
    fn is_thought(&self) -> bool {
        matches!(self, Self::Thought(_))
    }
}

/// A text block; `None` for white space, which is refused.
fn text<'a>(text: impl Into<Cow<'a, str>>) -> Option<Block<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then(|| Content::Text { text }.into())
}

fn tool_result<'a>(result: &'a ToolResult, ids: &GivenIds<'_>) -> Content<'a> {
    let is_error = matches!(result.outcome, ToolOutcome::Error(_));
    Content::ToolResult {
        tool_use_id: ids.given_or_plain(&result.id),
        content: encoding::outcome_text(result),
        is_error: is_error.then_some(true),
    }
}
