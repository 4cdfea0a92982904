use encoding_rs::{Encoding, UTF_8};

use super::html::text_of;
use crate::clean;

/// The bytes in which a page may name its encoding.
const SNIFFED: usize = 2_048;

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
}

impl Kind {
    /// The format that a header names; `None` if it is not text.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let name = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "application/json" | "application/xml" => Some(Self::Text),
            _ if name.starts_with("text/") || name.ends_with("+json") => Some(Self::Text),
            _ => None,
        }
    }
}

/// A page of the web as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Its address after all redirects.
    pub(super) address: String,
    pub(super) text: String,
    /// Whether all of it was read.
    pub(super) is_whole: bool,
}

impl Page {
    pub(super) fn of(
        address: String,
        kind: Kind,
        content_type: &str,
        body: &[u8],
        is_whole: bool,
    ) -> Result<Self, String> {
        if kind == Kind::Text && body.contains(&0) {
            return Err("it is binary, whatever it says of itself".to_owned());
        }
        let charset = charset_in(content_type).or_else(|| match kind {
            Kind::Html => charset_in(&String::from_utf8_lossy(&body[..body.len().min(SNIFFED)])),
            Kind::Text => None,
        });
        let text = charset.unwrap_or(UTF_8).decode(body).0.into_owned();
        let text = match kind {
            Kind::Text => text,
            Kind::Html => text_of(&text),
        };
        Ok(Self { address, text: clean(&text, usize::MAX), is_whole })
    }

    /// The text for the model, with at most this many characters and bytes.
    pub(super) fn render(&self, chars: usize, bytes: usize) -> String {
        let by_chars = self.text.char_indices().nth(chars).map_or(self.text.len(), |(end, _)| end);
        let end = (0..=by_chars.min(bytes)).rev().find(|end| self.text.is_char_boundary(*end));
        let shown = self.text[..end.unwrap_or(0)].trim_end();
        let mut told = format!("{}\n\n{shown}", clean(&self.address, 2_000));
        if shown.is_empty() {
            told.push_str("[the page holds no text]");
        } else if shown.len() < self.text.trim_end().len() || !self.is_whole {
            told.push_str("\n[cut: this is the beginning of the page]");
        }
        told
    }
}

/// The encoding that is named behind `charset=`.
fn charset_in(text: &str) -> Option<&'static Encoding> {
    let at = text.to_ascii_lowercase().find("charset=")? + "charset=".len();
    let label = text[at..].trim_start_matches(['"', '\'']);
    let end = label.find(|sign: char| !(sign.is_ascii_alphanumeric() || "-_:".contains(sign)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}
