import { createRuntime, memoryLog } from "troupe";
import { remoteAgent } from "troupe/client";
import { expect, test } from "vitest";

test("a remote agent is informed of a cancel only after the cancel is in the log", async () => {
  const posted: string[] = [];
  const canceled = Promise.withResolvers<void>();
  let following = false;
  const remote = remoteAgent("http://far/far", {
    async fetch(url, { body, signal } = {}) {
      const { pathname } = new URL(url instanceof Request ? url.url : url);
      if (pathname.endsWith("/process")) {
        const { type } = JSON.parse(body as string) as { readonly type: string };
        posted.push(type);
        if (type === "CancelRequest") canceled.resolve();
        return Response.json({ request_id: "far_1", run_id: "far_run" });
      }
      if (!pathname.includes("/getevents/")) return Response.json({ operations: [] });
      following = true;
      const events = new ReadableStream({
        start(controller) {
          signal?.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(events, { headers: { "content-type": "text/event-stream" } });
    },
  });
  const log = memoryLog();
  let disk = Promise.resolve();
  const runtime = createRuntime({
    agents: [remote],
    log: {
      ...log,
      async append(cursor, batch) {
        await disk;
        return log.append(cursor, batch);
      },
    },
  });
  const { requestId } = await runtime.process("far", { type: "ChatRequest", input: "go" });
  while (!following) await new Promise(setImmediate);

  const { promise, resolve } = Promise.withResolvers<void>();
  disk = promise;
  const cancel = runtime.process("far", { type: "CancelRequest", request_id: requestId });
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  expect(posted).toEqual(["ChatRequest"]);
  resolve();
  await cancel;
  await canceled.promise;
  await runtime.close();
});
