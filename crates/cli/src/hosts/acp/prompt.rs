//! Turns a prompt of the client's into the user's text. Nothing here does IO.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};
use url::Url;

use super::rpc;

/// The blocks of a prompt, joined. Text stays unchanged, a file of the workspace becomes a mention, and embedded
/// content is put between fences.
pub(super) fn text(blocks: &[ContentBlock], workspace: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for (place, block) in blocks.iter().enumerate() {
        let unknown = |what: &str| {
            rpc::wrong(
                &format!("params.prompt[{place}]"),
                &format!("{what} cannot be told to the model here"),
            )
        };
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::ResourceLink(link) => {
                // A mention is only recognised at the beginning of a word.
                if !text.is_empty() && !text.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
                let words = match in_workspace(&link.uri, workspace) {
                    Some(path) => format!("@{path}"),
                    None if link.name == link.uri => link.uri.clone(),
                    None => format!("{} ({})", link.name, link.uri),
                };
                text.push_str(&words);
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(contents) => {
                    text.push_str(&embedded(&contents.uri, &contents.text, workspace));
                }
                _ => return Err(unknown("what is embedded and is no text")),
            },
            ContentBlock::Image(_) => return Err(unknown("an image")),
            ContentBlock::Audio(_) => return Err(unknown("audio")),
            _ => return Err(unknown("content of this type")),
        }
    }
    Ok(text)
}

fn embedded(uri: &str, content: &str, workspace: &Path) -> String {
    let name = in_workspace(uri, workspace).unwrap_or_else(|| uri.to_owned());
    // The fence must be longer than any row of backquotes in the content.
    let longest = content.split(|sign| sign != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("\n\n{name}:\n{fence}\n{}\n{fence}\n", content.strip_suffix('\n').unwrap_or(content))
}

/// The path of a file in the workspace, if a mention can name it.
fn in_workspace(uri: &str, workspace: &Path) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    let path: PathBuf = url.to_file_path().ok().filter(|_| url.scheme() == "file")?;
    let inside = path.strip_prefix(workspace).ok()?.to_str()?.to_owned();
    let is_word = !inside.is_empty() && !inside.contains(char::is_whitespace) && !inside.contains("..");
    (is_word && path.exists()).then_some(inside)
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::{
        EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
    };

    use super::*;

    fn text_of(blocks: &[ContentBlock]) -> Result<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        text(blocks, folder).map_err(|error| error.message)
    }

    fn words(text: &str) -> ContentBlock {
        ContentBlock::Text(TextContent::new(text))
    }

    fn link(name: &str, uri: &str) -> ContentBlock {
        ContentBlock::ResourceLink(ResourceLink::new(name, uri))
    }

    #[test]
    fn a_file_of_the_workspace_is_mentioned_and_another_one_named() {
        let here = format!("file://{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(
            text_of(&[words("look at"), link("c", &here), words(" now")]).unwrap(),
            "look at @Cargo.toml now"
        );
        let elsewhere = text_of(&[link("hosts", "file:///etc/hosts")]).unwrap();
        assert_eq!(elsewhere, "hosts (file:///etc/hosts)");
        let gone = format!("file://{}/gone.txt", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(text_of(&[link("gone", &gone)]).unwrap(), format!("gone ({gone})"));
    }

    #[test]
    fn what_is_embedded_cannot_end_its_fence() {
        let resource = TextResourceContents::new("a\n```\nb\n", "zed:///selection");
        let resource = EmbeddedResourceResource::TextResourceContents(resource);
        let block = ContentBlock::Resource(EmbeddedResource::new(resource));
        let text = text_of(&[words("explain"), block]).unwrap();
        assert_eq!(text, "explain\n\nzed:///selection:\n````\na\n```\nb\n````\n");
    }

    #[test]
    fn an_image_is_refused_by_its_place() {
        let image = ContentBlock::Image(ImageContent::new("", "image/png"));
        let error = text_of(&[words("see"), image]).unwrap_err();
        assert_eq!(error, "params.prompt[1]: an image cannot be told to the model here");
    }
}
