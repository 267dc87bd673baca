import { expect, test } from "vitest";
import { localRouter } from "../../src/cluster/local-router.ts";
import type { RouterHandler } from "../../src/ports/router.ts";
import type { RunId } from "../../src/protocol/ids.ts";

const run = "run" as RunId;

const handler: RouterHandler = {
  agents: {},
  deliver: async () => null,
  holds: () => false,
  takeOver: async () => 0,
};

test("a message goes to the handler, and its reply comes back", async () => {
  const router = localRouter();
  await router.serve({ ...handler, deliver: async (runId, message) => [runId, message] });

  expect(await router.send(run, { type: "ping" })).toEqual(["run", { type: "ping" }]);
});

test("a handler's failure is the sender's failure", async () => {
  const router = localRouter();
  await router.serve({
    ...handler,
    deliver: async () => {
      throw new Error("no such run");
    },
  });

  await expect(router.send(run, null)).rejects.toThrow("no such run");
});

test("a message without a handler is an error at once", async () => {
  const router = localRouter();
  const stop = await router.serve(handler);
  await stop();

  await expect(router.send(run, null)).rejects.toMatchObject({ code: "unavailable" });
});

test("a handler stops after its messages are answered, and gets no new ones", async () => {
  const router = localRouter();
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  const stop = await router.serve({ ...handler, deliver: () => answer });
  const sent = router.send(run, null);
  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });

  await expect(router.send(run, null)).rejects.toMatchObject({ code: "unavailable" });
  expect(stopped).toBe(false);
  resolve("done");
  await stopping;
  expect(await sent).toBe("done");
});
