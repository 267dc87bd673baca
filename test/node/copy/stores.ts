import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { memoryArtifacts } from "../../../src/storage/memory/artifacts.ts";
import { memoryLog } from "../../../src/storage/memory/log.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import type { Store } from "../../../src/node/copy/copy-log.ts";
import { openEmpty } from "../../storage/postgres/logs.ts";
import { temporaryDirectory } from "../../storage/directories.ts";

/** Opens an empty store of each kind; it is closed after the test. */
export const KINDS = {
  memory: async () => memoryStore(),
  SQLite: async () => storeOf(sqliteLog(join(temporaryDirectory(), "data"))),
  PostgreSQL: async () =>
    storeOf((await openEmpty({ secretsKey: "a key of thirty-two characters .." })) as StoredLog),
} as const;

/** A store in memory, whose files are its own. */
export function memoryStore(): Store {
  return { log: memoryLog(), artifacts: memoryArtifacts(), secrets: memorySecrets() };
}

type StoredLog = EventLog & Required<Pick<EventLog, "artifacts" | "secrets">>;

function storeOf(log: StoredLog): Store {
  const artifacts = log.artifacts();
  onTestFinished(async () => {
    await artifacts.close();
    await log.close();
  });
  return { log, artifacts, secrets: log.secrets(), versions: log.versions?.() };
}
