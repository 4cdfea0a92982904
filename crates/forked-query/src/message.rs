use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Error, Map, Value};

use crate::json::{Fields, FromJson};

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model: text and tool calls.
    Model,
    /// The tools: results, in the order of the calls of the model message before.
    Tool,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// What it holds, in order.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// An image. Only in a message of the user.
    Image(Image),
    /// A tool call by the model.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// What the model wants to see again with this answer. A message has at most one, and only if the model wrote it.
    Opaque(Opaque),
}

/// A picture that the model is shown.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// What kind of file it is.
    pub media_type: ImageType,
    /// The bytes of the file, in base64 with padding.
    pub data: Arc<str>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} letters)", self.media_type.as_str(), self.data.len())
    }
}

/// The kinds of image that every provider which takes images accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum ImageType {
    /// PNG.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    WebP,
}

impl ImageType {
    const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::WebP];

    /// The kind of image according to the first bytes of a file, because its name may be wrong.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    /// Its media type: `image/png`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// What a model gave with an answer besides its words and calls, and wants to see again with them, unchanged: signed
/// or encrypted thoughts, signatures of calls. Many models refuse a conversation in which it is missing.
///
/// It is for the model that wrote it, in the wire format that wrote it. Requests to any other model leave it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The wire format that wrote it, by its name for programs.
    pub format: String,
    /// The provider's name of the model.
    pub model: String,
    /// Data that only the format understands.
    pub data: Value,
}

/// A tool call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; unique in a conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
}

impl ToolCall {
    /// The name of the only argument of a call whose arguments were not a JSON object; its value is what the model
    /// wrote.
    pub const MALFORMED_ARGUMENTS: &str = "malformed_arguments";

    /// Whether the model wrote arguments that are not a JSON object, so that no tool can run the call.
    pub fn is_malformed(&self) -> bool {
        self.args.len() == 1 && self.args.contains_key(Self::MALFORMED_ARGUMENTS)
    }
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// Written as `"output": …` or `"error": "…"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolOutcome {
    /// The tool ran: usually a string.
    Output(Value),
    /// The tool failed, in words that the model can act on.
    Error(String),
}

/// Read through a JSON value, because the code that serde derives for a type with a tag is several times as large.
impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl FromJson for Part {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        match must::<String>(&mut fields, "type")?.as_str() {
            "text" => Ok(Self::Text { text: must(&mut fields, "text")? }),
            "image" => Ok(Self::Image(Image {
                media_type: of("mediaType", image_type(&must::<String>(&mut fields, "mediaType")?))?,
                data: of("data", base64(must(&mut fields, "data")?))?,
            })),
            "toolCall" => Ok(Self::ToolCall(ToolCall {
                id: must(&mut fields, "id")?,
                name: must(&mut fields, "name")?,
                args: of("args", fields.or_default("args"))?,
            })),
            "toolResult" => ToolResult::of(fields).map(Self::ToolResult),
            "opaque" => Ok(Self::Opaque(Opaque {
                format: must(&mut fields, "format")?,
                model: must(&mut fields, "model")?,
                data: must(&mut fields, "data")?,
            })),
            other => of(
                "type",
                Err(Error::unknown_variant(other, &["text", "image", "toolCall", "toolResult", "opaque"])),
            ),
        }
    }
}

impl FromJson for ToolResult {
    fn from_json(value: Value) -> Result<Self, Error> {
        Self::of(Fields::of(value)?)
    }
}

impl ToolResult {
    fn of(mut fields: Fields) -> Result<Self, Error> {
        let outcome = match fields.first_of(["output", "error"]) {
            Some(("output", output)) => ToolOutcome::Output(output),
            Some((name, error)) => ToolOutcome::Error(of(name, String::from_json(error))?),
            None => return Err(Error::custom("a tool result has an `output` or an `error`")),
        };
        let (id, name) = (must(&mut fields, "id")?, must(&mut fields, "name")?);
        Ok(Self { id, name, outcome })
    }
}

fn image_type(name: &str) -> Result<ImageType, Error> {
    let known = ImageType::ALL.into_iter().find(|known| known.as_str() == name);
    known.ok_or_else(|| Error::unknown_variant(name, &["image/png", "image/jpeg", "image/gif", "image/webp"]))
}

/// Only checks that these are base64 characters; the decoded bytes are the model's business.
fn base64(data: String) -> Result<Arc<str>, Error> {
    let letters = data.trim_end_matches('=');
    let is_base64 = letters.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    if !is_base64 || letters.is_empty() || !data.len().is_multiple_of(4) || letters.len() + 2 < data.len() {
        return Err(Error::custom("is not base64 with padding"));
    }
    Ok(data.into())
}

/// Takes a field that must exist. An error names it.
fn must<T: FromJson>(fields: &mut Fields, name: &'static str) -> Result<T, Error> {
    let value: Value = fields.must(name)?;
    of(name, T::from_json(value))
}

/// Adds the field's name to an error, because a JSON value has no line numbers.
fn of<T>(field: &str, read: Result<T, Error>) -> Result<T, Error> {
    read.map_err(|error| Error::custom(format_args!("`{field}`: {error}")))
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text { text: text.into() }] }
    }

    /// The texts of the message, joined.
    pub fn to_text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The images of the message, in order.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image),
            _ => None,
        })
    }

    /// What the model wants to see again with this answer, if anything.
    pub fn opaque(&self) -> Option<&Opaque> {
        self.parts.iter().find_map(|part| match part {
            Part::Opaque(opaque) => Some(opaque),
            _ => None,
        })
    }

    /// The calls of the message, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let rows = [
            json!({"type": "text", "text": "a"}),
            json!({"type": "image", "mediaType": "image/png", "data": "iVBORw0KGgo="}),
            json!({"type": "toolCall", "id": "1", "name": "ls", "args": {"path": "."}}),
            json!({"type": "opaque", "format": "chat", "model": "m", "data": [{"raw": {"b": 1, "a": null}}]}),
            json!({"type": "toolResult", "id": "1", "name": "ls", "output": null}),
            json!({"type": "toolResult", "id": "1", "name": "ls", "error": "no"}),
        ];
        for row in rows {
            let part: Part = serde_json::from_value(row.clone()).unwrap();
            assert_eq!(serde_json::to_value(&part).unwrap(), row);
            assert_eq!(serde_json::from_str::<Part>(&row.to_string()).unwrap(), part);
        }
        let wrong = [
            (
                json!({"type": "toolResult", "id": "1", "name": "ls"}),
                "a tool result has an `output` or an `error`",
            ),
            (json!({"type": "toolResult", "id": "1", "output": 1}), "missing field `name`"),
            (json!({"text": "a"}), "missing field `type`"),
            (
                json!({"type": "image", "mediaType": "image/bmp", "data": "AAAA"}),
                "`mediaType`: unknown variant `image/bmp`, expected one of `image/png`, `image/jpeg`, `image/gif`, `image/webp`",
            ),
            (
                json!({"type": "image", "mediaType": "image/png", "data": "AAA"}),
                "`data`: is not base64 with padding",
            ),
            (json!("a"), "invalid type: string \"a\", expected a map"),
        ];
        for (row, expected) in wrong {
            let error = serde_json::from_value::<Part>(row.clone()).unwrap_err().to_string();
            assert_eq!(error, expected, "{row}");
        }
    }
}
