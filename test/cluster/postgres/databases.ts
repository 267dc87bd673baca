import pg from "pg";
import { postgresUrl } from "../../machine/postgres.ts";

/** Creates an empty database and returns its URL. */
export async function newDatabase(): Promise<string> {
  const server = await postgresUrl();
  count += 1;
  const name = `cli_${process.pid}_${Date.now()}_${count}`;
  await ask(server, `CREATE DATABASE ${name}`);
  return server.replace(/\/\w+$/, `/${name}`);
}

/** Runs a statement in a database. */
export async function ask(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Readonly<Record<string, unknown>>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

let count = 0;
