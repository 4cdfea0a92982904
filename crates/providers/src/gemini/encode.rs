use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{CallIds, ID, LONGEST_CACHE, Options, ThinkingLimit};
use crate::wire::encoding;
use crate::wire::given_ids::GivenIds;
use crate::wire::layout::{self, AnswerPiece};
use headstart_forked_query::{Message, ModelRequest, Part, Role, ToolOutcome, ToolResult, ToolSchema};

/// The placeholder that the provider accepts as the signature of a call that it did not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The body of a streaming request. The same request gives the same bytes; see the [module](super) for their order.
///
/// The model is part of the URL. The conversation must be legal
/// ([`check_pairing`](headstart_forked_query::check_pairing)), which is not checked here.
pub fn encode(request: &ModelRequest, options: &Options) -> Vec<u8> {
    let cached = options.cached.as_ref().and_then(|cached| Some((&cached.name, cached.covers(request)?)));
    let known = cached.map_or(0, |(_, known)| known);
    let prefix = if cached.is_some() { Prefix::default() } else { prefix(request) };
    let mut contents = contents(request, known, options.call_ids);
    if let (Some(schema), Some(last)) = (&request.response_schema, contents.last_mut()) {
        last.parts.push(WirePart::text(encoding::schema_instruction(schema).trim_start().to_owned()));
    }
    encoding::to_bytes(&Body {
        cached_content: cached.map(|(name, _)| name.as_str()),
        prefix,
        contents,
        generation_config: generation_config(request, &options.thinking),
    })
}

/// The body of a `POST` to `/cachedContents` that stores everything in this request for some time.
pub fn encode_cache(request: &ModelRequest, options: &Options, lifetime: std::time::Duration) -> Vec<u8> {
    encoding::to_bytes(&CacheBody {
        model: format!("models/{}", request.model.trim_start_matches("models/")),
        prefix: prefix(request),
        contents: contents(request, 0, options.call_ids),
        ttl: format!("{}s", lifetime.min(LONGEST_CACHE).as_secs().max(1)),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_content: Option<&'a str>,
    #[serde(flatten)]
    prefix: Prefix<'a>,
    contents: Vec<Content<'a>>,
    // The fields from here on may differ between requests of one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Value>,
}

#[derive(Serialize)]
struct CacheBody<'a> {
    model: String,
    #[serde(flatten)]
    prefix: Prefix<'a>,
    contents: Vec<Content<'a>>,
    ttl: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Prefix<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [WirePart<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<WirePart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(flatten)]
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Data<'a> {
    Text(Cow<'a, str>),
    #[serde(rename = "inlineData", rename_all = "camelCase")]
    Inline {
        mime_type: &'static str,
        data: &'a str,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        name: &'a str,
        args: &'a Map<String, Value>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        name: &'a str,
        response: Value,
    },
}

impl<'a> WirePart<'a> {
    fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Data::Text(text.into()).into()
    }
}

impl<'a> From<Data<'a>> for WirePart<'a> {
    fn from(data: Data<'a>) -> Self {
        Self { data, thought_signature: None }
    }
}

fn prefix(request: &ModelRequest) -> Prefix<'_> {
    let system = request.system.as_deref().filter(|system| !system.is_empty());
    let declarations = request.tools.iter().map(|tool: &ToolSchema| Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.parameters,
    });
    let tools = Tools { function_declarations: declarations.collect() };
    Prefix {
        system_instruction: system.map(|system| SystemInstruction { parts: [WirePart::text(system)] }),
        tools: if tools.function_declarations.is_empty() { Vec::new() } else { vec![tools] },
    }
}

fn contents(request: &ModelRequest, known: usize, ids: CallIds) -> Vec<Content<'_>> {
    let given = GivenIds::of(&request.messages, ID, &request.model);
    let encoder = Encoder { ids, given: &given, model: &request.model };
    encoding::group_tool_messages(&request.messages[known..])
        .filter_map(|turn| encoder.content(turn))
        .collect()
}

#[derive(Clone, Copy)]
struct Encoder<'r> {
    ids: CallIds,
    given: &'r GivenIds<'r>,
    model: &'r str,
}

impl Encoder<'_> {
    /// One message, or several consecutive tool messages as one; `None` if it is empty, because an empty message is
    /// refused.
    fn content(self, turn: &[Message]) -> Option<Content<'_>> {
        let first = turn.first()?;
        if first.role == Role::Model {
            return self.answer(first);
        }
        let parts: Vec<_> =
            turn.iter().flat_map(|message| &message.parts).filter_map(|part| self.part(part)).collect();
        (!parts.is_empty()).then_some(Content { role: "user", parts })
    }

    /// What the model said, with the signatures that it wants back.
    fn answer(self, message: &Message) -> Option<Content<'_>> {
        let pieces = layout::pieces(message, ID, self.model);
        let mut parts: Vec<_> = pieces.into_iter().filter_map(|piece| self.piece(piece)).collect();
        let first_call = parts.iter_mut().find(|part| matches!(part.data, Data::FunctionCall { .. }));
        if let (true, Some(call)) = (wants_signatures(self.model), first_call) {
            call.thought_signature.get_or_insert(NO_SIGNATURE);
        }
        (!parts.is_empty()).then_some(Content { role: "model", parts })
    }

    fn piece(self, piece: AnswerPiece<'_>) -> Option<WirePart<'_>> {
        match piece {
            AnswerPiece::Text(text, with) => {
                let signature = with.and_then(Value::as_str);
                (!text.is_empty() || signature.is_some())
                    .then_some(WirePart { data: Data::Text(text), thought_signature: signature })
            }
            AnswerPiece::Call(call, with) => {
                let data = Data::FunctionCall { id: self.id(&call.id), name: &call.name, args: &call.args };
                Some(WirePart { data, thought_signature: with.and_then(Value::as_str) })
            }
            AnswerPiece::Raw(_) => None,
        }
    }

    fn part(self, part: &Part) -> Option<WirePart<'_>> {
        match part {
            Part::Text { text } => (!text.is_empty()).then(|| WirePart::text(text.as_str())),
            Part::ToolResult(result) => Some(self.result(result).into()),
            Part::Image(image) => {
                Some(Data::Inline { mime_type: image.media_type.as_str(), data: &image.data }.into())
            }
            Part::ToolCall(_) | Part::Opaque(_) => None,
        }
    }

    fn result(self, result: &ToolResult) -> Data<'_> {
        let response = match &result.outcome {
            ToolOutcome::Output(output) => json!({ "output": output }),
            ToolOutcome::Error(message) => json!({ "error": message }),
        };
        Data::FunctionResponse { id: self.id(&result.id), name: &result.name, response }
    }

    fn id(self, id: &str) -> Option<Cow<'_, str>> {
        (self.ids == CallIds::Sent).then(|| self.given.given_or_same(id))
    }
}

/// Whether the model needs signatures. From the third family on a call without one is refused; before, an invalid one
/// may be refused.
fn wants_signatures(model: &str) -> bool {
    family(model).is_some_and(|family| 3 <= family)
}

/// The first number in `gemini-3-pro-preview`.
fn family(model: &str) -> Option<u32> {
    let number = model.trim_start_matches("models/").strip_prefix("gemini-")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn generation_config(request: &ModelRequest, limit: &ThinkingLimit) -> Option<Value> {
    let mut config = Map::new();
    let thinking = if request.thinking { None } else { thinking_config(&request.model, limit) };
    if let Some(tokens) = request.max_output_tokens {
        // The provider counts thoughts too, so there must be room for them besides the answer.
        let thoughts = thinking.as_ref().map_or(0, room_for_thoughts);
        config.insert("maxOutputTokens".into(), tokens.saturating_add(thoughts).into());
    }
    if let Some(thinking) = thinking {
        config.insert("thinkingConfig".into(), thinking);
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

fn room_for_thoughts(config: &Value) -> u32 {
    /// More tokens than a low level uses for a single question.
    const ROOM: u32 = 4_096;
    let budget = config.get("thinkingBudget").and_then(Value::as_u64);
    budget.map_or(ROOM, |budget| u32::try_from(budget).unwrap_or(u32::MAX))
}

fn thinking_config(model: &str, limit: &ThinkingLimit) -> Option<Value> {
    /// The smallest budget that 2.5 Pro accepts.
    const LEAST_OF_PRO: u32 = 128;
    let budget = |tokens: u32| json!({ "thinkingBudget": tokens });
    match limit {
        ThinkingLimit::Budget(tokens) => Some(budget(*tokens)),
        ThinkingLimit::Level(level) => Some(json!({ "thinkingLevel": level })),
        ThinkingLimit::ByName if wants_signatures(model) => Some(json!({ "thinkingLevel": "low" })),
        ThinkingLimit::ByName if model.contains("gemini-2.5-pro") => Some(budget(LEAST_OF_PRO)),
        ThinkingLimit::ByName if model.contains("gemini-2.5-flash") => Some(budget(0)),
        ThinkingLimit::None | ThinkingLimit::ByName => None,
    }
}
