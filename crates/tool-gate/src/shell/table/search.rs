//! `grep`, `rg`, `fd`.

use super::lines;
use crate::EffectKind::{Executes, ReadsOutside};
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Parsed, Spec, parse};
use crate::shell::printed::{Names, Printed};
use crate::shell::value::Arg;
use crate::shell::{Extent, Span};

pub(super) const GREP: Spec = Spec {
    flags: "EFGPiyvwxcLlqsobHhnTZzaIUrRuV",
    values: "emABCDd",
    long: "extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case invert-match word-regexp \
           line-regexp count color? colour? files-without-match files-with-matches max-count= only-matching quiet silent \
           no-messages byte-offset with-filename no-filename label= line-number initial-tab null after-context= \
           before-context= context= text binary-files= devices= directories= exclude= exclude-dir= include= recursive \
           dereference-recursive line-buffered null-data binary help version",
    reads: "f file exclude-from",
    digits: true,
    tame: true,
    ..Spec::new(&["grep"], Operands::Custom)
};

pub(super) fn grep(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &GREP, args);
    if parsed.has(&["R", "dereference-recursive"]) {
        do_not_follow(judge, &parsed, args, span);
    }
    let recursive = parsed.has(&["r", "R", "recursive", "dereference-recursive", "d", "directories"]);
    read_after_pattern(judge, &parsed, &["e", "regexp", "f", "file"], recursive, span);
}

/// Links that a search meets may lead out of the workspace, so the hardened form has the option that follows none.
fn do_not_follow(judge: &mut Judge<'_>, parsed: &Parsed, args: &[Arg], span: Span) {
    let flags = |arg: &Arg| {
        let text = arg.text()?.strip_prefix('-')?;
        let rest = text.trim_start_matches(|letter| GREP.flags.contains(letter));
        let flags = &text[..text.len() - rest.len()];
        flags.contains('R').then(|| flags.to_owned())
    };
    // Only the single argument with flags is changed: of several, one could be the value of an option.
    let mut found = args.iter().filter_map(|arg| flags(arg).map(|flags| (arg, flags)));
    if let (Some((arg, flags)), None) = (found.next(), found.next())
        && !parsed.has(&["dereference-recursive"])
        && judge.is_plain(arg.span, &arg.prefix)
        && flags.matches('R').count() == 1
        && let Some(place) = flags.find('R')
    {
        return judge.replace(arg.span.0 + 1 + place, 1, "r");
    }
    judge.refuse(ReadsOutside, "grep follows links, which may lead out of the workspace", span);
}

/// Reads the operands behind the pattern. The pattern is the first operand unless an option gave it.
fn read_after_pattern(judge: &mut Judge<'_>, parsed: &Parsed, pattern: &[&str], recursive: bool, span: Span) {
    let mut files = parsed.operands.as_slice();
    if !parsed.has(pattern) {
        match files.split_first() {
            // The pattern may become no argument or several, and then some of them are files.
            Some((first, rest)) if !first.many => files = rest,
            Some((first, _)) if first.escapes => {
                return judge.refuse(ReadsOutside, "a pattern that may become several arguments", first.span);
            }
            _ => {}
        }
        if parsed.operands.is_empty() && parsed.has(&["help", "version", "V"]) {
            return;
        }
    }
    let extent = if recursive { Extent::Below } else { Extent::File };
    for file in files.iter().filter(|file| !file.is("-")) {
        judge.read(file, extent);
    }
    if files.is_empty() && recursive {
        judge.read_here(Extent::Below, span);
    }
    judge.reads_input &= !(parsed.leaves_input() && files.iter().any(Arg::is_a_file));
    judge.printed = lines::of_search(judge, parsed, files, recursive);
}

pub(super) const RG: Spec = Spec {
    flags: "abcFhHiIlnNoPpqsSuUvVwx0.",
    values: "eABCEgjmMrtTd",
    long: "after-context= before-context= context= color= colors= column no-column context-separator= count count-matches crlf \
           max-depth= maxdepth= encoding= engine= field-context-separator= field-match-separator= files \
           files-with-matches files-without-match fixed-strings no-follow glob= glob-case-insensitive heading no-heading hidden \
           no-hidden iglob= ignore-case include-zero invert-match json line-buffered line-number no-line-number line-regexp \
           max-columns= max-columns-preview max-count= max-filesize= multiline multiline-dotall no-config no-filename \
           no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-parent no-ignore-vcs \
           no-messages no-ignore-messages null null-data one-file-system only-matching passthru pcre2 pretty quiet regexp= replace= \
           smart-case case-sensitive sort= sortr= stats stop-on-nonmatch text threads= trim type= type-list type-not= \
           unrestricted vimgrep with-filename word-regexp byte-offset binary debug trace help version sort-files path-separator= \
           no-unicode unicode auto-hybrid-regex no-auto-hybrid-regex dfa-size-limit= regex-size-limit= mmap no-mmap no-pcre2-unicode \
           pcre2-unicode type-add= type-clear= no-context-separator no-require-git block-buffered no-block-buffered no-line-buffered \
           pcre2-version no-json no-multiline no-stats no-trim no-text no-sort-files no-pcre2 no-fixed-strings no-crlf no-binary \
           no-encoding hyperlink-format= generate=",
    reads: "f file ignore-file",
    refuses: &[
        ("L follow", ReadsOutside, "follows links, which may lead out of the workspace"),
        ("pre pre-glob hostname-bin", Executes, "rg runs a program for each file"),
        ("z search-zip", Executes, "rg runs programs to decompress"),
    ],
    ..Spec::new(&["rg"], Operands::Custom)
};

pub(super) fn rg(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &RG, args);
    if parsed.has(&["files", "type-list"]) {
        let extent = Extent::Names;
        for folder in &parsed.operands {
            judge.read(folder, extent);
        }
        if parsed.operands.is_empty() {
            judge.read_here(extent, span);
        }
        if let Some(names) = lines::below(judge, &parsed.operands).filter(|_| parsed.has(&["files"])) {
            judge.printed = Some(Printed::Names(Names { nul: parsed.has(&["0", "null"]), ..names }));
        }
        return;
    }
    read_after_pattern(judge, &parsed, &["e", "regexp", "f", "file"], true, span);
}

pub(super) const FD: Spec = Spec {
    flags: "HIusigap01qFV",
    values: "dtecESjo",
    long: "hidden no-ignore unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path full-path print0 \
           max-depth= min-depth= exact-depth= exclude= type= extension= size= changed-within= changed-before= color= \
           threads= max-results= quiet no-ignore-vcs no-ignore-parent strip-cwd-prefix? and= owner= one-file-system no-follow \
           prune relative-path path-separator= show-errors has-results ignore regex newer= older= changed-after= \
           change-newer-than= change-older-than= no-hidden help version",
    refuses: &[
        ("L follow", ReadsOutside, "follows links, which may lead out of the workspace"),
        ("x X exec exec-batch", Executes, "fd runs a program for each file"),
        ("l list-details", Executes, "fd runs ls"),
    ],
    ..Spec::new(&["fd"], Operands::Custom)
};

pub(super) fn fd(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &FD, args);
    for folder in parsed.operands.iter().skip(1) {
        judge.read(folder, Extent::Names);
    }
    if parsed.operands.first().is_some_and(|pattern| pattern.many) {
        judge.unknown("a pattern that may become several arguments", span);
    }
    if parsed.operands.len() < 2 {
        judge.read_here(Extent::Names, span);
    }
    let names = lines::below(judge, &parsed.operands);
    if let Some(names) = names.filter(|_| !parsed.has(&["a", "absolute-path"])) {
        judge.printed = Some(Printed::Names(Names { nul: parsed.has(&["0", "print0"]), ..names }));
    }
    judge.reads_input = false;
}

pub(super) const AG: Spec = Spec {
    flags: "acDFghHilLnoQrRsStuUvw0V",
    values: "ABCGm",
    long: "ackmate all-text all-types after= before= break nobreak case-sensitive color nocolor column context= count depth= \
           files-with-matches files-without-matches fixed-strings nofollow group nogroup heading noheading hidden ignore= \
           ignore-case ignore-dir= literal match max-count= no-numbers numbers null one-device only-matching parallel passthrough \
           print-all-files recurse norecurse silent skip-vcs-ignores smart-case stats stats-only unrestricted vimgrep word-regexp \
           file-search-regex= filename nofilename invert-match list-file-types help version js json ts py python rust go java ruby \
           php css html xml yaml markdown md shell cc cpp csharp swift kotlin scala sql",
    refuses: &[
        ("pager", Executes, "ag runs a pager"),
        ("f follow", ReadsOutside, "follows links, which may lead out of the workspace"),
        ("p path-to-ignore", ReadsOutside, "a further file of what to ignore"),
    ],
    abbreviates: false,
    ..Spec::new(&["ag"], Operands::Custom)
};

/// Options of `ag` that take a number.
const NUMBERS: [&str; 9] = ["A", "B", "C", "m", "after", "before", "context", "depth", "max-count"];

pub(super) fn ag(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &AG, args);
    // If the number is missing, ag takes the next word for the pattern, and what follows for paths.
    let digits =
        |value: &Arg| value.text().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = |value: &Option<Arg>| value.as_ref().is_some_and(digits);
    if parsed.options.iter().any(|given| NUMBERS.contains(&given.name.as_str()) && !number(&given.value)) {
        return judge.unknown("an option of ag that takes a number", span);
    }
    if parsed.has(&["help", "version", "V", "list-file-types"]) && parsed.operands.is_empty() {
        return;
    }
    read_after_pattern(judge, &parsed, &[], true, span);
}
