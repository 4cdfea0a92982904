import { attach } from "headstart/attach";
import { FollowupController } from "headstart/controller";

const options = { showDelayMs: 0, tabDelayMs: 0, acceptLockMs: 0 };
const effects = [];
const taken = [];
let request = 0;
const fields = ["textarea", "input"].map((name) =>
  attach(document.querySelector(name), {
    controller: new FollowupController(options),
    onEffect: (effect) => effects.push(effect.type),
    ...(name === "input" && { onTab: (text) => taken.push(text) }),
  }),
);
globalThis.page = {
  effects,
  taken,
  suggest: (field, suggestion, ...others) => fields[field].tell({ type: "suggested", request: ++request, suggestion, others }),
  shown: (field) => fields[field].suggestion,
  detach: (field) => fields[field].detach(),
};
