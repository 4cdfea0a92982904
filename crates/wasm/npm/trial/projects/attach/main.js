import { attach } from "headstart/attach";
import { FollowupController } from "headstart/controller";

const options = { showDelayMs: 0, tabDelayMs: 0, acceptLockMs: 0 };
const effects = [];
const taken = [];
let request = 0;
// An editor that keeps a document of its own, as Lexical does: the browser changes nothing, so there are no `input` events.
const edited = document.querySelector(".edited");
let kept = "";
const editor = {
  text: () => kept,
  replace: (text) => {
    kept = text;
    edited.firstElementChild.textContent = text;
    document.getSelection().selectAllChildren(edited);
    document.getSelection().collapseToEnd();
  },
};
edited.addEventListener("beforeinput", (event) => {
  event.preventDefault();
  editor.replace(kept + event.data);
});
// A test says by the address what is in the fields already, as a page that keeps drafts has it.
const draft = new URLSearchParams(location.search).get("draft");
if (draft !== null) {
  document.querySelector("textarea").value = draft;
  document.querySelector(".plain").textContent = draft;
}
const fields = ["textarea", "input", ".plain", ".edited"].map((name) =>
  attach(document.querySelector(name), {
    controller: new FollowupController(options),
    onEffect: (effect) => effects.push(effect.type),
    ...(name === "input" && { onTab: (text) => taken.push(text) }),
    ...(name === ".edited" && { editor }),
  }),
);
globalThis.page = {
  effects,
  taken,
  suggest: (field, suggestion, ...others) => fields[field].tell({ type: "suggested", request: ++request, suggestion, others }),
  clear: (field) => fields[field].tell({ type: "clear" }),
  shown: (field) => fields[field].suggestion,
  detach: (field) => fields[field].detach(),
};
