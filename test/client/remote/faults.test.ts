/** @module-tag long */
// Faults of the connections between two servers cost only time.
import { createRuntime, defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";
import type { RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { FaultProxy } from "../stream/fault-proxy.ts";
import type { Fault } from "../stream/fault-proxy.ts";
import { hastyEnvironment } from "../hasty.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

const worker = defineAgent({
  name: "worker",
  purpose: "Says, asks and makes something.",
  async chat(input, turn) {
    await turn.text("one ");
    const { more } = await turn.waitForInput(z.object({ more: z.string() }));
    await turn.artifact({ name: "a.txt", mimeType: "text/plain", data: input.repeat(20) });
    await turn.text(more);
  },
});

let far: Served;
beforeAll(async () => {
  far = await start({ agents: [worker] });
});
afterAll(() => far[Symbol.asyncDispose]());

const faults: readonly Fault[] = [
  ...[0, 90, 400, 900].map((afterBytes) => ({ kind: "reset", afterBytes }) as const),
  { kind: "end", afterBytes: 700 },
  { kind: "garbage", afterBytes: 700 },
  { kind: "stall", afterBytes: 900 },
];

test.each(faults)(
  "the turn is the same when any connection is cut ($kind after $afterBytes bytes)",
  async (fault) => {
    for (let connection = 0; connection < 5; connection += 1) {
      await using way = await FaultProxy.start(far.url);
      // The check of an answer ends after 10 s by this clock, which must be enough on a loaded machine.
      const limits = { acceptMs: 20_000, idleMs: 400, answerMs: 60_000 };
      const runtime = createRuntime({
        agents: [remoteAgent(`${way.url}/worker`, { limits, refreshMs: 1e9 })],
        environment: hastyEnvironment(4),
      });
      // All connections after the faulty one work.
      way.faults.push(...Array.from({ length: connection }, () => undefined), fault);
      const asked = await collect(runtime, "worker", { type: "ChatRequest", input: `cut ${connection}` });
      const answered = await collect(runtime, "worker", {
        type: "ResumeWithInput",
        request_id: asked[0]?.request_id as RequestId,
        request_keys: { more: "two" },
      });
      expect([...asked, ...answered].map(({ id, type }) => [id, type])).toEqual([
        [1, "RequestStarted"],
        [2, "TextOutput"],
        [3, "WaitForInput"],
        [4, "ResumeWithInput"],
        [5, "ArtifactGenerated"],
        [6, "TextOutput"],
        [7, "RequestCompleted"],
      ]);
      expect(answered.at(-1)).toMatchObject({ result: "one two" });
      await runtime.close();
    }
  },
);
