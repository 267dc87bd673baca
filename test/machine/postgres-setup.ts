import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { PostgresServer } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The directory of the server that the first test starts that needs one. */
    readonly postgresDirectory: string;
    /** The process whose end ends that server. */
    readonly testRun: number;
  }
}

let directory = "";

/** Reserves a directory for the server of a test run. */
export function setup(project: TestProject): void {
  directory = mkdtempSync(join(tmpdir(), "troupe-pg-"));
  project.provide("postgresDirectory", directory);
  project.provide("testRun", process.pid);
}

/** Stops the server, if a test has started it. */
export async function teardown(): Promise<void> {
  await new PostgresServer("", directory).remove();
}
