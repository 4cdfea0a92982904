export function holds(there: unknown, wanted: unknown): boolean;
export function plain(value: unknown): unknown;
export function outcomesOf(ledger: string): string[];
export function toldIn(lines: string): string[];
