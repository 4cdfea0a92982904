//! The subcommands of git that can only read, with the options that keep them so.

use crate::EffectKind::{self, Executes, Network, WritesWorkspace};
use crate::shell::options::{Operands, Spec};

/// What a subcommand prints of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedContent {
    /// Names, messages, numbers.
    Names,
    /// Content of files.
    Content,
    /// Content, but only if an option asks for a patch.
    Asked,
}

pub(super) struct Command {
    pub(super) spec: Spec,
    /// Options that the hardened form inserts behind the subcommand.
    pub(super) insert: &'static str,
    pub(super) shows: PrintedContent,
}

const NO_DRIVERS: &str = " --no-ext-diff --no-textconv";

const DIFF_LONG: &str = "patch no-patch unified? raw patch-with-raw patch-with-stat indent-heuristic no-indent-heuristic minimal \
    patience histogram anchored= diff-algorithm= stat? compact-summary numstat shortstat dirstat? cumulative dirstat-by-file? \
    summary name-only name-status color? no-color color-moved? no-color-moved color-moved-ws= no-color-moved-ws word-diff? \
    word-diff-regex= color-words? no-renames rename-empty no-rename-empty check ws-error-highlight= full-index binary abbrev? \
    break-rewrites? find-renames? find-copies? find-copies-harder irreversible-delete diff-filter= pickaxe-all pickaxe-regex \
    find-object= skip-to= rotate-to= relative? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change \
    ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff \
    no-textconv src-prefix= dst-prefix= no-prefix default-prefix line-prefix= merge-base cached staged \
    oneline graph decorate? no-decorate decorate-refs= decorate-refs-exclude= clear-decorations source all branches? tags? \
    remotes? glob= exclude= follow full-diff log-size max-count= skip= since= after= until= before= author= committer= grep= \
    grep-reflog= all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty \
    merges no-merges min-parents= max-parents= no-min-parents no-max-parents first-parent not ignore-missing cherry-mark \
    cherry-pick left-only right-only cherry walk-reflogs merge boundary simplify-by-decoration full-history dense sparse \
    simplify-merges ancestry-path? show-pulls date-order author-date-order topo-order reverse no-walk? do-walk pretty? format= \
    abbrev-commit no-abbrev-commit no-abbrev encoding= expand-tabs? no-expand-tabs notes? no-notes show-notes? relative-date \
    date= parents children left-right show-linear-break? count timestamp cc combined-all-paths diff-merges= no-diff-merges \
    mailmap no-mailmap use-mailmap exclude-first-parent-only since-as-filter= no-commit-id root end-of-options \
    objects objects-edge in-commit-order disk-usage? no-index";

/// Options that name a program, a file to write, or start a process for each submodule.
const DIFF_REFUSES: &[(&str, EffectKind, &str)] = &[
    ("output", WritesWorkspace, "git writes its output to a file"),
    ("ext-diff textconv", Executes, "git runs a program that the repository names"),
    ("show-signature", Executes, "git runs a program to check signatures"),
    ("submodule ignore-submodules recurse-submodules", Executes, "git starts itself in submodules"),
    ("remerge-diff", Executes, "git merges again, with the repository's merge programs"),
];

/// A subcommand that walks the history and shows differences; all of them take the same options.
const fn history(name: &'static [&'static str], insert: &'static str, shows: PrintedContent) -> Command {
    let spec = Spec {
        flags: "abcEFghimopPqrRstuvwWz",
        values: "GILlnS",
        attached: "BCMUX",
        long: DIFF_LONG,
        reads: "O",
        refuses: DIFF_REFUSES,
        digits: true,
        ..Spec::new(name, Operands::Custom)
    };
    Command { spec, insert, shows }
}

const fn plain(name: &'static [&'static str], flags: &'static str, long: &'static str) -> Command {
    let spec = Spec { flags, long, digits: true, ..Spec::new(name, Operands::Custom) };
    Command { spec, insert: "", shows: PrintedContent::Names }
}

pub(super) const COMMANDS: &[Command] = &[
    history(&["diff"], " --no-ext-diff --no-textconv --ignore-submodules=dirty", PrintedContent::Content),
    history(&["log"], NO_DRIVERS, PrintedContent::Asked),
    history(&["show"], NO_DRIVERS, PrintedContent::Content),
    history(&["reflog", "stash list"], NO_DRIVERS, PrintedContent::Asked),
    history(&["stash show"], NO_DRIVERS, PrintedContent::Content),
    history(
        &["diff-tree", "diff-index", "diff-files"],
        " --no-ext-diff --no-textconv --ignore-submodules=dirty",
        PrintedContent::Content,
    ),
    history(&["rev-list"], "", PrintedContent::Names),
    Command {
        spec: Spec {
            flags: "nsec",
            attached: "w",
            long: "numbered summary email committer group= format= date= all branches? tags? remotes? since= until= after= before= \
                   author= no-merges merges max-count= first-parent",
            digits: true,
            ..Spec::new(&["shortlog"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Names,
    },
    Command {
        spec: Spec {
            flags: "sbz",
            attached: "uM",
            long: "short branch show-stash porcelain? long untracked-files? ignored? column? no-column ahead-behind \
                   no-ahead-behind renames no-renames find-renames? null",
            ..Spec::new(&["status"], Operands::Custom)
        },
        insert: " --ignore-submodules=dirty",
        shows: PrintedContent::Names,
    },
    Command {
        spec: Spec {
            flags: "lstcfnwepb",
            values: "L",
            attached: "MC",
            long: "porcelain line-porcelain incremental root show-stats date= show-name show-number show-email score-debug minimal \
                   since= abbrev= first-parent no-progress color-lines color-by-age encoding= ignore-rev= no-textconv no-ignore-revs-file",
            reads: "S contents ignore-revs-file",
            refuses: DIFF_REFUSES,
            ..Spec::new(&["blame", "annotate"], Operands::Custom)
        },
        insert: " --no-textconv --no-ignore-revs-file",
        shows: PrintedContent::Content,
    },
    Command {
        spec: Spec {
            flags: "aiIwvhHEGFPnlLzocpWqr",
            values: "eABCm",
            long: "cached untracked no-exclude-standard exclude-standard text ignore-case word-regexp invert-match full-name \
                   extended-regexp basic-regexp fixed-strings perl-regexp line-number column files-with-matches name-only \
                   files-without-match null only-matching count color? no-color break heading show-function function-context \
                   after-context= before-context= context= threads= max-count= and or not all-match quiet max-depth= recursive \
                   no-recursive no-textconv",
            reads: "f",
            refuses: &[
                ("O open-files-in-pager", Executes, "git grep opens a program"),
                ("textconv", Executes, "git runs a program that the repository names"),
                ("recurse-submodules", Executes, "git starts itself in submodules"),
                ("no-index", EffectKind::ReadsOutside, "git grep searches outside the repository"),
            ],
            digits: true,
            ..Spec::new(&["grep"], Operands::Custom)
        },
        insert: " --no-textconv",
        shows: PrintedContent::Content,
    },
    Command {
        spec: Spec {
            flags: "cdmosuktvzfi",
            values: "x",
            long: "cached deleted others ignored stage unmerged killed modified directory no-empty-directory exclude= exclude-standard \
                   error-unmatch full-name abbrev? eol sparse format= deduplicate with-tree= resolve-undo",
            reads: "X exclude-from",
            refuses: &[("recurse-submodules", Executes, "git starts itself in submodules")],
            tame: true,
            ..Spec::new(&["ls-files"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Names,
    },
    Command {
        spec: Spec {
            flags: "tsepzZ",
            long: "batch? batch-check? batch-all-objects buffer unordered follow-symlinks",
            refuses: &[("textconv filters", Executes, "git runs a program that the repository names")],
            ..Spec::new(&["cat-file"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Content,
    },
    plain(
        &["branch"],
        "alrvi",
        "all list remotes verbose show-current contains no-contains merged no-merged points-at sort= format= \
        color? no-color column? no-column abbrev? no-abbrev ignore-case omit-empty",
    ),
    Command {
        spec: Spec {
            flags: "li",
            attached: "n",
            long: "list contains no-contains merged no-merged points-at sort= format= color? column? no-column ignore-case omit-empty",
            ..Spec::new(&["tag"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Names,
    },
    Command {
        spec: Spec {
            flags: "vn",
            long: "verbose no-query push all",
            refuses: &[("prune", Network, "asks the remote")],
            ..Spec::new(&["remote"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Names,
    },
    plain(
        &["rev-parse"],
        "q",
        "show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree \
        is-inside-git-dir is-bare-repository is-shallow-repository abbrev-ref? short? symbolic symbolic-full-name verify quiet \
        all branches? tags? remotes? path-format= git-path= default= since= until= not",
    ),
    plain(
        &["ls-tree"],
        "drtlz",
        "long name-only name-status object-only full-name full-tree abbrev? format=",
    ),
    plain(&["merge-base"], "a", "all octopus independent is-ancestor fork-point"),
    Command {
        spec: Spec {
            refuses: &[(
                "dirty broken",
                WritesWorkspace,
                "git describe --dirty writes the index, also where git is told to take no optional locks",
            )],
            ..plain(
                &["describe"],
                "",
                "all tags contains abbrev= candidates= exact-match debug long match= exclude= always first-parent",
            )
            .spec
        },
        insert: "",
        shows: PrintedContent::Names,
    },
    plain(&["symbolic-ref"], "q", "short quiet no-recurse"),
    plain(
        &["config"],
        "lz",
        "get get-all get-regexp get-urlmatch list local worktree show-origin show-scope \
        name-only null type= bool int path bool-or-int no-includes all regexp default=",
    ),
    plain(&["worktree list"], "vz", "porcelain verbose"),
    plain(
        &["for-each-ref"],
        "",
        "count= sort= format= points-at= merged? no-merged? contains? no-contains? ignore-case omit-empty \
        exclude= include-root-refs color?",
    ),
    plain(&["show-ref"], "dhqs", "head dereference hash? verify abbrev? heads tags branches quiet exists"),
    plain(&["name-rev"], "", "tags refs= exclude= all name-only always no-undefined"),
    plain(&["check-ignore"], "qvnz", "quiet verbose non-matching no-index"),
    plain(&["count-objects"], "vH", "verbose human-readable"),
    plain(&["cherry"], "v", "verbose abbrev?"),
    plain(&["version"], "", "build-options"),
    plain(&["archive --list", "archive -l"], "", ""),
    plain(&["check-mailmap"], "", "stdin"),
    plain(&["check-ref-format"], "", "branch allow-onelevel no-allow-onelevel refspec-pattern normalize"),
    plain(
        &["show-branch"],
        "arg",
        "all remotes current topo-order date-order sparse more= list independent merge-base sha1-name no-name topics reflog? color? no-color",
    ),
    Command {
        spec: Spec { long: "trivial-merge", ..Spec::new(&["merge-tree"], Operands::Custom) },
        insert: "",
        // For a conflict it prints both sides.
        shows: PrintedContent::Content,
    },
    plain(&["stripspace"], "sc", "strip-comments comment-lines"),
    plain(&["patch-id"], "", "stable unstable verbatim"),
    plain(&["get-tar-commit-id"], "", ""),
    plain(&["column"], "", "mode= raw-mode= width= indent= nl= padding="),
    plain(&["notes list", "bisect log", "sparse-checkout list"], "", ""),
    plain(&["bundle list-heads", "bundle verify"], "q", "quiet"),
    plain(&["ls-remote --get-url"], "", ""),
    Command {
        spec: Spec {
            flags: "ndxXqf",
            values: "e",
            long: "dry-run quiet exclude= force",
            refuses: &[("i interactive", WritesWorkspace, "git clean removes files")],
            ..Spec::new(&["clean"], Operands::Custom)
        },
        insert: "",
        shows: PrintedContent::Names,
    },
];

/// Subcommands that are known to do more than read.
pub(super) const REFUSED: &[(EffectKind, &str, &str)] = &[
    (
        WritesWorkspace,
        "changes the repository or the work tree",
        "add am apply archive bisect branch bundle checkout checkout-index cherry-pick clean clone commit commit-tree \
         fast-export fast-import filter-branch fsck gc hash-object init maintenance merge merge-file merge-tree mv notes \
         pack-objects pack-refs prune read-tree rebase remote repack replace reset restore revert rm sparse-checkout stash \
         submodule switch tag update-index update-ref worktree write-tree multi-pack-index symbolic-ref config reflog",
    ),
    (
        Network,
        "opens a connection",
        "fetch pull push var ls-remote send-email request-pull remote-http svn p4",
    ),
    (
        Executes,
        "runs other programs",
        "difftool mergetool credential help verify-commit verify-tag daemon instaweb gui citool web--browse",
    ),
];
