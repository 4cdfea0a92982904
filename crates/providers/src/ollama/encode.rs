use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ID, Options};
use crate::openai::StructuredOutput;
use crate::wire::{encoding, layout};
use headstart_forked_query::{Message, ModelRequest, Role, ToolSchema};

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The conversation must be legal ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked
/// here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    // A model that always thinks would be held to the form in its thoughts.
    let structured =
        if always_thinks(&request.model) { StructuredOutput::Instruction } else { options.structured_output };
    let schema = request.response_schema.as_ref();
    let in_words = schema.filter(|_| structured != StructuredOutput::JsonSchema);
    encoding::to_bytes(&Body {
        model: &request.model,
        stream: true,
        tools: request.tools.iter().map(|function| Tool { r#type: "function", function }).collect(),
        messages: messages(request, in_words),
        // A model that cannot think refuses to be asked to think, but not to be asked not to.
        think: (!request.thinking)
            .then(|| if always_thinks(&request.model) { "low".into() } else { false.into() }),
        format: schema.and_then(|schema| format(schema, structured)),
        options: model_options(request, options),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
    // The fields from here on may differ between requests of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    options: Map<String, Value>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: &'a ToolSchema,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    /// The model's earlier thoughts, which some models want back within a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    function: WireFunction<'a>,
}

/// It has no id: results are paired with calls by their order.
#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
}

/// Whether the model takes a level of thinking instead of a switch.
fn always_thinks(model: &str) -> bool {
    model.contains("gpt-oss")
}

fn messages<'a>(request: &'a ModelRequest, schema_in_words: Option<&Value>) -> Vec<WireMessage<'a>> {
    let system = request.system.iter().map(|system| text_message("system", system.clone()));
    let messages = request.messages.iter().flat_map(|message| encode_message(message, &request.model));
    let mut list: Vec<WireMessage<'_>> = Vec::new();
    for message in system.chain(messages) {
        match list.last_mut() {
            // Many chat templates refuse a conversation in which the roles do not alternate.
            Some(before) if before.role == "user" && message.role == "user" => {
                before.content.push_str("\n\n");
                before.content.push_str(&message.content);
                before.images.extend(message.images);
            }
            _ => list.push(message),
        }
    }
    if let (Some(schema), Some(last)) = (schema_in_words, list.last_mut()) {
        last.content.push_str(&encoding::schema_instruction(schema));
    }
    list
}

fn text_message<'a>(role: &'static str, content: String) -> WireMessage<'a> {
    WireMessage { role, content, images: Vec::new(), thinking: None, tool_calls: Vec::new(), tool_name: None }
}

fn encode_message<'a>(message: &'a Message, model: &str) -> Vec<WireMessage<'a>> {
    match message.role {
        Role::User => {
            let images = message.images().map(|image| &*image.data).collect();
            vec![WireMessage { images, ..text_message("user", message.to_text()) }]
        }
        Role::Model => {
            let tool_calls = message
                .tool_calls()
                .map(|call| WireCall { function: WireFunction { name: &call.name, arguments: &call.args } });
            let fields = layout::fields(message, ID, model);
            let thinking = fields.and_then(|fields| fields.get("thinking")).and_then(Value::as_str);
            let tool_calls = tool_calls.collect();
            vec![WireMessage { thinking, tool_calls, ..text_message("assistant", message.to_text()) }]
        }
        Role::Tool => encoding::tool_results(message)
            .map(|result| WireMessage {
                tool_name: Some(&result.name),
                ..text_message("tool", encoding::outcome_text(result))
            })
            .collect(),
    }
}

fn format(schema: &Value, structured: StructuredOutput) -> Option<Value> {
    match structured {
        StructuredOutput::Instruction => None,
        StructuredOutput::JsonObject => Some(json!("json")),
        StructuredOutput::JsonSchema => Some(schema.clone()),
    }
}

fn model_options(request: &ModelRequest, options: &Options) -> Map<String, Value> {
    let named = [
        ("num_ctx", options.context_tokens),
        ("num_predict", encoding::output_limit(request, always_thinks(&request.model))),
    ];
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    /// A schema as a field needs no words, which would have to be read; a model that always thinks gets the words.
    #[test]
    fn a_schema_is_a_field_or_stands_in_words() {
        let schema = json!({ "type": "object", "title": "an answer" });
        let body = |model: &str, structured_output| {
            let options = Options { structured_output, ..Options::default() };
            let response_schema = Some(schema.clone());
            let request = ModelRequest { model: model.into(), thinking: false, response_schema, ..request() };
            let body: Value = serde_json::from_slice(&encode(&request, &options)).unwrap_or_default();
            (body.get("format").cloned(), body["messages"].to_string().contains("an answer"))
        };
        assert_eq!(body("small", StructuredOutput::JsonSchema), (Some(schema.clone()), false));
        assert_eq!(body("small", StructuredOutput::Instruction), (None, true));
        assert_eq!(body("gpt-oss:20b", StructuredOutput::JsonSchema), (None, true));
    }
}
