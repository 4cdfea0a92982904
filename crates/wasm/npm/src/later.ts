/** Where the rest of a module comes from whose first part is enough to begin a conversation. */
export interface Later {
  fetched(): Promise<Response>;
  /** For whoever cannot wait; `undefined` where there is no such way. */
  atOnce(): BufferSource | undefined;
}
