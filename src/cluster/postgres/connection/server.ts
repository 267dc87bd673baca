import { AgentError } from "../../../errors.ts";
import type { Database } from "./database.ts";

/** What a server promises. */
export interface Server {
  /** `relaxed` if a crash of the server can lose acknowledged appends. */
  readonly durability: "relaxed" | "full";
  /** What can lose acknowledged events, each in a sentence. */
  readonly warnings: readonly string[];
}

/** Looks at the settings of a server; refuses one that cannot hold a log. */
export async function readServer(database: Database): Promise<Server> {
  const [row] = await database.once<Settings>(SETTINGS);
  const { version = "0", encoding = "", synchronous, synced, standbys = 0 } = row ?? {};
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
      ...(standbys > 0 && (synced === "" || synchronous === "local")
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
  readonly synced: string;
  readonly standbys: number;
}

const SETTINGS = `SELECT current_setting('server_version_num') AS version,
  current_setting('server_encoding') AS encoding,
  current_setting('synchronous_commit') AS synchronous,
  current_setting('synchronous_standby_names') AS synced,
  (SELECT count(*) FROM pg_stat_replication) AS standbys`;
