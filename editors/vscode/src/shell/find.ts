// Finds programs. A program in the workspace is never taken, because whoever writes there, as the model does, would
// choose what runs.
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";

export type Found = { file: string } | { missing: string };

/**
 * Finds the program that a setting names, or the one of this name on the PATH, and resolves links. `folders` are those
 * of the workspace.
 */
export async function findProgram(name: string, named: string, path: string, folders: readonly string[]): Promise<Found> {
  const closed = await Promise.all(folders.map(real));
  const isClosed = (file: string) => [...folders, ...closed].some((folder) => isWithin(file, folder));
  if (named !== "") {
    if (!isAbsolute(named)) return { missing: `${named} is no absolute path` };
    const file = await program(named);
    if (file === undefined) return { missing: `${named} is no program` };
    if (isClosed(named) || isClosed(await real(dirname(named))) || isClosed(file)) return { missing: `${named} is in the workspace, and nothing of that is run so` };
    return { file };
  }
  for (const folder of path.split(delimiter)) {
    // A relative folder is skipped, because it is in the workspace or in the current directory of this process.
    if (!isAbsolute(folder) || isClosed(folder) || isClosed(await real(folder))) continue;
    const file = await program(join(folder, name));
    if (file !== undefined && !isClosed(file)) return { file };
  }
  return { missing: `the program ${name} is not on the PATH` };
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function program(file: string): Promise<string | undefined> {
  try {
    const found = await realpath(file);
    await access(found, constants.X_OK);
    return (await stat(found)).isFile() ? found : undefined;
  } catch {
    return undefined;
  }
}
