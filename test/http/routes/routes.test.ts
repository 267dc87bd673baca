import { createRuntime, defineAgent } from "troupe";
import { createApp } from "troupe/http";
import { serve } from "troupe/node";
import { afterAll, expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { agentRoutes, serverRoutes } from "../../../src/protocol/routes.ts";
import { besideProtocol, routesOf } from "../server.ts";

const runtime = createRuntime({ agents: [echo, payments] });
const server = await serve(runtime);
afterAll(async () => {
  await server.close();
  await runtime.close();
});

const AGENT_PREFIXES = ["", "/echo", "/payments"];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** All routes of the table, with their prefixes. */
const table = [
  ...Object.values(serverRoutes),
  ...Object.values(agentRoutes).flatMap(([method, path]) =>
    AGENT_PREFIXES.map((prefix) => [method, `${prefix}${path}`] as const),
  ),
].map(([method, path]) => ({ method, path: path.replaceAll(/\{\w+\}/g, "Event") }));

/** The paths of the table, and those of the server's own routes below an agent. */
const paths = new Set([
  ...table.map(({ path }) => path),
  ...Object.values(serverRoutes).map(([, path]) => `/echo${path.replaceAll(/\{\w+\}/g, "Event")}`),
]);

/** Whether a route answers, and not the explanation that there is none. */
async function isServed(method: string, path: string): Promise<boolean> {
  const answer = await fetch(`${server.url}${path}`, { method, body: method === "POST" ? "{}" : null });
  const text = await answer.text();
  if (answer.status !== 404 && answer.status !== 405) return true;
  const { code, detail } = JSON.parse(text) as { readonly code: string; readonly detail: string };
  return code !== "method_not_allowed" && !detail.startsWith("there is no route");
}

test.each([...paths])("%s is served with the methods of the table, and with no others", async (path) => {
  const methods = table.filter((route) => route.path === path).map(({ method }) => method);
  const served = await Promise.all(METHODS.map((method) => isServed(method, path)));
  expect(METHODS.filter((_, index) => served[index])).toEqual(
    METHODS.filter((method) => methods.some((known) => known === method)),
  );
});

test("the app has no route that is not in the table", () => {
  const routes = routesOf(createApp(runtime));
  expect(routes).toEqual(expect.arrayContaining([...besideProtocol]));
  const own = routes.filter((route) => !besideProtocol.includes(route));
  const found = own.map((route) => route.replaceAll(/:name/g, "Event.json").replaceAll(/:\w+/g, "Event"));
  expect(found.sort()).toEqual(table.map(({ method, path }) => `${method} ${path}`).sort());
});

test("a description lists the first segments of the routes below an agent", () => {
  const segments = Object.values(agentRoutes).map(([, path]) => path.split("/")[1]);
  expect(new Set(runtime.describe("echo").endpoints)).toEqual(new Set(segments));
});

test("an agent cannot have the name of a route at the root", () => {
  const segments = Object.values({ ...serverRoutes, ...agentRoutes }).map(
    ([, path]) => path.split("/")[1] ?? "",
  );
  for (const name of [...segments, "waits", "inspect", "console"]) {
    const define = (): unknown => defineAgent({ name, purpose: "", chat: () => "" });
    expect(define).toThrow(`"${name}" is not a valid agent name`);
  }
});

test("every route below an unknown agent names the agent", async () => {
  for (const [method, path] of Object.values(agentRoutes)) {
    const answer = await fetch(`${server.url}/nobody${path.replaceAll(/\{\w+\}/g, "Event")}`, { method });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      detail: expect.stringContaining("no agent nobody") as string,
    });
  }
});
