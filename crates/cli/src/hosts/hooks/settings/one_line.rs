//! The entry in a settings file that stands in one line: it stays in one line, and comes back as it was.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use super::super::contract::Contract;
use super::{entry, options};

/// The text with an entry that starts `command`, if it is an object in one line that has something in it. It has no
/// such entry yet.
pub(super) fn with_entry(contract: &Contract, text: &str, command: &str) -> Option<String> {
    if text.trim().contains('\n') {
        return None;
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).ok()?;
    let Some(Value::Object(root)) = parsed.value else { return None };
    if root.properties.is_empty() || (contract.settings.versioned && of_name(&root, "version").is_none()) {
        return None;
    }
    let event = contract.events[0].0;
    let item = compact(&entry(contract, command));
    let of_event = format!("\"{event}\": [{item}]");
    let hooks = of_name(&root, "hooks").map(|hooks| &hooks.value);
    let (end, last, added) = match hooks {
        None => (root.range.end, last_end(&root.properties), format!("\"hooks\": {{{of_event}}}")),
        Some(Value::Object(hooks)) => match of_name(hooks, event).map(|event| &event.value) {
            None => (hooks.range.end, last_end(&hooks.properties), of_event),
            Some(Value::Array(list)) => (list.range.end, list.elements.last().map(Ranged::end), item),
            Some(_) => return None,
        },
        Some(_) => return None,
    };
    let Some(last) = last else {
        // Nothing but blanks may stand between the brackets.
        let place = text[..end - 1].trim_end().len();
        let is_open = text[..place].ends_with(['{', '[']);
        return is_open.then(|| [&text[..place], &added, &text[place..]].concat());
    };
    // Behind a comma at the end there would have to be another one.
    let is_plain = text[last..end - 1].trim().is_empty();
    is_plain.then(|| [&text[..last], ", ", &added, &text[last..]].concat())
}

fn of_name<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().find(|property| property.name.as_str() == name)
}

fn last_end(properties: &[ObjectProp<'_>]) -> Option<usize> {
    properties.last().map(Ranged::end)
}

/// The value as JSON in one line.
fn compact(value: &jsonc_parser::cst::CstInputValue) -> String {
    use jsonc_parser::cst::CstInputValue::{Array, Bool, Null, Number, Object, String};
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match value {
        Null => "null".to_owned(),
        Bool(value) => value.to_string(),
        Number(text) => text.clone(),
        String(text) => quoted(text),
        Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", ")),
        Object(fields) => {
            let field =
                |(name, value): &(std::string::String, _)| format!("{}: {}", quoted(name), compact(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}
