import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// All colours are variables of the page, so that the light and the dark theme apply here, too.
const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none", paddingRight: "4px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--sunken)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-applied": { backgroundColor: "var(--good-soft)", boxShadow: "inset 3px 0 var(--good)" },
  ".cm-changedLine": { backgroundColor: "var(--good-soft) !important" },
  ".cm-changedText, .cm-insertedLine": { background: "none !important", textDecoration: "none" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft) !important", paddingLeft: "6px" },
  ".cm-deletedChunk .cm-deletedText, .cm-deletedLine": { background: "none !important", textDecoration: "none" },
  ".cm-changeGutter": { width: "4px" },
  ".cm-changedLineGutter": { background: "var(--good)" },
  ".cm-deletedLineGutter": { background: "var(--bad)" },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--muted)", padding: "4px 10px" },
  ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: '"⋯"' },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-name)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-name)" },
]);

export const theme: Extension = [look, syntaxHighlighting(colours)];
