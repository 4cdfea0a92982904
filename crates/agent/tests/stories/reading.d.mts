export function holds(there: unknown, wanted: unknown): boolean;
export function plain(value: unknown): unknown;
export function outcomesOf(ledger: string): string[];
export function isTold(requests: { messages: { role: string; parts: unknown[] }[] }[], told: string[]): boolean;
