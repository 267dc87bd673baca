import { onTestFinished } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { postgresLog } from "troupe/postgres";
import type { PostgresLogOptions } from "troupe/postgres";
import { postgresUrl } from "../../machine/postgres.ts";
import { ask } from "./databases.ts";
import { startProxy } from "./proxy.ts";
import type { Proxy } from "./proxy.ts";

const schemas = new WeakMap<EventLog, string>();

/** Opens an empty log, in a schema that is dropped after the test. */
export async function openEmpty(options: PostgresLogOptions = {}): Promise<EventLog> {
  return openSchema(newSchema(), options);
}

/** Opens a log in a schema. */
export async function openSchema(schema: string, options: PostgresLogOptions = {}): Promise<EventLog> {
  const log = await postgresLog({ url: await postgresUrl(), schema, max: 3, ...options });
  schemas.set(log, schema);
  return log;
}

/** Starts a proxy in front of a server, for the rest of the test. */
export async function openProxy(server: string): Promise<Proxy> {
  const proxy = await startProxy(server);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** The name of a new schema. */
export function newSchema(): string {
  count += 1;
  const schema = `test_${process.pid}_${Date.now()}_${count}`;
  onTestFinished(async () => {
    await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });
  return schema;
}

export function schemaOf(log: EventLog): string {
  return schemas.get(log) ?? "";
}

/** Asks the database. */
export async function query(
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return ask(await postgresUrl(), text, values);
}

let count = 0;
