/**
 * The words of a plain command, which has no pipes, redirections or expansions. For any other command, `notPlain` names
 * what is not plain in it.
 */
export function plainWords(command: string): string[] | { notPlain: string } {
  const words: string[] = [];
  let word: string | undefined;
  let index = 0;
  while (index < command.length) {
    const character = command[index] ?? "";
    index += 1;
    if (character === "'" || character === '"') {
      const end = command.indexOf(character, index);
      if (end < 0) return { notPlain: "a quote that is not closed" };
      const inside = command.slice(index, end);
      if (character === '"' && /[$`\\]/.test(inside)) return { notPlain: "an expansion" };
      word = (word ?? "") + inside;
      index = end + 1;
    } else if (character === " " || character === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === "\\" && index < command.length && command[index] !== "\n") {
      word = (word ?? "") + command[index];
      index += 1;
    } else if (/[|&;<>()$`\n*?[\]{}~#!\\]/.test(character)) {
      return { notPlain: character === "\n" ? "several lines" : character };
    } else {
      word = (word ?? "") + character;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
