use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ID, Options};
use crate::openai::{StructuredOutput, does_not_think};
use crate::wire::encoding;
use crate::wire::given_ids::GivenIds;
use crate::wire::layout::{self, AnswerPiece};
use headstart_forked_query::{Message, ModelRequest, Role, ToolSchema};

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked
/// here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    let schema = request.response_schema.as_ref();
    let is_question = schema.is_some() && !request.thinking;
    let effort = options.effort.value_for(&request.model).filter(|_| is_question);
    encoding::to_bytes(&Body {
        model: &request.model,
        stream: true,
        store: false,
        include: if options.encrypted_thoughts.is_wanted(&request.model) { ENCRYPTED_THOUGHTS } else { &[] },
        instructions: request.system.as_deref(),
        tools: request.tools.iter().map(Tool::from).collect(),
        input: input(request, options.structured_output),
        max_output_tokens: encoding::output_limit(request, !does_not_think(&request.model)),
        text: schema.and_then(|schema| text_format(schema, options.structured_output)),
        reasoning: effort.map(|effort| json!({ "effort": effort })),
        prompt_cache_key: options.prompt_cache_key.as_deref(),
    })
}

/// What a reasoning model wants back if the provider stores nothing.
const ENCRYPTED_THOUGHTS: &[&str] = &["reasoning.encrypted_content"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
    // The fields from here on may differ between requests of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    // By default the provider takes schemas as strict, which ours may not be.
    strict: bool,
}

impl<'a> From<&'a ToolSchema> for Tool<'a> {
    fn from(tool: &'a ToolSchema) -> Self {
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: String,
    },
    /// An item that the model wants back unchanged.
    #[serde(untagged)]
    Reasoning(&'a Map<String, Value>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// Words and images.
    Parts(Vec<ContentPart>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    InputText { text: String },
    InputImage { image_url: String },
}

impl Content {
    fn push_str(&mut self, more: &str) {
        match self {
            Self::Text(text) => text.push_str(more),
            Self::Parts(parts) => parts.push(ContentPart::InputText { text: more.trim_start().to_owned() }),
        }
    }
}

fn input(request: &ModelRequest, structured: StructuredOutput) -> Vec<Item<'_>> {
    let ids = GivenIds::of(&request.messages, ID, &request.model);
    let items = request.messages.iter().flat_map(|message| encode_message(message, &request.model, &ids));
    let mut items: Vec<_> = items.collect();
    let in_words = structured != StructuredOutput::JsonSchema;
    if let (true, Some(schema), Some(Item::Message { content, .. })) =
        (in_words, &request.response_schema, items.last_mut())
    {
        content.push_str(&encoding::schema_instruction(schema));
    }
    items
}

fn encode_message<'a>(message: &'a Message, model: &str, ids: &GivenIds<'_>) -> Vec<Item<'a>> {
    match message.role {
        Role::User => {
            let text = message.to_text();
            let images = message
                .images()
                .map(|image| ContentPart::InputImage { image_url: encoding::data_url(image) });
            let mut seen: Vec<_> = images.collect();
            let content = if seen.is_empty() {
                Content::Text(text)
            } else {
                seen.insert(0, ContentPart::InputText { text });
                Content::Parts(seen)
            };
            let is_empty = matches!(&content, Content::Text(text) if text.is_empty());
            let said = (!is_empty).then_some(Item::Message { role: "user", content, phase: None });
            said.into_iter().collect()
        }
        Role::Model => {
            let pieces = layout::pieces(message, ID, model).into_iter();
            let mut items: Vec<_> = pieces.filter_map(|piece| encode_piece(piece, ids)).collect();
            // The provider refuses reasoning that is followed by nothing.
            while matches!(items.last(), Some(Item::Reasoning(_))) {
                items.pop();
            }
            items
        }
        Role::Tool => encoding::tool_results(message)
            .map(|result| Item::FunctionCallOutput {
                call_id: ids.given_or_plain(&result.id),
                output: encoding::outcome_text(result),
            })
            .collect(),
    }
}

fn encode_piece<'a>(piece: AnswerPiece<'a>, ids: &GivenIds<'_>) -> Option<Item<'a>> {
    match piece {
        AnswerPiece::Text(text, phase) => (!text.is_empty()).then(|| Item::Message {
            role: "assistant",
            content: Content::Text(text.into_owned()),
            phase: phase.and_then(Value::as_str),
        }),
        AnswerPiece::Call(call, _) => Some(Item::FunctionCall {
            call_id: ids.given_or_plain(&call.id),
            name: encoding::plain_id(&call.name),
            arguments: encoding::to_text(&call.args),
        }),
        // No other item is sent back unchanged, whatever a history file contains.
        AnswerPiece::Raw(item) => {
            item.get("type").is_some_and(|kind| kind == "reasoning").then_some(Item::Reasoning(item))
        }
    }
}

fn text_format(schema: &Value, structured: StructuredOutput) -> Option<Value> {
    let format = match structured.json_schema(schema) {
        Some(mut schema) => {
            schema.insert("type".into(), "json_schema".into());
            Value::Object(schema)
        }
        None => structured.json_object()?,
    };
    Some(json!({ "format": format }))
}
