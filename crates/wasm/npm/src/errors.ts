/** What every failure of this package is. `code` is stable; `message` is for people and says what to do. */
export class HeadstartError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
