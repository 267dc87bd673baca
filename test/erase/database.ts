import pg from "pg";
import { postgresLog } from "troupe/postgres";
import type { Place } from "./erasing.ts";

/** A PostgreSQL database. Its tables are searched as text, and its binary columns for the bytes. */
export function databasePlace(url: string): Place & { vacuum(): Promise<number> } {
  return {
    open: () => postgresLog({ url, secretsKey: KEY }),
    args: ["--log", url],
    env: { TROUPE_SECRETS_KEY: KEY },
    find: (text) => connected(url, (client) => findIn(client, text)),
    /** How long it takes to write all tables anew, in milliseconds. */
    vacuum: () =>
      connected(url, async (client) => {
        const started = performance.now();
        await client.query("VACUUM FULL");
        return performance.now() - started;
      }),
  };
}

const KEY = "a key of thirty-two characters ..";

async function findIn(client: pg.Client, text: string): Promise<readonly string[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'troupe'",
  );
  const hex = Buffer.from(text).toString("hex");
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query<{ has: boolean }>(
      `SELECT EXISTS (SELECT FROM ${name} AS row WHERE row::text LIKE $1 OR row::text LIKE $2) AS has`,
      [`%${text}%`, `%${hex}%`],
    );
    if (rows[0]?.has === true) found.push(name);
  }
  return found;
}

async function connected<Result>(url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
