use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use headstart_forked_query::{Image, ImageType};
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::GateContext;

use super::{Mention, MentionError, MentionSource, ReadPaths, mentions};
use crate::rules::{GatedReader, ProjectRules, text_in, without_fences};
use crate::sanitize::{sanitize_line, truncate};

/// A longer file is not read for a mention, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// The most entries of a folder that are listed.
const MAX_ENTRIES: usize = 200;
/// What is shown of each mention at least, however little room there is.
const MIN_SHOWN_BYTES: usize = 256;

/// What the model is sent for the mentions of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedMentions {
    /// The text, in fences that say where it is from; `None` if nothing is mentioned.
    pub text: Option<String>,
    /// The images, in order. The text names each of them too.
    pub images: Vec<Image>,
    /// The files that were read for it.
    pub read: Vec<WorkspacePath>,
}

/// The largest image in bytes of its file, because some providers accept no more.
const MAX_IMAGE_BYTES: u64 = 3_750_000;
/// The most images with one prompt.
const MAX_IMAGES: usize = 16;

/// A resolved mention.
struct ResolvedMention {
    /// The attributes of its fence.
    source_attributes: String,
    text: String,
    image: Option<Image>,
}

impl ResolvedMention {
    fn text(source_attributes: String, text: String) -> Self {
        Self { source_attributes, text, image: None }
    }
}

/// Resolves what a prompt mentions, as `tree` shows it and `gate` permits it: whole files or the lines that are
/// named, and folders as lists.
///
/// The result has at most `room` bytes; the largest part is cut first, and says so. If a mention cannot be resolved,
/// this is an error, and the prompt must not be sent.
pub async fn resolve_mentions(
    prompt: &str,
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
    source: &dyn MentionSource,
    room: usize,
) -> Result<ResolvedMentions, MentionError> {
    let reader = GatedReader::new(tree, gate);
    let mut read = ReadPaths::new();
    let mut resolved = Vec::new();
    for mention in mentions(prompt) {
        let found = match &mention {
            Mention::Path { path, lines, is_sure } => {
                resolve_path(path, *lines, *is_sure, &reader, gate, &mut read).await
            }
            Mention::Host(what) => {
                let source_attributes = format!("from=\"{}\"", what.name());
                source
                    .resolve(*what, prompt)
                    .await
                    .map(|text| Some(ResolvedMention::text(source_attributes, text)))
            }
            Mention::Page(address) => {
                let source_attributes = format!("page=\"{}\"", fence_name(address));
                source
                    .fetch(address)
                    .await
                    .map(|text| text.map(|text| ResolvedMention { source_attributes, text, image: None }))
            }
            Mention::Resource { server, uri, is_quoted } => {
                match source.resource(server, uri).await {
                    Ok(Some(text)) => {
                        let source_attributes =
                            format!("resource=\"{}\"", fence_name(&mention.source_text()));
                        Ok(Some(ResolvedMention::text(source_attributes, text)))
                    }
                    // There is no such server, so it may be the name of a file.
                    Ok(None) => {
                        resolve_path(&mention.source_text(), None, *is_quoted, &reader, gate, &mut read).await
                    }
                    Err(problem) => Err(problem),
                }
            }
            Mention::Rule(name) => resolve_rule(name, tree, gate).await.map(Some),
        };
        match found {
            Ok(Some(ResolvedMention { image: Some(_), .. })) if MAX_IMAGES <= count_images(&resolved) => {
                let problem = format!("is one image too many: at most {MAX_IMAGES} go with a prompt");
                return Err(MentionError { mention: mention.source_text(), problem });
            }
            Ok(found) => resolved.extend(found),
            Err(problem) => return Err(MentionError { mention: mention.source_text(), problem }),
        }
    }
    let text = (!resolved.is_empty()).then(|| render(&resolved, room));
    let images = resolved.into_iter().filter_map(|resolved| resolved.image).collect();
    Ok(ResolvedMentions { text, images, read })
}

async fn resolve_path(
    written: &str,
    lines: Option<(usize, usize)>,
    is_sure: bool,
    reader: &GatedReader<'_>,
    gate: &GateContext,
    read: &mut ReadPaths,
) -> Result<Option<ResolvedMention>, String> {
    let missing = |problem: &str| if is_sure { Err(problem.to_owned()) } else { Ok(None) };
    let Ok(path) = WorkspacePath::resolve(written, &gate.workspace) else {
        return missing("is no path in the project");
    };
    if gate.denies(&path) {
        return Err("is closed: a deny rule covers it, or it holds a secret by its name".to_owned());
    }
    match reader.find(&path).await? {
        None => missing("there is no such file"),
        Some((place, EntryKind::Directory, _)) => {
            let text = reader.listed(&place, MAX_ENTRIES).await?;
            Ok(Some(ResolvedMention::text(format!("folder=\"{}\"", name_of(&path)), text)))
        }
        Some((place, EntryKind::File, len)) => {
            if MAX_FILE_BYTES < len {
                return Err(format!("has {len} bytes, and at most {MAX_FILE_BYTES} are read for a mention"));
            }
            let bytes = reader.bytes_of(&place).await?;
            let name = name_of(&path);
            let resolved = match image(&bytes, &path)? {
                Some(image) if lines.is_none() => {
                    let text = "(an image, which you see)".to_owned();
                    ResolvedMention {
                        source_attributes: format!("image=\"{name}\""),
                        text,
                        image: Some(image),
                    }
                }
                Some(_) => return Err("is an image, and has no lines".to_owned()),
                None => {
                    let (text, numbers) = select_lines(text_in(bytes)?, lines)?;
                    ResolvedMention::text(format!("file=\"{name}\"{numbers}"), text)
                }
            };
            read.push(place);
            Ok(Some(resolved))
        }
        Some(_) => Err("is no regular file".to_owned()),
    }
}

fn count_images(resolved: &[ResolvedMention]) -> usize {
    resolved.iter().filter(|resolved| resolved.image.is_some()).count()
}

/// The image in a file, if it is one by its bytes. A file that has the name of an image and is none, or none that
/// models accept, is an error.
fn image(bytes: &[u8], path: &WorkspacePath) -> Result<Option<Image>, String> {
    const KINDS: &str = "PNG, JPEG, GIF and WebP";
    /// An SVG is text, and is sent as text.
    const NAMES: [&str; 11] =
        [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ico", ".heic", ".avif"];
    let Some(media_type) = ImageType::of(bytes) else {
        let name = path.to_string().to_lowercase();
        let is_called_one = NAMES.iter().any(|ending| name.ends_with(ending));
        if is_called_one {
            return Err(format!("is no image that models take; they take {KINDS}"));
        }
        return Ok(None);
    };
    let len = bytes.len() as u64;
    if MAX_IMAGE_BYTES < len {
        return Err(format!(
            "has {len} bytes, and an image may have at most {MAX_IMAGE_BYTES}; make it smaller"
        ));
    }
    Ok(Some(Image { media_type, data: BASE64_STANDARD.encode(bytes).into() }))
}

/// The requested lines of a text, and the words with which its fence names them.
fn select_lines(text: String, lines: Option<(usize, usize)>) -> Result<(String, String), String> {
    let Some((first, last)) = lines else { return Ok((text, String::new())) };
    let count = text.lines().count();
    if first == 0 || last < first || count < first {
        return Err(format!("has {count} lines; name them as FIRST-LAST, counted from 1"));
    }
    let last = last.min(count);
    let wanted: Vec<_> = text.lines().skip(first - 1).take(last - first + 1).collect();
    Ok((wanted.join("\n"), format!(" lines=\"{first}-{last}\"")))
}

async fn resolve_rule(
    name: &str,
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
) -> Result<ResolvedMention, String> {
    let rules = ProjectRules::read(tree, gate).await;
    let rule = rules.find_rule(name)?;
    Ok(ResolvedMention::text(format!("rule=\"{}\"", name_of(&rule.path)), rule.text.clone()))
}

fn name_of(path: &WorkspacePath) -> String {
    fence_name(&path.to_string())
}

fn fence_name(text: &str) -> String {
    sanitize_line(text, 4_096).replace('"', "'").replace(['<', '>'], "_")
}

fn render(resolved: &[ResolvedMention], room: usize) -> String {
    let most = fair_share(resolved, room);
    let mut text = "What is named with an @:\n".to_owned();
    for ResolvedMention { source_attributes, text: whole, .. } in resolved {
        // A mentioned text can neither end its fence nor pass for a rule of the project.
        let safe = without_fences(whole).replace("</mentioned", "<\\/mentioned");
        let shown = truncate(&safe, most);
        let _ = writeln!(text, "<mentioned {source_attributes}>\n{}", shown.trim_end_matches('\n'));
        if shown.len() < safe.len() {
            let _ = writeln!(
                text,
                "[cut: these are the first {} of {} bytes; read the rest where you need it]",
                shown.len(),
                safe.len()
            );
        }
        text.push_str("</mentioned>\n");
    }
    text.truncate(text.trim_end().len());
    text
}

/// How many bytes are shown of each, so that all fit: shorter ones stay whole.
fn fair_share(resolved: &[ResolvedMention], room: usize) -> usize {
    let mut lengths: Vec<_> = resolved.iter().map(|resolved| resolved.text.len()).collect();
    lengths.sort_unstable();
    let mut left = room;
    for (place, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - place);
        if share < *length {
            return share.max(MIN_SHOWN_BYTES);
        }
        left -= length;
    }
    usize::MAX
}
