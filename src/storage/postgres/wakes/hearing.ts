import type { Client, Notification } from "pg";
import { AgentError } from "../../../errors.ts";
import type { Database } from "../connection/database.ts";
import { toOpenError } from "../connection/open-error.ts";

/** A message that a connection has to hear. */
interface Heard {
  readonly database: Database;
  /** The channel that the connection listens to. */
  readonly channel: string;
  readonly message: string;
}

/** Sends a message, and fails if a connection that listens does not hear it. */
export async function checkHearing(client: Client, { database, channel, message }: Heard): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const hear = ({ payload }: Notification): void => {
    if (payload === message) resolve(true);
  };
  client.on("notification", hear);
  const timer = setTimeout(resolve, HEAR_MS, false);
  try {
    // Over another connection: a pooler may deliver to a connection what it has sent itself.
    await database.once("SELECT pg_notify($1, $2)", [channel, message]);
    if (await promise) return;
  } finally {
    clearTimeout(timer);
    client.off("notification", hear);
  }
  throw new AgentError(
    "invalid_request",
    "the connection to the database hears no notifications, as behind a pooler that shares connections",
    {
      hint: "give the address of the database itself, or only for listening: TROUPE_LOG_LISTEN (`listenUrl`)",
    },
  );
}

/** Checks that a new connection to an address would hear what is sent. `url` replaces the address of the database. */
export async function checkListening(database: Database, url: string | undefined): Promise<void> {
  const channel = `troupe_check_${crypto.randomUUID().replaceAll("-", "")}`;
  const client = await database.session(url).catch((error: unknown) => {
    throw toListenError(error, database, url);
  });
  try {
    await client.query(`LISTEN ${channel}`).catch((error: unknown) => {
      throw toListenError(error, database, url);
    });
    await checkHearing(client, { database, channel, message: "?" });
  } finally {
    client.end().catch(() => {});
  }
}

/** Says which address has failed, if the connection that listens has one of its own. */
export function toListenError(error: unknown, database: Database, url: string | undefined): unknown {
  return url === undefined
    ? error
    : toOpenError(error, `${database.addressOf(url)} (the address for listening)`);
}

const HEAR_MS = 5_000;
