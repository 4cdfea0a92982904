/** Keeps the beginning and the end of an output in memory of a fixed size. */
export class KeptOutput {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head: Uint8Array = new Uint8Array();
  #tail: Uint8Array = new Uint8Array();
  #leftOut = 0;

  /** Keeps at most `limit` bytes, half from the beginning and half from the end. */
  constructor(limit: number) {
    this.#tailLimit = Math.floor(limit / 2);
    this.#headLimit = limit - this.#tailLimit;
  }

  push(bytes: Uint8Array): void {
    const first = bytes.subarray(0, this.#headLimit - this.#head.length);
    if (0 < first.length) this.#head = joined(this.#head, first);
    const rest = bytes.subarray(first.length);
    const all = this.#tail.length + rest.length;
    const skipped = Math.max(0, all - this.#tailLimit);
    this.#leftOut += skipped;
    if (skipped === 0) this.#tail = joined(this.#tail, rest);
    else this.#tail = joined(this.#tail.subarray(Math.min(skipped, this.#tail.length)), rest.subarray(Math.max(0, skipped - this.#tail.length)));
  }

  /** The last bytes of the output so far, at most this many, as text. */
  end(most: number): string {
    const kept = this.#leftOut === 0 ? joined(this.#head, this.#tail) : this.#tail;
    return wholeEnd(kept.subarray(Math.max(0, kept.length - most)), false);
  }

  /** The text, and whether something was left out of it. Bytes that are not UTF-8 become U+FFFD. */
  finish(): { output: string; truncated: boolean } {
    if (this.#leftOut === 0) return { output: new TextDecoder().decode(joined(this.#head, this.#tail)), truncated: false };
    return { output: `${wholeStart(this.#head)}\n[… ${this.#leftOut} bytes left out …]\n${wholeEnd(this.#tail, true)}`, truncated: true };
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** The text of the bytes, without a character that is cut at the end. */
function wholeStart(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true });
}

/**
 * The text of the bytes, without the rest of a character that is cut at the beginning. `isAll` says that no more bytes
 * follow.
 */
function wholeEnd(bytes: Uint8Array, isAll: boolean): string {
  const split = bytes.subarray(0, 3).findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return new TextDecoder().decode(bytes.subarray(Math.max(0, split)), { stream: !isAll });
}
