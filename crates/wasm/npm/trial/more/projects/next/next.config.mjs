import { join } from "node:path";

// The root is above this project, because files that all projects share are there.
const root = join(import.meta.dirname, "../../..");

export default { outputFileTracingRoot: root, turbopack: { root }, devIndicators: false };
