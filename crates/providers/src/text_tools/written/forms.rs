//! The forms in which models write calls.
//!
//! `<function=NAME><parameter=KEY>…` (Qwen Coder), `<tool_call>{JSON}</tool_call>` (Hermes and many others), with
//! `<arg_key>` (GLM), `[TOOL_CALLS]` (Mistral), `<|python_tag|>` (Llama), sections of special tokens
//! (two more makers), and an object of JSON without anything around it.

use serde_json::{Map, Value};

/// With what a call may begin.
pub(super) const MARKERS: [&str; 10] = [
    "<tool_call>",
    "<function=",
    "[TOOL_CALLS]",
    DEEPSEEK.tags.0,
    KIMI.tags.0,
    "<|python_tag|>",
    // These are only recognised, and not read.
    "<function_calls>",
    "<invoke name=",
    "<minimax:tool_call>",
    "<｜DSML｜",
];

/// With what a call in JSON begins, at the beginning of a line and without white space.
pub(super) const OPEN_JSON: [&str; 6] = [
    "{\"name\":\"",
    "[{\"name\":\"",
    "{\"type\":\"function\",",
    "{\"function\":",
    "{\"arguments\":{",
    "{\"parameters\":{",
];

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WrittenCall<'a> {
    pub(super) name: String,
    pub(super) arguments: WrittenArguments,
    /// The words that say which call it is, without tags around them.
    pub(super) source: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum WrittenArguments {
    Json(Map<String, Value>),
    /// Names and values in words, whose types only the tool's schema knows.
    Words(Vec<(String, String)>),
}

/// Whether the words begin with a marker, which nobody writes by chance.
pub(super) fn is_tagged(text: &str) -> bool {
    MARKERS.iter().any(|marker| text.trim_start().starts_with(marker))
}

/// The calls of which the words consist; `None` if there is anything else in them.
pub(super) fn parse(text: &str) -> Option<Vec<WrittenCall<'_>>> {
    let mut cursor = Cursor { rest: text.trim() };
    let mut calls = Vec::new();
    while !cursor.rest.is_empty() {
        calls.extend(cursor.block()?);
        cursor.skip_space();
    }
    (!calls.is_empty()).then_some(calls)
}

/// A section of special tokens with calls in it.
struct Section {
    tags: (&'static str, &'static str),
    call: (&'static str, &'static str),
    /// Between the name and the arguments.
    separator: &'static str,
}

const DEEPSEEK: Section = Section {
    tags: ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    call: ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
    separator: "<｜tool▁sep｜>",
};

const KIMI: Section = Section {
    tags: ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    call: ("<|tool_call_begin|>", "<|tool_call_end|>"),
    separator: "<|tool_call_argument_begin|>",
};

/// With what an answer may end behind its calls.
const ENDS: [&str; 4] = ["<｜end▁of▁sentence｜>", "<|im_end|>", "<|eom_id|>", "<|eot_id|>"];

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    /// One call, or several in one section.
    fn block(&mut self) -> Option<Vec<WrittenCall<'a>>> {
        let calls = if self.eat("<tool_call>") {
            let calls = self.tagged()?;
            self.expect("</tool_call>")?;
            calls
        } else if self.rest.starts_with("<function=") {
            self.functions()?
        } else if self.eat("[TOOL_CALLS]") {
            self.skip_space();
            if self.rest.starts_with(['[', '{']) { self.json(false)? } else { vec![self.named()?] }
        } else if self.rest.starts_with(DEEPSEEK.tags.0) {
            self.section(&DEEPSEEK)?
        } else if self.rest.starts_with(KIMI.tags.0) {
            self.section(&KIMI)?
        } else if self.eat("<|python_tag|>") {
            self.skip_space();
            self.json(false)?
        } else if self.rest.starts_with(['{', '[']) {
            self.json(true)?
        } else {
            return None;
        };
        // Some servers take away the opening tag only.
        self.skip_space();
        self.eat("</tool_call>");
        self.skip_space();
        while ENDS.iter().any(|end| self.eat(end)) {}
        Some(calls)
    }

    /// What stands in `<tool_call>`.
    fn tagged(&mut self) -> Option<Vec<WrittenCall<'a>>> {
        self.skip_space();
        if self.rest.starts_with(['{', '[']) {
            return self.json(false);
        }
        if self.rest.starts_with("<function=") {
            return self.functions();
        }
        let before = self.rest;
        let name = self.until(&["<arg_key>", "</tool_call>"])?.trim().to_owned();
        let mut arguments = Vec::new();
        while self.eat("<arg_key>") {
            let key = self.until(&["</arg_key>"])?.trim().to_owned();
            self.expect("</arg_key>")?;
            self.skip_space();
            self.expect("<arg_value>")?;
            let value = self.until(&["</arg_value>"])?.to_owned();
            self.expect("</arg_value>")?;
            self.skip_space();
            arguments.push((key, value));
        }
        let source = &before[..before.len() - self.rest.len()];
        Some(vec![WrittenCall { name, arguments: WrittenArguments::Words(arguments), source }])
    }

    /// `<function=NAME><parameter=KEY>…</parameter></function>`, one or more.
    fn functions(&mut self) -> Option<Vec<WrittenCall<'a>>> {
        let mut calls = Vec::new();
        loop {
            let before = self.rest;
            if !self.eat("<function=") {
                return (!calls.is_empty()).then_some(calls);
            }
            let name = self.until(&[">"])?.trim().to_owned();
            self.expect(">")?;
            self.skip_space();
            let mut arguments = Vec::new();
            while self.eat("<parameter=") {
                let key = self.until(&[">"])?.trim().to_owned();
                self.expect(">")?;
                arguments.push((key, self.parameter()?));
                self.skip_space();
            }
            self.expect("</function>")?;
            let source = &before[..before.len() - self.rest.len()];
            calls.push(WrittenCall { name, arguments: WrittenArguments::Words(arguments), source });
            self.skip_space();
        }
    }

    /// The value of a parameter, which may have the closing tag in it: it ends where the next parameter or the end of
    /// the function follows.
    fn parameter(&mut self) -> Option<String> {
        const CLOSE: &str = "</parameter>";
        for (at, _) in self.rest.match_indices(CLOSE) {
            let behind = self.rest[at + CLOSE.len()..].trim_start();
            if behind.starts_with("<parameter=") || behind.starts_with("</function>") {
                let value = &self.rest[..at];
                self.rest = &self.rest[at + CLOSE.len()..];
                let value = value.strip_prefix('\n').unwrap_or(value);
                return Some(value.strip_suffix('\n').unwrap_or(value).to_owned());
            }
        }
        None
    }

    /// `NAME[ARGS]{JSON}`, also with an id between, or without `[ARGS]`.
    fn named(&mut self) -> Option<WrittenCall<'a>> {
        let before = self.rest;
        let name = self.until(&["[CALL_ID]", "[ARGS]", "{"])?.trim().to_owned();
        if self.eat("[CALL_ID]") {
            self.until(&["[ARGS]", "{"])?;
        }
        self.eat("[ARGS]");
        self.skip_space();
        let arguments = WrittenArguments::Json(self.object()?);
        Some(WrittenCall { name, arguments, source: &before[..before.len() - self.rest.len()] })
    }

    fn section(&mut self, form: &Section) -> Option<Vec<WrittenCall<'a>>> {
        self.expect(form.tags.0)?;
        self.skip_space();
        let mut calls = Vec::new();
        while self.eat(form.call.0) {
            let before = self.rest;
            let mut name = self.until(&[form.separator])?.trim();
            self.expect(form.separator)?;
            self.skip_space();
            // An older form has the kind before the name, and the arguments in a fence.
            if name == "function" && !self.rest.starts_with('{') {
                name = self.until(&["\n", "```"])?.trim();
                self.skip_space();
            }
            let is_fenced = self.eat("```json") || self.eat("```");
            self.skip_space();
            let arguments = WrittenArguments::Json(self.object()?);
            let source = &before[..before.len() - self.rest.len()];
            self.skip_space();
            if is_fenced {
                self.expect("```")?;
                self.skip_space();
            }
            self.expect(form.call.1)?;
            self.skip_space();
            calls.push(WrittenCall { name: plain_name(name).to_owned(), arguments, source });
        }
        self.expect(form.tags.1)?;
        (!calls.is_empty()).then_some(calls)
    }

    /// Calls as an object or a list of JSON. Without a tag around it, it has to have arguments.
    fn json(&mut self, is_bare: bool) -> Option<Vec<WrittenCall<'a>>> {
        let before = self.rest;
        let values = match self.value()? {
            Value::Array(values) => values,
            value => vec![value],
        };
        let source = &before[..before.len() - self.rest.len()];
        let calls = values.into_iter().map(|value| {
            let (name, arguments) = json_call(value, is_bare)?;
            Some(WrittenCall { name, arguments: WrittenArguments::Json(arguments), source })
        });
        calls.collect::<Option<Vec<_>>>().filter(|calls| !calls.is_empty())
    }

    fn object(&mut self) -> Option<Map<String, Value>> {
        match self.value()? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        self.rest = &self.rest[values.byte_offset()..];
        Some(value)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).map(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.skip_space();
        self.eat(token).then_some(())
    }

    /// The words before the first of these.
    fn until(&mut self, tokens: &[&str]) -> Option<&'a str> {
        let at = tokens.iter().filter_map(|token| self.rest.find(token)).min()?;
        let (before, rest) = self.rest.split_at(at);
        self.rest = rest;
        Some(before)
    }
}

/// The name in `functions.NAME:0`.
fn plain_name(name: &str) -> &str {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let number = name.rsplit_once(':').filter(|(_, number)| number.chars().all(|c| c.is_ascii_digit()));
    number.map_or(name, |(name, _)| name)
}

fn json_call(value: Value, is_bare: bool) -> Option<(String, Map<String, Value>)> {
    let Value::Object(mut fields) = value else { return None };
    if let Some(Value::Object(inner)) = fields.remove("function") {
        fields.remove("type");
        fields.remove("id");
        return fields.is_empty().then(|| json_call(Value::Object(inner), is_bare))?;
    }
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    let given = ["arguments", "parameters", "args"].into_iter().find_map(|name| fields.remove(name));
    let arguments = match given {
        None | Some(Value::Null) if !is_bare => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        // They were encoded twice.
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        _ => return None,
    };
    fields.remove("type");
    fields.remove("id");
    (fields.is_empty() && !name.is_empty()).then_some((name, arguments))
}
