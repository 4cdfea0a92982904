export { fold } from "./fold.js";
export { slugify } from "./slugify.js";
export { unique } from "./unique.js";
