import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeEach, inject, onTestFinished } from "vitest";
import type { TestContext } from "vitest";
import { findPrograms, PostgresServer } from "./postgres-server.ts";
import { skipWithoutPostgres } from "./skip-without.ts";

/** Skips each test of a file or a block on a machine without PostgreSQL. */
export function needsPostgres(): void {
  beforeEach(({ skip }) => {
    if (given() === undefined && findPrograms() === undefined) skipWithoutPostgres(skip);
  });
}

/** The address of a PostgreSQL for tests: the one of `TROUPE_TEST_POSTGRES`, or one that this test run starts. */
export function postgresUrl(): Promise<string> {
  return (url ??= findUrl());
}

/** A server for one test, which can kill it; skips the test if PostgreSQL is only on another machine. */
export async function ownPostgres(
  { skip }: Pick<TestContext, "skip">,
  settings: readonly string[] = [],
): Promise<PostgresServer> {
  const server = newServer(skip, settings);
  await server.create();
  await server.start();
  return server;
}

/** A standby of such a server, which follows it. */
export async function ownStandby(
  { skip }: Pick<TestContext, "skip">,
  primary: PostgresServer,
): Promise<PostgresServer> {
  const standby = newServer(skip);
  await standby.createStandby(primary);
  await standby.start();
  return standby;
}

/** A base backup of such a server, which is not started. */
export async function ownCopy(
  { skip }: Pick<TestContext, "skip">,
  primary: PostgresServer,
): Promise<PostgresServer> {
  const copy = newServer(skip);
  await copy.createCopy(primary);
  return copy;
}

function newServer(skip: TestContext["skip"], settings: readonly string[] = []): PostgresServer {
  const programs = findPrograms() ?? skipWithoutPostgres(skip);
  const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")), { settings });
  onTestFinished(() => server.remove());
  return server;
}

let url: Promise<string> | undefined;

async function findUrl(): Promise<string> {
  const known = given();
  if (known !== undefined) return known;
  const server = new PostgresServer(findPrograms() ?? "", inject("postgresDirectory"), {
    owner: inject("testRun"),
  });
  const started = join(server.directory, "started");
  try {
    mkdirSync(join(server.directory, "starting"));
  } catch {
    // Another test file starts it.
    while (!existsSync(started)) await setTimeout(50);
    return server.url;
  }
  await server.create();
  await server.start();
  writeFileSync(started, "");
  return server.url;
}

function given(): string | undefined {
  const text = process.env["TROUPE_TEST_POSTGRES"] ?? "";
  return text === "" ? undefined : text;
}
