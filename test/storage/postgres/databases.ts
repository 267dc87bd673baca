import { setTimeout } from "node:timers/promises";
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
  return connected(url, async (client) => {
    return (await client.query<Readonly<Record<string, unknown>>>(text, [...values])).rows;
  });
}

/** Asks a database again and again, until the first column of the first row is true. */
export async function askUntil(url: string, text: string): Promise<void> {
  await connected(url, async (client) => {
    const isTrue = async (): Promise<boolean> =>
      (await client.query<unknown[]>({ text, rowMode: "array" })).rows[0]?.[0] === true;
    while (!(await isTrue())) await setTimeout(20);
  });
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

let count = 0;
