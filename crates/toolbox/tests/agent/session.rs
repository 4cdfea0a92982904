//! A series of calls to the tools, which is recorded as a transcript.

use std::ops::RangeInclusive;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree, WorkspacePath};
use headstart_tool_gate::{DenyRules, GateContext, Hardened};
use headstart_toolbox::{ContextItem, ItemUri, ToolContext, ToolError, ToolLimits, ToolOutput, Toolbox};
use serde_json::Value;

pub(crate) const WORKSPACE: &str = "/home/ada/project";

pub(crate) struct Session {
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) gate: GateContext,
    pub(crate) limits: ToolLimits,
    pub(crate) toolbox: Toolbox,
    pub(crate) hardened: Option<Hardened>,
    pub(crate) consented: bool,
    transcript: Vec<String>,
    /// The items of the last answer.
    items: Vec<ContextItem>,
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).expect("a path inside the workspace")
}

/// A text of numbered lines.
pub(crate) fn lines(numbers: RangeInclusive<usize>, line: impl Fn(usize) -> String) -> String {
    numbers.flat_map(|number| [line(number), "\n".to_owned()]).collect()
}

/// A workspace with these files. A name with ` -> ` is a symbolic link, and one with `*` at its end is executable.
pub(crate) fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let tree = MemoryTree::new();
    for (name, content) in files {
        if let Some((name, target)) = name.split_once(" -> ") {
            tree.link(&path(name), target);
        } else if let Some(name) = name.strip_suffix('*') {
            tree.write(&path(name), *content);
            tree.make_executable(&path(name), true);
        } else if let Some(name) = name.strip_suffix('/') {
            tree.make_dir(&path(name));
        } else {
            tree.write(&path(name), *content);
        }
    }
    tree
}

impl Session {
    pub(crate) fn over(base: Arc<dyn Tree>) -> Self {
        Self {
            overlay: Arc::new(Overlay::new(base, Quota::default())),
            gate: GateContext { workspace: WORKSPACE.to_owned(), ..GateContext::default() },
            limits: ToolLimits::default(),
            toolbox: Toolbox::standard(None),
            hardened: None,
            consented: false,
            transcript: Vec::new(),
            items: Vec::new(),
        }
    }

    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::over(Arc::new(tree(files)))
    }

    pub(crate) fn deny(mut self, patterns: &[&str]) -> Self {
        self.gate.deny = DenyRules::from_patterns(patterns.iter().copied()).expect("valid patterns");
        self
    }

    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Result<String, ToolError> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        let context = ToolContext {
            view: &self.overlay,
            gate: &self.gate,
            limits: &self.limits,
            hardened: self.hardened.as_ref(),
            consented: self.consented,
            attended: false,
        };
        let shown = Value::Object(args.clone());
        let call = ToolCall { id: "1".to_owned(), name: tool.to_owned(), args };
        let outcome = block_on(self.toolbox.run(&call, context));
        let (outcome, items) = match outcome.map(ToolOutput::into_parts) {
            Ok((text, items)) => (Ok(text), items),
            Err(error) => (Err(error), Vec::new()),
        };
        self.items = items;
        let told = match &outcome {
            Ok(text) => text.clone(),
            Err(error) => format!("error: {error}"),
        };
        self.transcript.push(format!("> {tool} {shown}\n{told}"));
        outcome
    }

    /// Returns the answer of a call that must succeed.
    pub(crate) fn ok(&mut self, tool: &str, args: Value) -> String {
        self.call(tool, args).unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// The items of the last answer: the name of each, its place, its status, and the text that is read.
    pub(crate) fn items(&self) -> Vec<String> {
        let place = |uri: &ItemUri| match uri {
            ItemUri::File { path, lines } => format!(" at {path} {lines:?}"),
            ItemUri::Url(address) => format!(" at {address}"),
        };
        let told = |item: &ContextItem| {
            let place = item.uri.as_ref().map(place).unwrap_or_default();
            let status = item.status.as_ref().map(|status| format!(", {status}")).unwrap_or_default();
            let hidden = if item.hidden { ", hidden" } else { "" };
            format!("{}{place}{status}{hidden}: {:?}", item.name, item.content)
        };
        self.items.iter().map(told).collect()
    }

    /// Returns the error of a call that must fail.
    pub(crate) fn refused(&mut self, tool: &str, args: Value) -> String {
        self.call(tool, args).expect_err(tool).to_string()
    }

    /// The content of a file in the merged view.
    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        block_on(self.overlay.read(&path(name))).expect(name)
    }

    pub(crate) fn is_executable(&self, name: &str) -> bool {
        block_on(self.overlay.metadata(&path(name))).expect(name).executable
    }

    /// Every call and its answer so far.
    pub(crate) fn transcript(&self) -> String {
        self.transcript.join("\n\n")
    }
}
