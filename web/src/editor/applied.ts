import { Annotation, type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** Marks a change that did not come from the user. */
export const fromWork = Annotation.define<true>();

/** What the work changed is read: its lines are marked no more. */
export const unmark = StateEffect.define<null>();

const line = Decoration.line({ class: "cm-applied" });

/** The beginnings of the lines that a stretch touches, if there is text in it. */
function lines(doc: Text, from: number, to: number): number[] {
  if (from === to) return [];
  const [first, last] = [doc.lineAt(from).number, doc.lineAt(to).number];
  // A stretch that ends with a line's end does not touch the next one.
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
      // What the user writes there is theirs, and not the work's any more.
      after = after.update({ filterFrom: newDoc.lineAt(from).from, filterTo: newDoc.lineAt(to).to, filter: () => false });
      if (isOfWork) after = after.update({ add: touched.map((at) => line.range(at)) });
    });
    return after;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Marks the lines that the work has written, until the user changes them or sends something else. */
export const applied: Extension = marks;
