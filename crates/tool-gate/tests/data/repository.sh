# Makes a repository in $1/work whose configuration names a program that leaves a mark in $1/marks in every place
# where git, bash or another tool looks for one. Runs in bash with a clean environment.
set -eu
base=$1
mkdir -p "$base/work" "$base/marks" "$base/home"
mark="$base/mark.sh"
printf '#!/bin/sh\necho "$0 $*" >>"%s/marks/ran"\ncat\n' "$base" >"$mark"
chmod +x "$mark"
cd "$base/work"
git init -q -b main .
git config user.email ada@example.org
git config user.name Ada
mkdir -p src tests docs sub node_modules/left-pad src/d tests/d bin
for file in README.md file.txt a.txt b.txt log.txt notes.txt words.txt list.txt a b c docs/guide.md src/main.rs src/lib.rs src/a.rs src/b.rs; do
    printf 'foo bar 1\nTODO main 20\n# line\nfn main() {\n}\n' >"$file"
done
printf 'a,b\n1,2\n3,4\n' >data.csv
cp data.csv a.csv
printf '{"name":"x","version":"1.0","scripts":{"t":"u"},"dependencies":{"d":"1"}}\n' | tee package.json data.json a.json >/dev/null
printf '[package]\nname = "x"\nversion = "1.0"\n' >Cargo.toml
printf 'all:\n\ttouch made\n' >Makefile
printf 'key: value\n' >config.yaml
printf '<feed><item><title>x</title></item></feed>\n' | tee feed.xml >src/feed.xml
printf '<html><body><a href="x">y</a></body></html>\n' >page.html
# In write-ahead mode, in which even a reader writes beside it.
sqlite3 data.db 'pragma journal_mode=wal; create table t(a); insert into t values (1)' >/dev/null
git add -A
git commit -qm first
printf 'more\n' >>file.txt
git commit -qam second
git tag v1.0
git branch feature
printf 'stashed\n' >>a.txt
git stash -q
git notes add -m note
git update-ref refs/remotes/origin/main HEAD
printf '* filter=mark diff=mark merge=mark\n' >.gitattributes
git add .gitattributes
git commit -qm third
tar cf archive.tar README.md
gzip -k archive.tar
git diff HEAD~1 HEAD >fix.patch
printf 'changed\n' >>b.txt
printf 'staged\n' >>words.txt
git add words.txt
# Programs that a changed search path would find.
for name in ls cat git grep sh head less; do cp "$mark" "bin/$name"; done
printf -- '--pre=%s\n' "$mark" >.ripgreprc
printf 'import os\nos.system("%s")\n' "$mark" | tee sitecustomize.py json.py >/dev/null
mkdir "$base/hooks"
for hook in post-index-change pre-commit post-checkout reference-transaction fsmonitor-watchman; do cp "$mark" "$base/hooks/$hook"; done
cp "$base"/hooks/* .git/hooks/
{
    for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.alternateRefsCommand diff.external \
        diff.mark.command diff.mark.textconv filter.mark.clean filter.mark.smudge filter.mark.process merge.mark.driver \
        gpg.program gpg.openpgp.program gpg.ssh.program gpg.x509.program interactive.diffFilter sequence.editor \
        credential.helper uploadpack.packObjectsHook trailer.mark.command trailer.mark.cmd pager.log pager.diff pager.status \
        pager.show pager.branch pager.blame pager.grep pager.tag pager.config pager.stash pager.reflog pager.shortlog \
        difftool.mark.cmd mergetool.mark.cmd browser.mark.cmd man.mark.cmd tar.tar.gz.command core.gitProxy; do
        printf '%s=%s\n' "$key" "$mark"
    done
    printf '%s\n' "core.hooksPath=$base/hooks" log.showSignature=true diff.tool=mark merge.tool=mark diff.submodule=log \
        status.submoduleSummary=true "alias.st=!$mark" "alias.hist=!$mark" "include.path=/dev/null"
} | while IFS='=' read -r key value; do git config "$key" "$value"; done
# The same content with other times: git has to look at the files again.
touch src/*.rs README.md file.txt
