use std::collections::HashMap;

use crate::{IndexError, Language, Query, View};

/// If code matches one of this many of a query's pairs of characters, it is about the same thing in the same
/// language. In a question, about a third of the pairs belong to its subject; the others span two words, or belong to
/// the question itself.
const PART: usize = 3;

/// Whether a query is in Chinese, Japanese or Korean and the code of the view is not, so that English words may find
/// what it asks for. A query that [names a definition](crate::names_definition) needs no translation, whatever this
/// says.
pub fn needs_translation(view: &View<'_>, query: &Query) -> Result<bool, IndexError> {
    if !query.is_foreign() {
        return Ok(false);
    }
    let terms: Vec<&str> = query.foreign_terms().collect();
    let mut found: HashMap<(usize, u32), usize> = HashMap::new();
    for term in &terms {
        for (at, layer) in view.layers.iter().enumerate() {
            let catalogue = layer.catalogue();
            layer.snapshot.chunk_postings(term, &mut |posting| {
                let content = catalogue.content(catalogue.chunk(posting.chunk).content);
                let files = content.map(|content| content.files.as_slice()).unwrap_or_default();
                let is_code = files.iter().filter(|file| layer.shows(**file)).any(|file| {
                    let path = catalogue.file(*file).map(|entry| &entry.path);
                    path.is_some_and(|path| {
                        query.allows(path)
                            && Language::of_name(path.file_name().unwrap_or_default()).is_code()
                    })
                });
                if is_code {
                    *found.entry((at, posting.chunk)).or_default() += 1;
                }
            })?;
        }
    }
    Ok(!found.values().any(|count| terms.len() <= PART * count))
}

#[cfg(test)]
mod tests {
    use headstart_overlay_fs::WorkspacePath;

    use super::*;
    use crate::MemoryIndex;

    /// A question in another language is only translated if no part of the code has enough of its words.
    #[test]
    fn what_the_code_says_in_its_own_language_is_not_translated() {
        let english = ("src/auth/login.ts", "// Checks the password.\nexport function login() {}\n");
        let commented = ("src/auth/登录.ts", "// 用户登录：验证用户名和密码\nexport class AuthService {}\n");
        let readme = ("README.zh.md", "# 用户登录验证流程\n\n请帮我理解用户登录验证流程在哪里实现的\n");
        let english = vec![english];
        let with = |other| [english.clone(), vec![other]].concat();
        let cases = [
            (english.clone(), "用户登录验证流程", true),
            (english.clone(), "请帮我理解用户登录验证流程在哪里实现的", true),
            (english.clone(), "ログイン処理はどこですか", true),
            (english.clone(), "로그인 처리는 어디에 있습니까", true),
            // A match in a README does not count, because it is not code; a match in a comment of code does.
            (with(readme), "用户登录验证流程", true),
            (with(commented), "用户登录验证流程", false),
            (english.clone(), "AuthService", false),
            (english.clone(), "`login` 在哪里定义", false),
            (english.clone(), "where are passwords checked", false),
        ];
        for (files, text, expected) in cases {
            let paths: Vec<_> = files.iter().map(|(path, _)| WorkspacePath::parse(path).unwrap()).collect();
            let index =
                MemoryIndex::of(paths.iter().zip(&files).map(|(path, (_, text))| (path, text.as_bytes())));
            let view = View::new(&index, []);
            let query = Query::parse(text, |path| view.has(path));
            let names = crate::names_definition(&view, &query).unwrap();
            assert_eq!(!names && needs_translation(&view, &query).unwrap(), expected, "{text}: {query:?}");
        }
    }
}
