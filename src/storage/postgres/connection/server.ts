import { AgentError } from "../../../errors.ts";
import type { Database } from "./database.ts";

/** What a server promises. */
export interface ServerDurability {
  /** `relaxed` if a crash of the server can lose acknowledged appends. */
  readonly durability: "relaxed" | "full";
  /** What can lose acknowledged events, each in a sentence. */
  readonly warnings: readonly string[];
}

/** Looks at the settings of a server; refuses one that cannot hold a log. */
export async function readServerDurability(database: Database): Promise<ServerDurability> {
  const [row] = await database.once<Settings>(SETTINGS);
  const { version = "0", encoding = "", synchronous, standbys = 0 } = row ?? {};
  if (Number(version) < OLDEST) {
    throw new AgentError(
      "invalid_request",
      `PostgreSQL ${Math.floor(Number(version) / 10_000)} is too old for a log`,
      {
        hint: "use version 13 or newer",
      },
    );
  }
  if (encoding !== "UTF8") {
    throw new AgentError(
      "invalid_request",
      `the database has the encoding ${encoding}, and a log needs UTF8`,
      {
        hint: "create it with createdb --encoding UTF8 --template template0",
      },
    );
  }
  const relaxed = synchronous === "off";
  return {
    durability: relaxed ? "relaxed" : "full",
    warnings: [
      ...(relaxed
        ? ["synchronous_commit is off: a crash of the server loses acknowledged events; set it to on"]
        : []),
      ...(standbys > 0
        ? [
            "a standby is asynchronous: acknowledged events are lost if it is promoted; set synchronous_standby_names",
          ]
        : []),
    ],
  };
}

/** The oldest version that is tested, as the server writes it. */
const OLDEST = 130_000;

interface Settings {
  readonly version: string;
  readonly encoding: string;
  readonly synchronous: string;
  readonly standbys: number;
}

/**
 * A role without pg_monitor sees of a standby only that it is there. Base backups and subscribers of logical replication
 * are no standbys.
 */
const IS_ASYNCHRONOUS = `
  (current_setting('synchronous_commit') IN ('local', 'off') OR CASE
    WHEN sync_state IS NULL THEN current_setting('synchronous_standby_names') = '' ELSE sync_state = 'async' END)
  AND state IS DISTINCT FROM 'backup'
  AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`;

const SETTINGS = `SELECT current_setting('server_version_num') AS version,
  current_setting('server_encoding') AS encoding,
  current_setting('synchronous_commit') AS synchronous,
  (SELECT count(*) FROM pg_stat_replication WHERE ${IS_ASYNCHRONOUS}) AS standbys`;
