// How a story is read, for those who play it in JavaScript; natively it is `crates/agent/tests/it/stories.rs`.

/** What is another one each time. */
const VARIES = ["revision", "id", "tookMs", "savedMs", "taken", "key", "tokens"];

/** Whether a view has what is wanted of it: of an object the named fields, of a list its end, `null` for what is not there. */
export function holds(there, wanted) {
  if (Array.isArray(wanted)) {
    const skipped = (there?.length ?? -1) - wanted.length;
    return skipped >= 0 && wanted.every((one, place) => holds(there[skipped + place], one));
  }
  if (wanted === null) return there === undefined || there === null;
  if (typeof wanted === "object") return there !== undefined && there !== null && Object.entries(wanted).every(([name, value]) => holds(there[name], value));
  return there === wanted;
}

/** A view made equal for all front ends: without ids, numbers and times. */
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([name, inner]) => !VARIES.includes(name) || (typeof inner === "object" && inner !== null && !Array.isArray(inner)));
  return Object.fromEntries(fields.map(([name, inner]) => [name, plain(inner)]));
}

/** What the lines of a ledger say that became of each suggestion. */
export function outcomesOf(ledger) {
  const entries = ledger.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return entries.filter(({ type }) => type === "outcome").map(({ outcome }) => outcome);
}

const textOf = ({ parts }) => parts.map(({ text = "" }) => text).join("");

/** What the model was told by its user, as the lines of a conversation are kept. */
export function toldIn(lines) {
  const kept = lines.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return kept.filter(({ type, message }) => type === "message" && message.role === "user").map(({ message }) => textOf(message));
}
