import pg from "pg";
import { postgresLog } from "troupe/postgres";
import { textsIn } from "./erasing.ts";
import type { Place } from "./erasing.ts";

/** A PostgreSQL database. Its tables are searched as text, and its binary columns for the bytes. */
export function databasePlace(url: string): Place & { vacuum(): Promise<number> } {
  return {
    open: () => postgresLog({ url, secretsKey: KEY }),
    args: ["--log", url],
    env: { TROUPE_SECRETS_KEY: KEY },
    async hold(run) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("BEGIN");
      await client.query("SELECT FROM troupe.run WHERE id = $1 FOR UPDATE", [run]);
      return () => client.end();
    },
    find: (word) => connected(url, (client) => findIn(client, word)),
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

async function findIn(client: pg.Client, word: string): Promise<readonly string[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'troupe'",
  );
  const hex = Buffer.from(word).toString("hex");
  const found = new Set<string>();
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(
      `SELECT row::text FROM ${name} AS row WHERE row::text LIKE $1 OR row::text LIKE $2`,
      [`%${word}%`, `%${hex}%`],
    );
    for (const { row } of rows) {
      const bytes = row.matchAll(/\\x([0-9a-f]+)/g);
      const texts = [
        row,
        ...[...bytes].map(([, digits = ""]) => Buffer.from(digits, "hex").toString("latin1")),
      ];
      for (const text of texts.flatMap((each) => textsIn(each, word))) found.add(`${name}: ${text}`);
    }
  }
  return [...found];
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
