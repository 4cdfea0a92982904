import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { languageOf } from "./language.js";
import { theme } from "./theme.js";

/** An editor that shows the text of a file before and after a change as one text. */
export function diffView(path: string, before: string, after: string): EditorView {
  return new EditorView({
    state: EditorState.create({
      doc: after,
      extensions: [
        lineNumbers(),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": `Diff of ${path}`, tabindex: "0" }),
        EditorView.lineWrapping,
        languageOf(path),
        theme,
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
      ],
    }),
  });
}
