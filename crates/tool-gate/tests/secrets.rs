//! Files whose names say that they hold a secret are closed unless a rule opens them: the user is asked about them, and
//! they are never touched ahead.

mod support;

use headstart_tool_gate::{CallRef, Decision, DenyRules, Gate, GateContext, Reason};
use serde_json::json;

/// Commands that read such a file, written so that a plain comparison of texts would miss the name.
const READS: &str = r#"
cat .env
cat ./.env
cat .ENV
cat .Env.production
cat "."env
cat .e'n'v
cat $'.\x65nv'
cat .e\nv
cat src/.env.local
cat < .env
grep KEY .env
grep -h KEY src/main.rs .env
head -c 100 -- .env
sed -n 1,5p .env
awk '{ print }' .env
awk '{ while ((getline line < ".env") > 0) print line }' src/main.rs
jq . credentials.json
x=.env; cat $x
f=id_rsa; cat "$f"
for f in .env a.txt; do cat $f; done
find . -name main.rs -exec cat .env {} +
diff .env .env.example
wc -l server.key
base64 id_ed25519
openssl x509 -in server.pem -noout -text
tar tf .ssh
ls | cat - .npmrc
cat .aws/credentials
cat home/.aws/config
cat .git/config
cat .kube/config
git show HEAD:.env
git show HEAD:src/.env
git show :.env
git cat-file -p HEAD:.env
git diff HEAD -- .env
git log -p -- .env
git log -p .env
git diff .env
git blame .env
git grep KEY -- .env
git grep KEY HEAD:.ENV
git show 'HEAD:./id_rsa'
git log -p -- ':(icase).ENV'
git log -p -- ':/.env'
git log -p -- '*.pem'
rg KEY .env
cat .env~
cat .env.bak
cd src && cat .env
git -C status show HEAD:.env
git grep KEY HEAD -- '.e*'
git grep -n KEY HEAD '.en?'
git show HEAD -- '*.pem'
git log -p -- ':(icase).EN?'
git diff HEAD~1 -- 'config/id_*'
git log -p -- '.[e]nv'
git grep KEY -- 's*/.ss*/x'
git log -p -- .e*
git log -p -- src/.e[n]v
git show HEAD:.e[n]v
git blame .e?v
git show HEAD -- *.pem
git log -p -- ".e"*
"#;

/// Files whose names only look as if they held a secret.
const HARMLESS: &str = r"
cat .env.example
cat .env.sample
cat certs/cacert.pem
cat etc/ca-certificates.crt
openssl x509 -in server.crt -noout -subject
cat config/.env.template
cat id_rsa.pub
cat src/env.rs
cat src/credentials/mod.rs
cat src/secrets.rs
cat key.rs
cat config.json
cat package.json
grep -rn .env src
grep -rn '\.env' .
grep id_rsa README.md
rg -n 'credentials.json' src
grep -rn KEY .
rg KEY
git grep KEY
git log -p -3
git diff
git status
ls -la
ls .ssh
find . -name '.env*'
find . -name '*.pem' -type f
echo .env
git log --grep='.env is gone'
git check-ignore .env
git ls-files .env
git status .env
git grep -n TODO -- '*.rs'
git grep -n 'a.*key'
git log --stat -- 'src/*'
git diff HEAD~1 -- '*.json' '*.yml'
git grep KEY -- '*'
git grep -c '.*' -- 'docs/*.md'
git log --stat -- src/* *.rs
";

#[test]
fn what_names_a_secret_asks_first() {
    let gate = Gate::new();
    for command in READS.lines().filter(|line| !line.is_empty()) {
        let verdict = support::judge(&gate, command);
        assert_eq!(verdict.decision, Decision::Boundary, "{command}");
        assert_eq!(verdict.reason, Reason::SecretPath, "{command}: {}", verdict.detail);
        let open = GateContext { deny: DenyRules::default().with_secrets_open(), ..support::context() };
        let verdict = gate.judge_command(command, &open);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
    }
}

#[test]
fn what_only_looks_like_one_runs() {
    let gate = Gate::new();
    for command in HARMLESS.lines().filter(|line| !line.is_empty()) {
        let verdict = support::judge(&gate, command);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
    }
}

#[test]
fn tools_ask_first_and_a_rule_of_the_user_still_refuses() {
    let gate = Gate::new();
    let judge = |tool: &str, args: serde_json::Value, context: &GateContext| {
        let args = args.as_object().unwrap().clone();
        let verdict = gate.judge(CallRef { name: tool, args: &args }, context);
        (verdict.decision, verdict.reason)
    };
    let closed = support::context();
    let open = GateContext { deny: DenyRules::default().with_secrets_open(), ..support::context() };
    for path in [".env", "/ws/.ENV", "a/server.pem", "./id_rsa", ".ssh", ".ssh/config"] {
        let asks = (Decision::Boundary, Reason::SecretPath);
        assert_eq!(judge("read_file", json!({ "file_path": path }), &closed), asks, "{path}");
        assert_eq!(judge("grep_search", json!({ "pattern": "x", "path": path }), &closed), asks, "{path}");
        assert_eq!(judge("write_file", json!({ "file_path": path, "content": "" }), &closed), asks, "{path}");
        assert_eq!(judge("read_file", json!({ "file_path": path }), &open).0, Decision::Allow, "{path}");
    }
    let refusing = support::denying(&[".env"]);
    let refused = (Decision::Boundary, Reason::DeniedPath);
    assert_eq!(judge("read_file", json!({ "file_path": ".env" }), &refusing), refused);
    assert_eq!(gate.judge_command("cat .env", &refusing).reason, Reason::DeniedPath);
    // The host's own rules do not open what is closed by default.
    assert_eq!(judge("read_file", json!({ "file_path": "id_rsa" }), &refusing).1, Reason::SecretPath);
}
