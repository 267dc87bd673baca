import { join } from "node:path";
import type { Store } from "../../node/copy/copy-log.ts";
import { sqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import { EXIT, Exit } from "../exit.ts";
import { toConnection } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { openDatabase } from "../logs/open-database.ts";
import { openDirectory } from "../logs/open-directory.ts";
import { toStore } from "../logs/to-store.ts";
import type { ServerOptions } from "./server-options.ts";
import { PID_NOTE, writeNote } from "./write-note.ts";

/** Opens the database of a server, or opens or creates its data directory. */
export async function openData(options: ServerOptions): Promise<Store> {
  if (options.log !== undefined) return toStore(await openShared(options.log, options));
  const { data, durability, acceptLoss } = options;
  return openDirectory(data, HINTS, () => {
    const log = sqliteLog(data, { durability, acceptLoss });
    writeNote(join(data, PID_NOTE), String(process.pid));
    return toStore(log);
  });
}

const HINTS = {
  inUse: "use another directory with --data",
  damaged: "restore it from a backup, or start with the remaining data: --accept-loss",
  unusable: "check the directory, or use another one with --data",
};

function openShared(url: string, { single, cluster, durability }: ServerOptions) {
  if (durability === "relaxed") {
    throw new Exit(
      EXIT.refused,
      "--durability is for a data directory; for a database its setting synchronous_commit decides",
      "leave --durability out",
    );
  }
  const nodes = single ? "any" : cluster === undefined ? "one" : "several";
  return explained(() => openDatabase(toConnection(url), { nodes }));
}
