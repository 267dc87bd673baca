import { join } from "node:path";
import { AgentError } from "../../errors.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { DamagedLog, DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { sqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import { EXIT, Exit } from "../exit.ts";
import { openDatabase } from "./open-database.ts";
import type { ServerOptions } from "./server-options.ts";
import { PID_NOTE, writeNote } from "./write-note.ts";

/** What a data directory holds. */
export interface Data {
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
}

/** Opens the database of a server, or opens or creates its data directory. */
export async function openData(options: ServerOptions): Promise<Data> {
  if (options.log === undefined) return openDirectory(options);
  const log = await openDatabase(options.log, options);
  return { log, artifacts: log.artifacts(), secrets: log.secrets() };
}

function openDirectory({ data, durability, acceptLoss }: ServerOptions): Data {
  try {
    const log = sqliteLog(data, { durability, acceptLoss });
    writeNote(join(data, PID_NOTE), String(process.pid));
    return { log, artifacts: log.artifacts(), secrets: log.secrets() };
  } catch (thrown) {
    if (thrown instanceof DirectoryInUse) {
      throw new Exit(EXIT.inUse, `${data} is in use by another process`, "use another directory with --data");
    }
    if (thrown instanceof DamagedLog) {
      throw new Exit(
        EXIT.damaged,
        `the log in ${data} is damaged: ${thrown.message}`,
        "restore it from a backup, or start with the remaining data: --accept-loss",
      );
    }
    if (thrown instanceof AgentError) {
      throw new Exit(EXIT.data, thrown.message, thrown.details.hint ?? ANOTHER_DIRECTORY);
    }
    const { code, path } = thrown as NodeJS.ErrnoException;
    if (code === undefined) throw thrown;
    throw new Exit(EXIT.data, `${path ?? data} cannot be used: ${code}`, ANOTHER_DIRECTORY);
  }
}

const ANOTHER_DIRECTORY = "check the directory, or use another one with --data";
