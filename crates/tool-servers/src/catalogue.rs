//! The tools of a server as they are offered: cleaned, sorted, and the same for a whole session.

use std::collections::BTreeMap;

use headstart_forked_query::ToolSchema;
use rmcp::model::Tool;

use crate::arguments::Arguments;
use crate::config::ServerName;
use crate::untrusted::{MAX_TEXT, clean, clean_schema};

/// The most tools of one server.
const MAX_TOOLS: usize = 128;
/// The most bytes of everything that one server says about its tools.
const MAX_WORDS: usize = 256 * 1024;
/// The most characters of a name, because providers accept no longer ones.
const MAX_NAME: usize = 64;
/// The most remarks about single tools, because a hostile server could cause thousands.
const MAX_REMARKS: usize = 20;

/// A tool of a server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedTool {
    /// The server's name for it, or for several of them.
    pub tool: String,
    /// Why, and what to do.
    pub why: String,
}

/// A tool of a server, with what the server says about it.
pub(crate) struct ListedTool {
    /// The server's name for it.
    pub(crate) name: String,
    pub(crate) schema: ToolSchema,
    pub(crate) arguments: Arguments,
    /// Whether the server says that it only reads, and reaches nothing outside.
    pub(crate) claims_read_only: bool,
}

/// The tools of a list that are offered, sorted by name, and those that are not.
pub(crate) fn catalogue(
    server: &ServerName,
    tools: Vec<Tool>,
    is_whole: bool,
) -> (Vec<ListedTool>, Vec<OmittedTool>) {
    let mut omitted = Vec::new();
    let mut by_name: BTreeMap<String, Vec<Tool>> = BTreeMap::new();
    let all = tools.len();
    for tool in tools {
        by_name.entry(offered_name(server, &tool.name)).or_default().push(tool);
    }
    let (mut listed, mut bytes, mut too_many) = (Vec::new(), 0, 0);
    for (offered, mut same) in by_name {
        let Some(tool) = same.pop() else { continue };
        if !same.is_empty() {
            // Nobody knows which of them a call would mean.
            let mut names: Vec<_> = same.iter().chain([&tool]).map(|tool| displayable(&tool.name)).collect();
            names.truncate(4);
            let why = format!("{} tools of the server would be {offered}", same.len() + 1);
            omitted.push(OmittedTool { tool: names.join(", "), why });
            continue;
        }
        if MAX_TOOLS <= listed.len() {
            too_many += 1;
            continue;
        }
        match ListedTool::new(offered, &tool) {
            Ok(tool) => {
                bytes += tool.schema.description.len() + tool.schema.parameters.to_string().len();
                if MAX_WORDS < bytes {
                    let why = format!("all that the server says of its tools is more than {MAX_WORDS} bytes");
                    omitted.push(OmittedTool { tool: displayable(&tool.name), why });
                } else {
                    listed.push(tool);
                }
            }
            Err(why) => omitted.push(OmittedTool { tool: displayable(&tool.name), why }),
        }
    }
    let more = omitted.len().saturating_sub(MAX_REMARKS);
    omitted.truncate(MAX_REMARKS);
    if 0 < more {
        omitted.push(OmittedTool { tool: format!("{more} more"), why: "for the same reasons".to_owned() });
    }
    if 0 < too_many || !is_whole {
        let lists = if is_whole { format!("{all}") } else { format!("more than {all}") };
        let why = format!(
            "the server lists {lists} tools, and {MAX_TOOLS} are offered at most; `exclude` in [tools] does not change that"
        );
        omitted.push(OmittedTool { tool: format!("{too_many} more"), why });
    }
    (listed, omitted)
}

impl ListedTool {
    fn new(offered: String, tool: &Tool) -> Result<Self, String> {
        let parameters = clean_schema(&tool.input_schema)?;
        let arguments = Arguments::new(&parameters)?;
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let schema = ToolSchema { name: offered, description: clean(description, MAX_TEXT), parameters };
        let hints = tool.annotations.as_ref();
        let claims_read_only = hints.is_some_and(|hints| {
            hints.read_only_hint == Some(true)
                && hints.open_world_hint == Some(false)
                && hints.destructive_hint != Some(true)
        });
        Ok(Self { name: tool.name.to_string(), schema, arguments, claims_read_only })
    }
}

/// The name under which a tool is offered. Characters that providers do not accept become `_`.
fn offered_name(server: &ServerName, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let tool: String = tool.chars().map(plain).collect();
    format!("mcp__{server}__{tool}").chars().take(MAX_NAME).collect()
}

fn displayable(name: &str) -> String {
    clean(name, 100).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> ServerName {
        ServerName::new("x").unwrap_or_else(|error| panic!("{error}"))
    }

    fn tool(value: serde_json::Value) -> Tool {
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}"))
    }

    fn named(name: &str) -> Tool {
        tool(json!({ "name": name, "inputSchema": { "type": "object" } }))
    }

    fn names(listed: &[ListedTool]) -> Vec<&str> {
        listed.iter().map(|tool| tool.schema.name.as_str()).collect()
    }

    #[test]
    fn tools_are_sorted_and_named_after_their_server() {
        let (listed, omitted) = catalogue(&server(), vec![named("b"), named("a.c"), named("a")], true);
        assert_eq!(names(&listed), ["mcp__x__a", "mcp__x__a_c", "mcp__x__b"]);
        assert!(omitted.is_empty());
    }

    #[test]
    fn of_tools_that_cannot_be_told_apart_none_is_offered() {
        let long = "l".repeat(80);
        let pairs = [("a", "a"), ("a.b", "a/b"), (&*format!("{long}1"), &*format!("{long}2"))];
        for (one, other) in pairs {
            let (listed, omitted) = catalogue(&server(), vec![named(one), named("ok"), named(other)], true);
            assert_eq!(names(&listed), ["mcp__x__ok"]);
            assert!(omitted[0].tool.contains(one) && omitted[0].tool.contains(other), "{omitted:?}");
        }
    }

    #[test]
    fn a_flood_of_tools_is_cut() {
        let many = (0..5000).map(|number| named(&format!("tool{number:04}"))).collect();
        let (listed, omitted) = catalogue(&server(), many, true);
        assert_eq!(listed.len(), MAX_TOOLS);
        assert_eq!(omitted.len(), 1);
        assert!(omitted[0].tool.starts_with("4872"), "{omitted:?}");
        let same = (0..5000).map(|number| named(&format!("t{}", number / 2))).collect();
        let (listed, omitted) = catalogue(&server(), same, true);
        assert!(listed.is_empty() && omitted.len() == MAX_REMARKS + 1);
        let wordy = (0..100).map(|number| {
            tool(json!({ "name": format!("t{number}"), "description": "x".repeat(10_000_000), "inputSchema": {} }))
        });
        let (listed, _) = catalogue(&server(), wordy.take(20).collect(), true);
        assert!(listed.len() < 9 && listed.iter().all(|tool| tool.schema.description.len() < MAX_TEXT + 10));
    }

    #[test]
    fn a_tool_reads_only_where_nothing_it_says_speaks_against_it() {
        let cases = [
            (json!({ "readOnlyHint": true, "openWorldHint": false }), true),
            (json!({ "readOnlyHint": true, "openWorldHint": false, "destructiveHint": false }), true),
            (json!({ "readOnlyHint": true, "openWorldHint": false, "destructiveHint": true }), false),
            (json!({ "readOnlyHint": true }), false),
            (json!({ "readOnlyHint": true, "openWorldHint": true }), false),
            (json!({ "openWorldHint": false }), false),
            (json!({ "readOnlyHint": false, "openWorldHint": false }), false),
        ];
        for (annotations, reads) in cases {
            let tool = tool(json!({ "name": "a", "inputSchema": {}, "annotations": annotations }));
            assert_eq!(catalogue(&server(), vec![tool], true).0[0].claims_read_only, reads, "{annotations}");
        }
    }

    #[test]
    fn one_whose_schema_is_none_is_left_out_and_the_others_stay() {
        let bad = tool(
            json!({ "name": "bad", "inputSchema": { "properties": { "a": { "$ref": "http://x/y" } } } }),
        );
        let (listed, omitted) = catalogue(&server(), vec![bad, named("ok")], true);
        assert_eq!((names(&listed), omitted.len()), (vec!["mcp__x__ok"], 1));
        assert_eq!(omitted[0].tool, "bad");
    }
}
