import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createRuntime } from "troupe";
import { createMetrics } from "troupe/http";
import { serve } from "troupe/node";
import type { Listener } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { findFreeUrl } from "../machine/free-port.ts";

/** A protocol over TCP: the answer to a connection is the list of agents. */
function lines(name: string, told: string[]): Listener {
  return {
    name,
    async listen(runtime, { report }) {
      const server = createServer((socket) => socket.end(`${runtime.agents.join()}\n`));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      report("listening", port);
      return {
        address: `127.0.0.1:${port}`,
        async close({ graceMs }) {
          told.push(`${name} closed in ${graceMs} ms`);
          server.close();
          await once(server, "close");
        },
      };
    },
  };
}

async function read(address: string): Promise<string> {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await once(socket, "close");
  return text;
}

test("a listener starts and stops with the server, and its faults are reported", async () => {
  const runtime = createRuntime({ agents: [echo] });
  onTestFinished(() => runtime.close());
  const told: string[] = [];
  const faults: string[] = [];
  const server = await serve(runtime, {
    listeners: [lines("first", told), lines("second", told)],
    metrics: createMetrics({ log: (message) => faults.push(message) }),
    drain: false,
  });
  expect(server.listeners.map(({ name }) => name)).toEqual(["first", "second"]);
  for (const { address } of server.listeners) expect(await read(address)).toBe("echo\n");
  expect(faults).toContain("listening");
  await server.close({ graceMs: 70 });
  expect(told.sort()).toEqual(["first closed in 70 ms", "second closed in 70 ms"]);
  for (const { address } of server.listeners) await expect(read(address)).rejects.toThrow("ECONNREFUSED");
});

test("if a listener cannot start, the server and the listeners before it are stopped again", async () => {
  const runtime = createRuntime({ agents: [echo] });
  onTestFinished(() => runtime.close());
  const told: string[] = [];
  const broken: Listener = { name: "broken", listen: () => Promise.reject(new Error("no socket")) };
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, "close");
  const starting = serve(runtime, { port, listeners: [lines("first", told), broken], drain: false });
  await expect(starting).rejects.toThrow("no socket");
  expect(told).toEqual(["first closed in 0 ms"]);
  const server = await serve(runtime, { port, drain: false });
  await server.close();
});

test("a server whose other ports do not listen yet is alive, but not ready", async () => {
  const runtime = createRuntime({ agents: [echo] });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const url = await findFreeUrl();
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let trouble = "";
  const late: Listener = {
    name: "late",
    async listen(...given) {
      begun.resolve();
      await gate.promise;
      return {
        ...(await lines("late", []).listen(...given)),
        trouble: () => (trouble === "" ? undefined : trouble),
      };
    },
  };
  const starting = serve(runtime, { port: Number(new URL(url).port), listeners: [late], drain: false });
  await begun.promise;
  const before = await fetch(`${url}/readyz`);
  expect([before.status, await before.json()]).toMatchObject([
    503,
    {
      detail: "late does not listen yet",
      parts: expect.arrayContaining([{ name: "server", state: "ready" }]) as unknown,
    },
  ]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  gate.resolve();
  const server = await starting;
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([
    200,
    { status: "ok", parts: expect.arrayContaining([{ name: "late", state: "ready" }]) as unknown },
  ]);
  expect(await read(server.listeners[0]?.address ?? "")).toBe("echo\n");

  trouble = "nobody comes";
  const degraded = await fetch(`${url}/readyz`);
  expect([degraded.status, await degraded.json()]).toMatchObject([
    200,
    {
      status: "degraded",
      parts: expect.arrayContaining([{ name: "late", state: "degraded", detail: "nobody comes" }]) as unknown,
    },
  ]);
  await server.close();
  expect(runtime.readiness.parts().map(({ name }) => name)).not.toContain("late");
});
