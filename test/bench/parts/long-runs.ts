import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { askJson } from "../harness/client.ts";
import { Connection, toRequestText } from "../harness/connection.ts";
import { atMost } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";

/** The number of new events, and the number of events of a short run. */
const NEW = 20;
const SHORT = 1_000;

/** Texts per commit while a run is filled. */
const TOGETHER = 500;

/** Whether reading new events takes as long in a long run as in a short one. */
export async function measureLongRuns({ longRun, rounds }: Setup): Promise<Result[]> {
  const data = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const what = `CPU of reading ${NEW} new events of ${longRun}, relative to ${NEW} of ${SHORT}, durable log`;
  const compared = async (server: ServerProcess, where: string): Promise<Result> =>
    atMost(`${what}, ${where}`, await compareReads(server, long, short, rounds), 1.2);
  let long: Run;
  let short: Run;
  try {
    const results: Result[] = [];
    {
      await using server = await ServerProcess.start("durable", { data });
      // The short run is filled last, so that the newest events of both are still in memory.
      long = await fill(server.port, longRun);
      short = await fill(server.port, SHORT);
      results.push(await compared(server, "just written"));
    }
    await using server = await ServerProcess.start("durable", { data });
    results.push(await compared(server, "after a restart"));
    return results;
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

/** A filled run. */
interface Run {
  readonly runId: string;
  readonly events: number;
}

/** Creates a run with a number of events; the newest are one small turn. */
async function fill(port: number, events: number): Promise<Run> {
  // A turn has one event at its start and one at its end.
  const runId = await say(port, events - NEW - 2, TOGETHER);
  await say(port, NEW - 2, 1, runId);
  return { runId, events };
}

async function say(port: number, texts: number, together: number, runId?: string): Promise<string> {
  const request = {
    type: "OperationRequest",
    operation: "fill",
    input: { texts, together },
    ...(runId !== undefined && { run_id: runId }),
  };
  const accepted = await askJson<{ readonly request_id: string; readonly run_id: string }>(
    port,
    "POST",
    "/filler/process",
    request,
  );
  for (let status = ""; status !== "completed";) {
    await pause(50);
    ({ status } = await askJson<{ status: string }>(port, "GET", `/request/${accepted.request_id}`));
  }
  return accepted.run_id;
}

async function compareReads(server: ServerProcess, long: Run, short: Run, rounds: number): Promise<number> {
  // Once for the compiler.
  await read(server, short);
  await read(server, long);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const ofShort = await read(server, short);
    ratios.push((await read(server, long)) / ofShort);
  }
  return median(ratios);
}

/** Reads the new events of a run many times. Returns the CPU time. */
async function read(server: ServerProcess, { runId, events }: Run): Promise<number> {
  const connection = new Connection(server.port);
  const request = toRequestText("GET", `/getevents/${runId}?since=${events - NEW}`);
  const { text } = await connection.request(request, { keep: true });
  const found = (JSON.parse(text) as readonly unknown[]).length;
  if (found !== NEW) throw new Error(`${found} new events were found instead of ${NEW}`);
  const before = server.usage().cpuMs;
  for (let time = 0; time < READS; time += 1) await connection.request(request);
  connection.close();
  return server.usage().cpuMs - before;
}

const READS = 500;
