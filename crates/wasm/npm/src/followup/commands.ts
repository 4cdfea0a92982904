// Destructive command lines, found anywhere in a text whose quotes and case are already gone.
import { splitWhiteSpace } from "./characters.js";
import { COMMANDS } from "./tables.js";

/** Whether any part of the text is a destructive command. `original` still has its case (`git branch -D`). */
export function hasDestructiveCommand(plain: string, original: string): boolean {
  const squeezed = plain.replace(/\p{White_Space}/gu, "");
  if (COMMANDS.glued.some((part) => squeezed.includes(part)) || isForkBomb(squeezed) || pipesIntoShell(plain)) return true;
  if (original.includes("branch -D") || overwritesDevice(squeezed)) return true;
  const spaced = plain.replace(/[|;&(){}$=,]/g, " ");
  // `rm${ifs}-rf` and `{rm,-rf,/}` are spelled so that they do not look like a command.
  const tokens = splitWhiteSpace(spaced).filter((token) => token !== "ifs");
  return tokens.some((_, at) => runsDestructive(tokens, at));
}

/** `:(){ :|:& };:` under any name. */
function isForkBomb(squeezed: string): boolean {
  const at = squeezed.indexOf("(){");
  return 0 <= at && ["|", "&", "}"].every((sign) => squeezed.includes(sign, at + 3));
}

/** `… | sh`, `… | sudo -E bash -`, "… and pipe it into bash". */
function pipesIntoShell(plain: string): boolean {
  const piped = plain.split("|").slice(1).some((command) => {
    const word = splitWhiteSpace(command).find((word) => !COMMANDS.wrappers.includes(word) && !word.startsWith("-"));
    return word !== undefined && COMMANDS.shells.includes(baseName(word));
  });
  const words = splitWhiteSpace(plain).map((word) => word.replace(/^[.,!;]+|[.,!;]+$/g, ""));
  const at = words.findIndex((word) => ["pipe", "piped", "piping"].includes(word));
  const told = 0 <= at && words.slice(at).some((word, index, rest) => {
    const next = rest[index + 1];
    return next !== undefined && ["to", "into", "through", "in"].includes(word) && (COMMANDS.shells.slice(0, 8).includes(next) || next === "shell");
  });
  return piped || told;
}

function overwritesDevice(squeezed: string): boolean {
  return squeezed.split(">").slice(1).some((target) => {
    const path = target.replace(/^[|&]+/, "");
    return COMMANDS.devices.some((device) => path.startsWith(device));
  });
}

function baseName(token: string): string {
  const name = token.slice(token.lastIndexOf("/") + 1);
  return name.endsWith(".exe") ? name.slice(0, -4) : name;
}

function runsDestructive(tokens: readonly string[], at: number): boolean {
  const name = baseName(tokens[at] ?? "");
  const rest = tokens.slice(at + 1);
  const [first = ""] = rest;
  const previous = at === 0 ? "" : (tokens[at - 1] ?? "");
  const leads = at === 0 || COMMANDS.wrappers.includes(previous) || previous.startsWith("/") || previous.endsWith(":");
  const has = (...words: string[]): boolean => rest.some((next) => words.includes(next));
  if (name.startsWith("mkfs")) return true;
  switch (name) {
    case "rm": case "unlink": case "srm":
      if (["npm", "pnpm", "yarn", "cargo", "git", "bun"].includes(previous)) return false;
      return (leads && (rest.length > 0 || ["-exec", "-execdir", "xargs"].includes(previous))) || isOptionOrPath(first);
    case "rimraf": case "del": case "erase": case "rd": case "rmdir": case "deltree": case "remove-item": case "ri":
      return rest.slice(0, 4).some(isOptionOrPath) || (name === "rimraf" && rest.length > 0);
    case "shred": case "wipefs": case "blkdiscard": case "sgdisk": case "fdisk": case "diskpart": case "format-volume": case "clear-disk":
    case "dropdb": case "lvremove": case "vgremove": case "pvremove":
      return leads || isOptionOrPath(first);
    case "dd":
      return has("of", "if");
    case "format":
      return /^[\0-\x7f]:$/.test(first);
    case "git":
      return gitDestroys(rest);
    case "push":
      return hasForce(rest);
    case "chmod": case "chown": case "chgrp":
      return opensEverything(rest);
    case "find": case "fd":
      return has("-delete", "--delete");
    case "rsync":
      return rest.some((next) => next.startsWith("--del")) || has("--remove-source-files");
    case "truncate":
      return rest.some((next) => next.startsWith("-s")) || has("--size");
    case "kubectl": case "k": case "oc": case "gcloud": case "az": case "doctl": case "eksctl": case "helm":
      return has("delete", "uninstall", "destroy", "drain");
    case "terraform": case "tofu": case "terragrunt": case "pulumi": case "cdk": case "vagrant": case "zpool": case "zfs": case "fly": case "flyctl":
      return rest.slice(0, 6).some((next) => /^-*destroy/.test(next));
    case "heroku":
      return rest.some((next) => next.includes("destroy") || next.includes("reset"));
    case "aws": case "gsutil":
      return has("rm", "rb") || rest.some((next) => next.startsWith("delete-") || next.startsWith("terminate-"));
    case "docker": case "podman":
      return dockerDestroys(rest);
    case "docker-compose":
      return has("down") && has("-v", "--volumes");
    case "gh":
      return first === "repo" && rest[1] === "delete";
    case "npm":
      return first === "unpublish";
    case "delete":
      return first === "from" && (rest.length === 2 || has("where"));
    case "drop":
      return drops(rest);
    case "shutdown": case "poweroff": case "halt": case "reboot":
      return leads && rest.every((next) => /^([-+/]|now$|[0-9]+$)/.test(next));
    case "crontab":
      return first === "-r";
    case "kill":
      return first === "-9" && rest[1] === "-1";
    case "mv":
      return has("/dev/null");
    case "cryptsetup":
      return has("erase", "luksformat", "lukserase");
    default:
      return false;
  }
}

function isOptionOrPath(token: string): boolean {
  return /^[-~.$]|[/*\\]/.test(token);
}

/** Whether a git command destroys. Options of git itself come before its verb: `git -C dir -c key=value push`. */
function gitDestroys(given: readonly string[]): boolean {
  let rest = given;
  while (rest[0]?.startsWith("-")) rest = rest.slice(["-c", "--git-dir", "--work-tree", "--namespace"].includes(rest[0]) ? 2 : 1);
  // A value such as `key=value` was split at its equals sign, so the verb may come one word later.
  const at = rest.slice(0, 3).findIndex((word) => COMMANDS.gitVerbs.includes(word));
  if (at < 0) return false;
  const parts = rest.slice(at + 1);
  const has = (...wanted: string[]): boolean => parts.some((part) => wanted.includes(part));
  const begins = (...starts: string[]): boolean => parts.some((part) => starts.some((start) => part.startsWith(start)));
  const flags = (pattern: RegExp): boolean => parts.some((part) => pattern.test(shortFlags(part)));
  switch (rest[at]) {
    case "push":
      return hasForce(parts) || begins("+", ":");
    case "reset":
      return begins("--h");
    case "clean":
      return !(flags(/n/) || begins("--dry")) && (flags(/./s) || begins("--f"));
    case "checkout": case "switch":
      return has("--", ".", ":/", "-f") || begins("--f", "--disc");
    case "restore":
      return parts.length > 0 && (!has("--staged", "-s") || has("--worktree", "-w"));
    case "branch":
      return flags(/d/) && has("-f", "--force", "-df", "-fd");
    case "stash":
      return has("drop", "clear");
    case "reflog":
      return has("expire", "delete");
    case "update-ref":
      return has("-d", "--delete");
    case "rm":
      return (flags(/[rf]/) || begins("--f")) && !has("--cached");
    case "worktree":
      return has("--force", "-f");
    case "gc":
      return begins("--prune");
    case "prune":
      return true;
    default:
      return false;
  }
}

/** The letters of bundled short options; empty for anything else. */
function shortFlags(argument: string): string {
  return /^-[^-]/.test(argument) ? argument.slice(1) : "";
}

function hasForce(parts: readonly string[]): boolean {
  return parts.some((part) => /[fd]/.test(shortFlags(part)) || /^--(fo|mirror|delete|prune)/.test(part));
}

/** Whether permissions are opened recursively, or on the root; `chmod +x build.sh` does neither. */
function opensEverything(parts: readonly string[]): boolean {
  const recursive = parts.some((part) => shortFlags(part).includes("r") || part.startsWith("--rec"));
  const root = parts.some((part) => ["/", "/*", "~", "~/", "home", ".", "./", "*"].includes(part) || part.startsWith("/etc"));
  const open = parts.some((part) => ["777", "0777", "000", "0000", "666", "a+rwx", "ugo+rwx"].includes(part));
  return (recursive && (root || open || parts.some((part) => part.startsWith("/")))) || (root && open);
}

function dockerDestroys(rest: readonly string[]): boolean {
  const has = (...wanted: string[]): boolean => rest.some((part) => wanted.includes(part));
  return (
    has("prune") ||
    (has("volume") && has("rm", "remove")) ||
    (has("down") && has("-v", "--volumes")) ||
    (has("rm", "rmi") && rest.some((part) => shortFlags(part).includes("f") || part === "--force"))
  );
}

/** `DROP … TABLE users`, "drop the users table", "drop all tables". */
function drops(rest: readonly string[]): boolean {
  const objects = ["table", "tables", "database", "databases", "db", "schema", "collection", "keyspace", "partition"];
  return rest.slice(0, 4).some((word) => objects.includes(word.replace(/[.!]+$/, "")));
}
