use headstart_overlay_fs::{Tree as _, WorkspacePath};
use headstart_toolbox::{ToolContext, ToolError};
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::{ToolKind, snapshot_of};
use crate::{CodeIntel, Delta, Diagnostic, EditPlan, Locations, Severity, Snapshot, SymbolPosition, Symbols};

/// Runs one call.
pub(super) async fn run(
    kind: ToolKind,
    intel: &CodeIntel,
    args: &Map<String, Value>,
    context: ToolContext<'_>,
) -> Result<String, ToolError> {
    let snapshot = snapshot_of(context);
    match kind {
        ToolKind::Diagnostics => diagnostics(intel, args, &snapshot, context).await,
        ToolKind::Definition => {
            let place = only_place(kind, args, context).await?;
            Ok(render_locations(&intel.definition(&snapshot, place).await?))
        }
        ToolKind::References => {
            let place = only_place(kind, args, context).await?;
            Ok(render_locations(&intel.references(&snapshot, place).await?))
        }
        ToolKind::Hover => {
            let place = only_place(kind, args, context).await?;
            let text = intel.hover(&snapshot, place).await?;
            Ok(text.unwrap_or_else(|| "[nothing is known of it]".to_owned()))
        }
        ToolKind::Symbols => symbols(intel, args, &snapshot, context).await,
        ToolKind::Rename => {
            let arguments = Arguments::new(kind, args, &["path", "line", "symbol", "to"])?;
            let place = symbol_position(&arguments, context).await?;
            let plan = intel.rename(&snapshot, place, arguments.required("to")?).await?;
            stage(&plan, context).await
        }
        ToolKind::CodeActions => code_actions(intel, args, &snapshot, context).await,
    }
}

async fn diagnostics(
    intel: &CodeIntel,
    args: &Map<String, Value>,
    snapshot: &Snapshot,
    context: ToolContext<'_>,
) -> Result<String, ToolError> {
    let arguments = Arguments::new(ToolKind::Diagnostics, args, &["paths", "severity"])?;
    let least = match arguments.text("severity")? {
        None => Severity::Warning,
        Some(name) => Severity::from_name(name).ok_or_else(|| {
            arguments.invalid("the argument severity must be error, warning, information or hint".to_owned())
        })?,
    };
    let mut paths = Vec::new();
    for path in arguments.texts("paths")? {
        paths.push(context.locate(path).await?);
    }
    let delta = intel.diagnostics(snapshot, &paths, least).await?;
    let changed = |path: &WorkspacePath| snapshot.changes.changes.iter().any(|change| change.path == *path);
    let list_old = !paths.is_empty() && !paths.iter().any(changed);
    Ok(render_delta(&delta, list_old))
}

/// The result of a comparison, in lines.
pub(super) fn render_delta(delta: &Delta, list_old: bool) -> String {
    let mut lines = Vec::new();
    let mut list = |title: &str, count: usize, shown: &[Diagnostic]| {
        if 0 < count {
            lines.push(format!("{title} ({count}):"));
            lines.extend(shown.iter().map(Diagnostic::line_for_model));
            if shown.len() < count {
                lines.push(format!("[{} more]", count - shown.len()));
            }
        }
    };
    list("new", delta.new_count, &delta.new);
    list("gone", delta.gone_count, &delta.gone);
    if list_old {
        list("present", delta.old_count, &delta.old);
    }
    if lines.is_empty() {
        lines.push("nothing new".to_owned());
    }
    if !list_old && 0 < delta.old_count {
        lines.push(format!("[{} old]", delta.old_count));
    }
    if let Some(why) = &delta.partial {
        lines.push(format!("[there may be more: {why}]"));
    }
    lines.join("\n")
}

async fn symbols(
    intel: &CodeIntel,
    args: &Map<String, Value>,
    snapshot: &Snapshot,
    context: ToolContext<'_>,
) -> Result<String, ToolError> {
    let arguments = Arguments::new(ToolKind::Symbols, args, &["path", "query"])?;
    let found: Symbols = match (arguments.text("path")?, arguments.text("query")?) {
        (Some(path), None) => intel.symbols_of(snapshot, &context.locate(path).await?).await?,
        (None, Some(query)) => intel.search_symbols(snapshot, query).await?,
        _ => return Err(arguments.invalid("give either path or query".to_owned())),
    };
    let of_file = arguments.text("path")?.is_some();
    let mut lines: Vec<String> = found
        .symbols
        .iter()
        .map(|symbol| {
            let (kind, name) = (&symbol.kind, &symbol.name);
            if of_file {
                return format!(
                    "{}{}-{} {kind} {name}",
                    "  ".repeat(symbol.depth),
                    symbol.line,
                    symbol.end_line
                );
            }
            let path = symbol.path.as_ref().map_or_else(|| "(outside)".to_owned(), ToString::to_string);
            let container = symbol.container.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
            format!("{path}:{}: {kind} {name}{container}", symbol.line)
        })
        .collect();
    more(&mut lines, found.count);
    Ok(lines.join("\n"))
}

async fn code_actions(
    intel: &CodeIntel,
    args: &Map<String, Value>,
    snapshot: &Snapshot,
    context: ToolContext<'_>,
) -> Result<String, ToolError> {
    let arguments =
        Arguments::new(ToolKind::CodeActions, args, &["path", "line", "symbol", "kind", "apply"])?;
    let place = symbol_position(&arguments, context).await?;
    let kind = arguments.text("kind")?.map(str::to_owned);
    if let Some(title) = arguments.text("apply")? {
        return stage(&intel.code_action(snapshot, place, kind, title).await?, context).await;
    }
    let actions = intel.code_actions(snapshot, place, kind).await?;
    let lines: Vec<String> = actions
        .iter()
        .map(|action| {
            let kind = action.kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
            let only = if action.command_only { " [runs a command, cannot be applied]" } else { "" };
            format!("{}{kind}{only}", action.title)
        })
        .collect();
    Ok(if lines.is_empty() { "[no actions here]".to_owned() } else { lines.join("\n") })
}

async fn stage(plan: &EditPlan, context: ToolContext<'_>) -> Result<String, ToolError> {
    if plan.is_empty() {
        return Ok("[the server proposes no change]".to_owned());
    }
    plan.apply(context.view).await?;
    Ok(plan.summary().join("\n"))
}

async fn only_place(
    kind: ToolKind,
    args: &Map<String, Value>,
    context: ToolContext<'_>,
) -> Result<SymbolPosition, ToolError> {
    symbol_position(&Arguments::new(kind, args, &["path", "line", "symbol"])?, context).await
}

async fn symbol_position(
    arguments: &Arguments<'_>,
    context: ToolContext<'_>,
) -> Result<SymbolPosition, ToolError> {
    let path = context.locate(arguments.required("path")?).await?;
    let (line, symbol) = (arguments.line()?, arguments.required("symbol")?.to_owned());
    // The answer depends on this file, so it joins the read set.
    context.view.read(&path).await?;
    Ok(SymbolPosition { path, line, symbol })
}

fn render_locations(found: &Locations) -> String {
    let mut lines: Vec<String> = found
        .places
        .iter()
        .map(|place| match (&place.path, &place.text) {
            (Some(path), Some(text)) => format!("{path}:{}: {text}", place.line),
            (Some(path), None) => format!("{path}:{}", place.line),
            (None, _) => format!("{}:{} (outside the workspace)", place.name, place.line),
        })
        .collect();
    more(&mut lines, found.count);
    lines.join("\n")
}

fn more(lines: &mut Vec<String>, count: usize) {
    if lines.is_empty() {
        lines.push("[nothing found]".to_owned());
    } else if lines.len() < count {
        lines.push(format!("[{} more]", count - lines.len()));
    }
}
