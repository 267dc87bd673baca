import { readdir } from "node:fs/promises";
import { basename, relative, resolve } from "node:path";
import { EXIT, Exit } from "./exit.ts";

/** The agent files of a directory, sorted by name. */
export async function listAgentFiles(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && AGENT_FILE.test(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw toUnreadable(directory, cause);
  }
}

const AGENT_FILE = /^[^._].*(?<!\.d|\.test|\.spec)\.[cm]?[jt]s$/;

/** The error for an unreadable directory of agents. */
export function toUnreadable(directory: string, cause: unknown): Exit {
  return new Exit(
    EXIT.usage,
    `cannot read the directory ${resolve(directory)}: ${(cause as NodeJS.ErrnoException).code}`,
    "npx troupe init creates a project; --agents names another directory",
  );
}

/** Says that an agent file exports no agent, and what to do. */
export function toNoAgent(file: string): string {
  return `${relative("", file)} exports no agent; export one, or rename it to _${basename(file)} if it is not to have one`;
}
