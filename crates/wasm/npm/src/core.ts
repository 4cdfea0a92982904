export { Agent, type AgentRules } from "./agent.js";
export { ChangeSet } from "./change-set.js";
export { FollowupController } from "./followup-controller.js";
export { Engine, speculate } from "./engine.js";
export {
  AcceptError,
  DisposedError,
  HeadstartError,
  InputError,
  ModelError,
  StartError,
  TreeError,
} from "./errors.js";
export { commit, Overlay } from "./files.js";
export { filterSuggestion } from "./filter.js";
export { judge } from "./verdicts.js";
export { itemRows } from "./item-rows.js";
export { type ModuleSource, init, initSync, initToBegin, version } from "./init.js";
export { MemoryTree } from "./memory-tree.js";
export { fetchModel } from "./models.js";
export { recordedModel } from "./recorded.js";
export { Speculation } from "./speculation.js";
export { systemText } from "./system-text.js";
export { toolItems } from "./tool-items.js";
export { Turn } from "./turn.js";
export { UndoWatch } from "./undo-watch.js";
export { visible, visibleLines } from "./visible.js";
export { Decoder, Wire } from "./wire.js";
export type * from "./types.js";
