use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    CacheAnnotations, CallIds, ID, OutputLimit, ReturnedThoughts, StreamUsage, StructuredOutput,
    ThinkingSwitch, WireOptions, does_not_think, thoughts,
};
use crate::wire::cache_control::{CacheControl, EPHEMERAL};
use crate::wire::encoding;
use crate::wire::given_ids::GivenIds;
use crate::wire::layout;
use headstart_forked_query::{Message, ModelRequest, Role, ToolResult, ToolSchema};

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked
/// here.
pub fn encode(request: &ModelRequest, options: &WireOptions) -> Vec<u8> {
    let question = request.response_schema.as_ref();
    let in_words = question.filter(|_| options.structured_output != StructuredOutput::JsonSchema);
    // Thoughts count towards the limit, so there must be room for them besides the answer.
    let is_sure = options.thinking == ThinkingSwitch::EnableThinking || does_not_think(&request.model);
    let limit = encoding::output_limit(request, !is_sure);
    let no_thinking = (!request.thinking).then_some(&options.thinking);
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: (options.stream_usage == StreamUsage::Requested)
            .then_some(StreamOptions { include_usage: true }),
        tools: tools(&request.tools, options.cache),
        messages: messages(request, in_words, options),
        max_tokens: limit.filter(|_| options.output_limit == OutputLimit::MaxTokens),
        max_completion_tokens: limit.filter(|_| options.output_limit == OutputLimit::MaxCompletionTokens),
        response_format: question.and_then(|schema| response_format(schema, options.structured_output)),
        enable_thinking: no_thinking.filter(|off| **off == ThinkingSwitch::EnableThinking).map(|_| false),
        chat_template_kwargs: no_thinking
            .filter(|off| question.is_some() && **off == ThinkingSwitch::ChatTemplate)
            .map(|_| json!({ "enable_thinking": false })),
        thinking: no_thinking
            .filter(|off| question.is_some() && **off == ThinkingSwitch::Disabled)
            .map(|_| json!({ "type": "disabled" })),
        reasoning_effort: no_thinking.and_then(|off| match off {
            ThinkingSwitch::ReasoningEffort(effort) if question.is_some() => effort.value_for(&request.model),
            _ => None,
        }),
        prompt_cache_key: options.prompt_cache_key.as_deref(),
    };
    encoding::to_bytes(&body)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
    // The fields from here on may differ between requests of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: &'a ToolSchema,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: Content,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    /// What the model wants back with the message.
    #[serde(flatten)]
    thoughts: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks([Block; 1]),
    /// Words and images.
    WithImages(Vec<ContentBlock>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Block {
    r#type: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
    /// What the model wants back with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: String,
}

fn tools(tools: &[ToolSchema], cache: CacheAnnotations) -> Vec<Tool<'_>> {
    let mut tools: Vec<_> =
        tools.iter().map(|function| Tool { r#type: "function", function, cache_control: None }).collect();
    if let (CacheAnnotations::DashScope, Some(last)) = (cache, tools.last_mut()) {
        last.cache_control = Some(EPHEMERAL);
    }
    tools
}

fn messages<'a>(
    request: &'a ModelRequest,
    schema_in_words: Option<&Value>,
    options: &WireOptions,
) -> Vec<WireMessage<'a>> {
    let ids = GivenIds::of(&request.messages, ID, &request.model);
    let encoder = MessageEncoder {
        cache: options.cache.for_model(&request.model),
        returned_thoughts: options.returned_thoughts,
        call_ids: options.call_ids,
        ids: &ids,
        model: &request.model,
    };
    let mut list = Vec::new();
    if let Some(system) = &request.system {
        list.push(encoder.message("system", system.clone()));
        set_cache_control(&mut list);
    }
    let (shared, question) = encoding::split_question(request);
    list.extend(shared.iter().flat_map(|message| encoder.encode(message)));
    // The previous request had its last mark there.
    if let Some(before_answer) = list.iter().rposition(|message| message.role == "assistant") {
        set_cache_control(&mut list[..before_answer]);
    }
    if !shared.is_empty() {
        set_cache_control(&mut list);
    }
    list.extend(question.into_iter().flat_map(|message| encoder.encode(message)));
    let mut list = join_user_messages(list);
    if let (Some(schema), Some(last)) = (schema_in_words, list.last_mut()) {
        last.content.push_str(&encoding::schema_instruction(schema));
    }
    list
}

/// Makes one message of the user's messages that follow each other, as after a turn that was cut off before its answer:
/// the chat templates of many models that run locally refuse a conversation in which the roles do not alternate.
fn join_user_messages(list: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let mut joined: Vec<WireMessage<'_>> = Vec::with_capacity(list.len());
    for message in list {
        match joined.last_mut() {
            Some(before) if before.role == "user" && message.role == "user" => {
                before.content.join(message.content);
            }
            _ => joined.push(message),
        }
    }
    joined
}

/// Marks the last message that has a text to mark.
fn set_cache_control(messages: &mut [WireMessage<'_>]) {
    let last = messages.iter_mut().rev().find_map(|message| match &mut message.content {
        Content::Blocks([block]) => Some(block),
        Content::Text(_) | Content::WithImages(_) => None,
    });
    if let Some(block) = last {
        block.cache_control = Some(EPHEMERAL);
    }
}

/// The longest id that OpenAI accepts.
const SHORT_ID: usize = 40;

#[derive(Clone, Copy)]
struct MessageEncoder<'r> {
    cache: CacheAnnotations,
    call_ids: CallIds,
    ids: &'r GivenIds<'r>,
    returned_thoughts: ReturnedThoughts,
    model: &'r str,
}

impl MessageEncoder<'_> {
    fn encode(self, message: &Message) -> Vec<WireMessage<'_>> {
        match message.role {
            Role::User => vec![self.user(message)],
            Role::Model => self.model(message).into_iter().collect(),
            Role::Tool => encoding::tool_results(message).map(|result| self.result(result)).collect(),
        }
    }

    fn user(self, message: &Message) -> WireMessage<'_> {
        let text = message.to_text();
        if message.images().next().is_none() {
            return self.message("user", text);
        }
        let images = message
            .images()
            .map(|image| ContentBlock::ImageUrl { image_url: ImageUrl { url: encoding::data_url(image) } });
        let content =
            Content::WithImages(std::iter::once(ContentBlock::Text { text }).chain(images).collect());
        WireMessage { content, ..self.message("user", String::new()) }
    }

    /// A message of the model; `None` if it said and called nothing, because no server accepts an empty message.
    fn model(self, message: &Message) -> Option<WireMessage<'_>> {
        let text = message.to_text();
        let tool_calls: Vec<_> = layout::with_calls(message, ID, self.model)
            .map(|(call, extra_content)| WireCall {
                id: self.id(&call.id),
                r#type: "function",
                function: WireFunction { name: &call.name, arguments: encoding::to_text(&call.args) },
                extra_content: extra_content.filter(|_| self.returned_thoughts != ReturnedThoughts::Never),
            })
            .collect();
        if text.is_empty() && tool_calls.is_empty() {
            return None;
        }
        let thoughts = self.thoughts(message);
        Some(WireMessage { tool_calls, thoughts, ..self.message("assistant", text) })
    }

    /// What the model wants back with this message.
    fn thoughts(self, message: &Message) -> Map<String, Value> {
        if self.returned_thoughts == ReturnedThoughts::Never {
            return Map::new();
        }
        let given = layout::fields(message, ID, self.model).map(thoughts::returned_fields);
        let mut thoughts = given.unwrap_or_default();
        if self.returned_thoughts == ReturnedThoughts::Always && message.tool_calls().next().is_some() {
            thoughts.entry(thoughts::REASONING_CONTENT).or_insert_with(|| "".into());
        }
        thoughts
    }

    fn result(self, result: &ToolResult) -> WireMessage<'_> {
        let id = self.id(&result.id);
        WireMessage { tool_call_id: Some(id), ..self.message("tool", encoding::outcome_text(result)) }
    }

    fn id(self, id: &str) -> Cow<'_, str> {
        match self.call_ids {
            CallIds::AsGiven => self.ids.given_or_same(id),
            CallIds::Short => encoding::plain_id_within(id, SHORT_ID),
        }
    }

    fn message<'a>(self, role: &'static str, text: String) -> WireMessage<'a> {
        // An empty block is refused; an empty string is not.
        let content = if self.cache == CacheAnnotations::None || text.is_empty() {
            Content::Text(text)
        } else {
            Content::Blocks([Block { r#type: "text", text, cache_control: None }])
        };
        WireMessage { role, tool_call_id: None, content, tool_calls: Vec::new(), thoughts: Map::new() }
    }
}

impl Content {
    /// Appends what another message of the same role says.
    fn join(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::WithImages(blocks), more) => blocks.extend(more.into_blocks()),
            (_, more @ Self::WithImages(_)) => {
                let before = std::mem::replace(self, Self::Text(String::new()));
                *self =
                    Self::WithImages(before.into_blocks().into_iter().chain(more.into_blocks()).collect());
            }
            (_, Self::Text(text) | Self::Blocks([Block { text, .. }])) => {
                self.push_str(&format!("\n\n{text}"));
            }
        }
    }

    fn into_blocks(self) -> Vec<ContentBlock> {
        match self {
            Self::Text(text) | Self::Blocks([Block { text, .. }]) => vec![ContentBlock::Text { text }],
            Self::WithImages(blocks) => blocks,
        }
    }

    fn push_str(&mut self, more: &str) {
        match self {
            Self::Text(text) => text.push_str(more),
            Self::Blocks([block]) => block.text.push_str(more),
            Self::WithImages(blocks) => {
                blocks.push(ContentBlock::Text { text: more.trim_start().to_owned() });
            }
        }
    }
}

fn response_format(schema: &Value, structured: StructuredOutput) -> Option<Value> {
    match structured.json_schema(schema) {
        Some(schema) => Some(json!({ "type": "json_schema", "json_schema": schema })),
        None => structured.json_object(),
    }
}

#[cfg(test)]
mod tests;
