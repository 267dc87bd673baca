/** @module-tag long */
// A process that calls a remote agent can die at any moment: nothing is sent, done or lost twice.
import { createRuntime, defineAgent, defineTool, memoryArtifacts, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { remoteAgent } from "troupe/client";
import type { Event, RequestId } from "troupe/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { Unavailable } from "../../../src/ports/event-log.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

/** How often each job was actually done. */
const done = new Map<string, number>();

const press = defineTool({
  name: "press",
  description: "Does the job.",
  input: z.object({ job: z.string() }),
  run({ job }) {
    done.set(job, (done.get(job) ?? 0) + 1);
    return { job };
  },
});

const worker = defineAgent({
  name: "worker",
  purpose: "Does a job once it is allowed to.",
  async chat(job, turn) {
    await turn.text("Shall I? ");
    const { go } = await turn.waitForInput(z.object({ go: z.boolean() }));
    if (go) await turn.tool(press, { job });
    await turn.artifact({ name: "proof.txt", mimeType: "text/plain", data: `${job} is done` });
    for (const text of ["It ", "is ", "done."]) await turn.text(text);
  },
});

let far: Served;
beforeAll(async () => {
  far = await start({ agents: [worker] });
});
afterAll(() => far[Symbol.asyncDispose]());

/** Which of the two processes is local: an agent that calls the worker, or the worker requested directly. */
const ways = [
  ["called by another agent", "boss"],
  ["asked itself", "worker"],
] as const;

test.each(ways)(
  "a remote agent that is %s does its work once, at every commit where its caller can die",
  async (_how, name) => {
    const whole = await life(name, `whole ${name}`, undefined);
    expect(whole.events.at(-1)).toMatchObject({ finish_reason: "success" });

    for (let commit = 1; commit <= whole.commits; commit += 1) {
      for (const written of [false, true]) {
        const job = `${name} dies at ${commit}, ${written ? "" : "not "}written`;
        const { events } = await life(name, job, { commit, written });
        const times = done.get(job);
        const runs = await runsOf(job);
        const lived = { job, times, runs, events: events.map(withoutPlace) };
        expect(lived).toEqual({ job, times: 1, runs: 1, events: whole.events.map(withoutPlace) });
      }
    }
  },
);

interface Death {
  readonly commit: number;
  readonly written: boolean;
}

/** Lets a job be done by a process that dies at a commit, and by its successor. */
async function life(
  name: string,
  job: string,
  death: Death | undefined,
): Promise<{ readonly events: readonly Event[]; readonly commits: number }> {
  const log = memoryLog();
  const artifacts = { ...memoryArtifacts(), close: async () => {} };
  const remote = remoteAgent(`${far.url}/worker`);
  const boss = defineAgent({
    name: "boss",
    purpose: "Has a job done.",
    async chat(input, turn) {
      const { output } = await turn.call(remote, "chat", { input });
      await turn.text(output);
    },
  });
  const mortal = new MortalLog(log, death);
  const requestId = `req_${job.replaceAll(/\W/g, "_")}` as RequestId;
  const first = createRuntime({ agents: [boss, remote], log: mortal.log, artifacts });
  if (death === undefined) {
    await drive(first, name, requestId, job);
  } else {
    await Promise.race([drive(first, name, requestId, job), mortal.died]).catch(() => {});
    await first.close();
    const second = createRuntime({
      agents: [boss, remote],
      log: new MortalLog(log, undefined).log,
      artifacts,
    });
    await second.ready();
    await drive(second, name, requestId, job);
    await second.close();
  }
  const { runId } = (await log.lookup(requestId)) ?? { runId: "" };
  const { events } = await log.read(runId, { after: 0 });
  if (death === undefined) await first.close();
  return { events: toEncoded(events).map((text) => JSON.parse(text) as Event), commits: mortal.commits };
}

/** A persistent client: sends the request, answers questions, waits for the end. */
async function drive(runtime: Runtime, name: string, requestId: RequestId, input: string): Promise<void> {
  await runtime.process(name, { type: "ChatRequest", input, request_id: requestId });
  for (;;) {
    const feed = await runtime.follow(await runtime.resolve(requestId), {});
    for await (const page of feed.pages) void page;
    const { status, wait_id: waitId } = await runtime.status(requestId);
    if (status === "completed") return;
    if (status !== "waiting" || waitId === undefined) continue;
    await runtime.process(name, {
      type: "ResumeWithInput",
      request_id: requestId,
      request_keys: { go: true },
      wait_id: waitId,
      resume_id: "go",
    });
  }
}

/** A log whose process dies at a commit, before or just after the write. */
class MortalLog {
  readonly log: EventLog;
  readonly died: Promise<void>;
  commits = 0;

  constructor(log: EventLog, death: Death | undefined) {
    const dying = Promise.withResolvers<void>();
    let dead = false;
    this.died = dying.promise;
    this.log = {
      ...log,
      append: async (cursor, batch) => {
        this.commits += 1;
        if (!dead && this.commits !== death?.commit) return log.append(cursor, batch);
        if (!dead && death?.written === true) await log.append(cursor, batch);
        dead = true;
        dying.resolve();
        throw new Unavailable("the process is gone");
      },
      health: () => (dead ? { writable: false } : { writable: true }),
      close: async () => {},
    };
  }
}

async function runsOf(job: string): Promise<number> {
  const { runs } = await far.runtime.runs({ limit: 1_000 });
  return runs.filter(({ initial_input: input }) => input === job).length;
}

function withoutPlace(event: Event): object {
  const { run_id: _run, request_id: _request, ts: _ts, ...rest } = event;
  const names = { input: 0, args: 0, artifact_id: 0, url: 0, result: 0, text_result: 0, files: 0 };
  const about = { size_bytes: 0 };
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !(key in names) && !(key in about)));
}
