use std::collections::{BTreeMap, BTreeSet};

use headstart_overlay_fs::{Content, ContentHash};

/// A piece has at most so many bytes.
const MOST: usize = 256 << 10;

/// The pieces of a content, each with whether another follows; an empty content is one empty piece.
pub fn pieces_of(content: &[u8]) -> impl Iterator<Item = (Content, bool)> {
    let count = content.len().div_ceil(MOST).max(1);
    (0..count).map(move |number| {
        let end = content.len().min((number + 1) * MOST);
        (Content::from(&content[number * MOST..end]), number + 1 < count)
    })
}

/// Puts contents together that come in pieces, one after the other.
#[derive(Debug, Default)]
pub struct Pieces {
    /// What did not come whole yet, where only this is taken.
    wanted: Option<BTreeSet<ContentHash>>,
    begun: Option<(ContentHash, Vec<u8>)>,
    whole: BTreeMap<ContentHash, Content>,
    bytes: u64,
    most: u64,
}

impl Pieces {
    /// For these contents, and no others.
    pub fn wanted(hashes: impl IntoIterator<Item = ContentHash>) -> Self {
        Self { wanted: Some(hashes.into_iter().collect()), most: u64::MAX, ..Self::default() }
    }

    /// For whatever comes, up to so many bytes.
    pub fn at_most(bytes: u64) -> Self {
        Self { most: bytes, ..Self::default() }
    }

    /// Whether nothing that is wanted is missing any more.
    pub fn are_all(&self) -> bool {
        self.begun.is_none() && self.wanted.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// Takes the next piece. The error says why it cannot be.
    pub fn push(&mut self, hash: ContentHash, piece: &[u8], more: bool) -> Result<(), String> {
        if self.whole.contains_key(&hash) {
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
        self.whole.insert(hash, content);
        Ok(())
    }

    /// What came whole and was not taken yet.
    pub fn take(&mut self) -> BTreeMap<ContentHash, Content> {
        std::mem::take(&mut self.whole)
    }
}
