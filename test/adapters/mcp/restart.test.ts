/** @module-tag long */
import { defineAgent } from "troupe";
import { mcp } from "troupe/adapters/mcp";
import { expect, onTestFinished, test } from "vitest";
import { ServerProcess } from "../../flows/server.ts";
import { RestartableServer } from "../restartable-server.ts";
import { connectNew, connectOld, idsOf, textOf } from "./clients.ts";

/** A server with an agent that says when it works, and ends only after a restart. */
async function start(): Promise<{ readonly server: RestartableServer; readonly began: Promise<void> }> {
  const { promise: began, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  const worker = defineAgent({
    name: "worker",
    purpose: "Works long.",
    async chat(_input, turn) {
      await turn.text("working");
      if (isFirst) {
        isFirst = false;
        resolve();
        const stopped = Promise.withResolvers<never>();
        turn.signal.addEventListener("abort", () => stopped.reject(new Error("stopped")));
        await stopped.promise;
      }
      return "done";
    },
  });
  const server = new RestartableServer([worker], { durable: true }, () => mcp());
  await server.listen();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, began };
}

test("a client of 2025 whose server stops in the middle of a call gets the result with the tool answer", async () => {
  const { server, began } = await start();
  const call = (await connectOld(server.url)).call("worker", { input: "" });
  await began;
  await server.restart();
  const stopped = await call;
  expect(stopped).toMatchObject({ isError: true, _meta: { code: "unavailable" } });
  const { request_id } = idsOf(stopped);
  expect(textOf(await (await connectOld(server.url)).call("answer", { request_id }))).toBe("done");
});

test("a client of 2026 whose server stops in the middle of a call goes on with the state that it gets", async () => {
  const { server, began } = await start();
  const params = { name: "worker", arguments: { input: "" } };
  const { client } = await connectNew(server.url);
  const call = client.callTool(params, { allowInputRequired: true });
  await began;
  await server.restart();
  const { requestState } = (await call) as unknown as { readonly requestState: string };
  const next = await connectNew(server.url);
  expect(textOf(await next.client.callTool({ ...params, requestState } as never))).toBe("done");
});

test("a call whose server is killed in the middle is answered by the tool answer and by the same call, once", async () => {
  await using server = await ServerProcess.create();
  const args = { input: "3 1000" };
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const { client } = await connectNew(await server.start());
  const call = client
    .callTool(
      { name: "ticker", arguments: args, _meta: { request_id: "call-1" } },
      { onprogress: () => resolve() },
    )
    .catch((thrown: unknown) => thrown);
  await began;
  const url = await server.restart();
  // The client itself would wait for its time limit.
  await client.close();
  expect(await call).toBeInstanceOf(Error);
  const next = await connectOld(url);
  expect(textOf(await next.call("answer", { request_id: "call-1" }))).toBe("1\n2\n3\n");
  expect(textOf(await next.call("ticker", args, { requestId: "call-1" }))).toBe("1\n2\n3\n");
  const events = (await (await fetch(`${url}/events/call-1?since=0`)).json()) as readonly {
    readonly type: string;
  }[];
  expect(events.filter(({ type }) => type === "RequestStarted")).toHaveLength(1);
});
