use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::Options;
use crate::openai::StructuredOutput;
use crate::wire::words;
use crate::{Message, ModelRequest, Role, ToolSchema};

/// The body of a streaming request; the same request gives the same bytes. See the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](crate::check_pairing)); this is not checked here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    let schema = request.response_schema.as_ref();
    let effort = options.reasoning_effort.as_ref().filter(|_| !request.thinking);
    words::to_bytes(&Body {
        model: &request.model,
        stream: true,
        store: false,
        instructions: request.system.as_deref(),
        tools: request.tools.iter().map(Tool::from).collect(),
        input: input(request, options.structured_output),
        max_output_tokens: request.max_output_tokens,
        text: schema.and_then(|schema| text_format(schema, options.structured_output)),
        reasoning: effort.map(|effort| json!({ "effort": effort })),
        prompt_cache_key: options.prompt_cache_key.as_deref(),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
    // From here on requests of one conversation may differ.
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
    // Where it is not said, schemas are taken to be strict, which ours need not be.
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
    Message { role: &'static str, content: String },
    FunctionCall { call_id: Cow<'a, str>, name: Cow<'a, str>, arguments: String },
    FunctionCallOutput { call_id: Cow<'a, str>, output: String },
}

fn input(request: &ModelRequest, structured: StructuredOutput) -> Vec<Item<'_>> {
    let mut items: Vec<_> = request.messages.iter().flat_map(encode_message).collect();
    let in_words = structured != StructuredOutput::JsonSchema;
    if let (true, Some(schema), Some(Item::Message { content, .. })) =
        (in_words, &request.response_schema, items.last_mut())
    {
        content.push_str(&words::schema(schema));
    }
    items
}

fn encode_message(message: &Message) -> Vec<Item<'_>> {
    let said = |role: &'static str| {
        let content = message.to_text();
        (!content.is_empty()).then_some(Item::Message { role, content })
    };
    match message.role {
        Role::User => said("user").into_iter().collect(),
        Role::Model => {
            let calls = message.tool_calls().map(|call| Item::FunctionCall {
                call_id: words::plain(&call.id),
                name: words::plain(&call.name),
                arguments: words::to_text(&call.args),
            });
            said("assistant").into_iter().chain(calls).collect()
        }
        Role::Tool => words::results(message)
            .map(|result| Item::FunctionCallOutput {
                call_id: words::plain(&result.id),
                output: words::outcome(result),
            })
            .collect(),
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
