import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { EXIT, Exit } from "../exit.ts";

/** The file of variables, in the working directory. */
export const ENV_FILE = ".env";

/** The variables that came from the file, which may change or go with it. */
const fromFile = new Set<string>();

/**
 * Reads `.env` of the working directory into the environment. Variables that are set otherwise win. Reading it again
 * follows what has changed in the file.
 */
export function readEnvFile(): void {
  const values = parseEnv(textOf(ENV_FILE));
  for (const name of fromFile) {
    if (Object.hasOwn(values, name)) continue;
    fromFile.delete(name);
    delete process.env[name];
  }
  for (const [name, value] of Object.entries(values)) {
    if (process.env[name] !== undefined && !fromFile.has(name)) continue;
    fromFile.add(name);
    process.env[name] = value;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return "";
    throw new Exit(EXIT.usage, `cannot read ${file}: ${code}`);
  }
}
