use std::collections::{BTreeMap, BTreeSet};

use headstart_overlay_fs::{Content, ContentHash};

/// The most bytes of a piece.
const MOST: usize = 256 << 10;

/// The pieces of a content, each with whether another one follows. An empty content is one empty piece.
pub fn content_pieces(content: &[u8]) -> impl Iterator<Item = (Content, bool)> {
    let count = content.len().div_ceil(MOST).max(1);
    (0..count).map(move |number| {
        let end = content.len().min((number + 1) * MOST);
        (Content::from(&content[number * MOST..end]), number + 1 < count)
    })
}

/// Joins contents that come in pieces, one content after the other.
#[derive(Debug, Default)]
pub struct ContentAssembler {
    /// The contents that are still missing, if only certain ones are accepted.
    wanted: Option<BTreeSet<ContentHash>>,
    begun: Option<(ContentHash, Vec<u8>)>,
    change_with_content: BTreeMap<ContentHash, Content>,
    bytes: u64,
    most: u64,
}

impl ContentAssembler {
    /// Accepts these contents, and no others.
    pub fn only(hashes: impl IntoIterator<Item = ContentHash>) -> Self {
        Self { wanted: Some(hashes.into_iter().collect()), most: u64::MAX, ..Self::default() }
    }

    /// Accepts any contents, up to this many bytes.
    pub fn at_most(bytes: u64) -> Self {
        Self { most: bytes, ..Self::default() }
    }

    /// Whether all wanted contents are complete.
    pub fn is_complete(&self) -> bool {
        self.begun.is_none() && self.wanted.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// Adds the next piece. The error says why it cannot be right.
    pub fn push(&mut self, hash: ContentHash, piece: &[u8], more: bool) -> Result<(), String> {
        if self.change_with_content.contains_key(&hash) {
            return Err(format!("the content {hash} comes twice"));
        }
        if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&hash)) {
            return Err(format!("the content {hash} was not asked for"));
        }
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if self.most < self.bytes {
            return Err(format!("contents have more than {} bytes", self.most));
        }
        let (begun, mut bytes) = self.begun.take().unwrap_or((hash, Vec::new()));
        if begun != hash {
            return Err(format!("the content {hash} begins before the end of {begun}"));
        }
        bytes.extend_from_slice(piece);
        if more {
            self.begun = Some((hash, bytes));
            return Ok(());
        }
        let content = Content::from(bytes);
        if content.hash() != hash {
            return Err(format!(
                "a content has the hash {} and not {hash}, as it was announced",
                content.hash()
            ));
        }
        if let Some(wanted) = &mut self.wanted {
            wanted.remove(&hash);
        }
        self.change_with_content.insert(hash, content);
        Ok(())
    }

    /// The complete contents that were not taken yet.
    pub fn take(&mut self) -> BTreeMap<ContentHash, Content> {
        std::mem::take(&mut self.change_with_content)
    }
}
