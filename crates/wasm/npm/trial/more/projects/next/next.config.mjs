import { join } from "node:path";

// What all projects have in common lies above this one.
const root = join(import.meta.dirname, "../../..");

export default { outputFileTracingRoot: root, turbopack: { root }, devIndicators: false };
