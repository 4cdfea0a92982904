// Which conversations are open in this tab. The browser keeps each conversation once, so only one tab may write it.

const PREFIX = "headstart.sessions/";
/** How long a tab that was just left or loaded again may take to give a conversation back, in milliseconds. */
const PATIENCE = 500;

const open = new Map<string, () => void>();

/**
 * Takes a conversation for this tab until it is left; whether no other tab has it. A browser without locks between tabs
 * tells nothing, so there every tab has it.
 */
export function claim(id: string): Promise<boolean> {
  const { locks } = navigator as Partial<Navigator>;
  if (open.has(id) || locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const held = locks.request(PREFIX + id, { signal: AbortSignal.timeout(PATIENCE) }, () => {
      resolve(true);
      return new Promise<void>((release) => open.set(id, release));
    });
    held.catch(() => resolve(false));
  });
}

/** Gives a conversation back. */
export function leave(id: string): void {
  open.get(id)?.();
  open.delete(id);
}
