use headstart_workspace_path::WorkspacePath;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::ChangeKind;
use crate::Content;
use crate::content::encoding::Encoded;

/// The fields of all kinds together. The code that serde derives for an enum with a tag first copies all of it,
/// contents included, and is several times as large.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    r#type: Kind,
    content: Option<Content>,
    executable: Option<bool>,
    target: Option<Encoded>,
    moved_from: Option<WorkspacePath>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Write,
    Link,
    CreateDirectory,
    Delete,
}

impl<'de> Deserialize<'de> for ChangeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { r#type, content, executable, target, moved_from } = Fields::deserialize(deserializer)?;
        let missing = D::Error::missing_field;
        Ok(match r#type {
            Kind::Write => Self::Write {
                content: content.ok_or_else(|| missing("content"))?,
                executable: executable.ok_or_else(|| missing("executable"))?,
                moved_from,
            },
            Kind::Link => Self::Link { target: target.ok_or_else(|| missing("target"))?.0, moved_from },
            Kind::CreateDirectory => Self::CreateDirectory,
            Kind::Delete => Self::Delete,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_is_read_as_it_is_written() {
        let from = || Some(WorkspacePath::parse("a").unwrap());
        let kinds = [
            ChangeKind::Write { content: "text".into(), executable: true, moved_from: None },
            ChangeKind::Write { content: b"\xff\0"[..].into(), executable: false, moved_from: from() },
            ChangeKind::Link { target: b"../b".to_vec(), moved_from: None },
            ChangeKind::Link { target: b"\xff".to_vec(), moved_from: from() },
            ChangeKind::CreateDirectory,
            ChangeKind::Delete,
        ];
        for kind in kinds {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<ChangeKind>(&text).unwrap(), kind, "{text}");
            let value = serde_json::to_value(&kind).unwrap();
            assert_eq!(serde_json::from_value::<ChangeKind>(value).unwrap(), kind, "{text}");
        }
    }

    #[test]
    fn what_is_no_kind_is_an_error() {
        let cases = [
            (json!({}), "missing field `type`"),
            (
                json!({"type": "write", "content": "", "executable": 1}),
                "invalid type: integer `1`, expected a boolean",
            ),
            (json!({"type": "write", "executable": true}), "missing field `content`"),
            (json!({"type": "write", "content": "a"}), "missing field `executable`"),
            (json!({"type": "link"}), "missing field `target`"),
            (
                json!({"type": "move"}),
                "unknown variant `move`, expected one of `write`, `link`, `createDirectory`, `delete`",
            ),
            (
                json!({"type": "link", "target": 7}),
                "invalid type: integer `7`, expected a string or an object with `base64`",
            ),
            (json!({"type": "link", "target": {}}), "missing field `base64`"),
            (json!({"type": "link", "target": {"base64": "?"}}), "Invalid symbol 63, offset 0."),
            (json!({"type": "link", "target": {"hex": "00"}}), "unknown field `hex`, expected `base64`"),
        ];
        for (row, message) in cases {
            let error = serde_json::from_value::<ChangeKind>(row.clone()).unwrap_err().to_string();
            assert_eq!(error, message, "{row}");
        }
    }
}
