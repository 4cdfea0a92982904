import { Annotation, type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** Marks a change that did not come from the user. */
export const fromWork = Annotation.define<true>();

/** Removes the marks, because the user has read what the work changed. */
export const unmark = StateEffect.define<null>();

const line = Decoration.line({ class: "cm-applied" });

/** The offsets at which the lines begin that a stretch touches; none if there is no text in it. */
function lines(doc: Text, from: number, to: number): number[] {
  if (from === to) return [];
  const [first, last] = [doc.lineAt(from).number, doc.lineAt(to).number];
  // A stretch that ends with the end of a line does not touch the next line.
  const end = first < last && doc.line(last).from === to ? last - 1 : last;
  return Array.from({ length: end - first + 1 }, (_, index) => doc.line(first + index).from);
}

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    const { changes, newDoc } = transaction;
    const isOfWork = transaction.annotation(fromWork) === true;
    let after = transaction.effects.some((effect) => effect.is(unmark)) ? Decoration.none : before.map(changes);
    changes.iterChangedRanges((_from, _to, from, to) => {
      const touched = lines(newDoc, from, to);
      // The marks of changed lines go, because what the user writes there is theirs and not the work's any more.
      after = after.update({ filterFrom: newDoc.lineAt(from).from, filterTo: newDoc.lineAt(to).to, filter: () => false });
      if (isOfWork) after = after.update({ add: touched.map((at) => line.range(at)) });
    });
    return after;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Marks the lines that the work has written, until the user changes them or sends another prompt. */
export const applied: Extension = marks;
