// How front ends in JavaScript read a story; the native one is `crates/agent/tests/it/stories.rs`.

/** Fields whose values differ each time. */
const VARIES = ["revision", "id", "tookMs", "savedMs", "taken", "key", "tokens"];

/** Whether a view has what is wanted: of an object the named fields, of a list its last elements; `null` stands for a missing field. */
export function holds(there, wanted) {
  if (Array.isArray(wanted)) {
    const skipped = (there?.length ?? -1) - wanted.length;
    return skipped >= 0 && wanted.every((one, place) => holds(there[skipped + place], one));
  }
  if (wanted === null) return there === undefined || there === null;
  if (typeof wanted === "object") return there !== undefined && there !== null && Object.entries(wanted).every(([name, value]) => holds(there[name], value));
  return there === wanted;
}

/** The view without ids, numbers and times, so that it is the same in all front ends. */
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([name, inner]) => !VARIES.includes(name) || (typeof inner === "object" && inner !== null && !Array.isArray(inner)));
  return Object.fromEntries(fields.map(([name, inner]) => [name, plain(inner)]));
}

/** The outcome of each suggestion, from the lines of a ledger. */
export function outcomesOf(ledger) {
  const entries = ledger.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return entries.filter(({ type }) => type === "outcome").map(({ outcome }) => outcome);
}

const textOf = ({ parts }) => parts.map(({ text = "" }) => text).join("");

/** The user's messages to the model, from the kept lines of a session. */
export function toldIn(lines) {
  const kept = lines.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return kept.filter(({ type, message }) => type === "message" && message.role === "user").map(({ message }) => textOf(message));
}
