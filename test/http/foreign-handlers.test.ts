// What an adapter uses to serve a protocol with a handler of another package.
import { request } from "node:http";
import { json } from "node:stream/consumers";
import { createRuntime } from "troupe";
import { lastEventId, replyFrom, reply, withPrefix } from "troupe/http";
import type { Adapter, ForeignHandler } from "troupe/http";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { startApp } from "./server.ts";

const LIMIT_BYTES = 1_000;

/** A wire whose requests a handler answers that knows nothing of the server. */
function foreign(handler: ForeignHandler): Adapter {
  return {
    name: "foreign",
    roots: ["foreign"],
    owns: (path) => path.startsWith("/foreign"),
    toRefusal: ({ code, message }) => ({ body: JSON.stringify({ code, message }) }),
    addRoutes(app, { mount }, { agent }) {
      if (agent !== undefined) return;
      app.all("/foreign", (c) => replyFrom(c, LIMIT_BYTES, handler));
      app.get("/foreign/address", (c) => reply(c, JSON.stringify(mount.addressOf(c, "/artifacts/a"))));
      app.get("/foreign/last", (c) => reply(c, JSON.stringify(lastEventId(c) ?? null)));
    },
  };
}

const reads: ForeignHandler = async (asked) => {
  try {
    return Response.json({ read: (await asked.text()).length });
  } catch {
    // As packages do: an error of the body is one of theirs.
    return new Response("mine", { status: 500 });
  }
};

const evil: ForeignHandler = () =>
  new Response("<script>", {
    status: 201,
    headers: {
      "content-type": "text/html",
      "content-security-policy": "default-src *",
      "access-control-allow-origin": "*",
      "access-control-allow-credentials": "true",
      "x-theirs": "kept",
    },
  });

/** Starts a server, and gives its address. */
async function start(handler: ForeignHandler, options = {}): Promise<string> {
  const runtime = createRuntime({ agents: [echo] });
  const server = await serve(runtime, { drain: false, adapters: [foreign(handler)], ...options });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  return server.url;
}

test("the answer of a foreign handler has our headers in place of its own", async () => {
  const url = await start(evil, { allowedOrigins: ["https://app.example"] });
  const answer = await fetch(`${url}/foreign`);
  expect(answer.status).toBe(201);
  expect(await answer.text()).toBe("<script>");
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "text/html",
    "content-security-policy": expect.stringContaining("default-src 'none'") as string,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-theirs": "kept",
  });
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  const allowed = await fetch(`${url}/foreign`, { headers: { origin: "https://app.example" } });
  expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect(allowed.headers.get("access-control-allow-credentials")).not.toBe("true");
});

test("a body for a foreign handler is limited, whatever the handler makes of it", async () => {
  const url = await start(reads);
  const send = (body: RequestInit["body"]): Promise<Response> =>
    fetch(`${url}/foreign`, { method: "POST", body, duplex: "half" } as RequestInit);
  expect(await (await send("x".repeat(LIMIT_BYTES))).json()).toEqual({ read: LIMIT_BYTES });
  expect((await fetch(`${url}/foreign`)).status).toBe(200);
  const large = await send("x".repeat(LIMIT_BYTES + 1));
  expect([large.status, await large.json()]).toEqual([
    413,
    { code: "too_large", message: "the body is larger than 1000 bytes" },
  ]);
  const chunks = new ReadableStream({
    start(controller) {
      for (let chunk = 0; chunk < 3; chunk += 1)
        controller.enqueue(new TextEncoder().encode("x".repeat(400)));
      controller.close();
    },
  });
  expect((await send(chunks)).status).toBe(413);
  // One that the handler does not read has no size.
  const unread = await start(() => new Response("ok"));
  expect((await fetch(`${unread}/foreign`, { method: "POST", body: "x" })).status).toBe(200);
});

test("a foreign handler works without Node's request, too", async () => {
  await using server = await startApp({ adapters: [foreign(reads)] });
  const post = (body: string): Promise<Response> =>
    Promise.resolve(server.app.request("/foreign", { method: "POST", body }));
  expect(await (await post("abc")).json()).toEqual({ read: 3 });
  expect((await post("x".repeat(LIMIT_BYTES + 1))).status).toBe(413);
});

/** Gets a path with headers that `fetch` does not send. */
function get(url: string, headers: Record<string, string>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, (answer) => {
      json(answer).then(resolve, reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

test("an absolute address is that of the host that was asked, and of a trusted proxy", async () => {
  const forwarded = {
    host: "app.example:8443",
    "x-forwarded-host": "public.example",
    "x-forwarded-proto": "https, http",
    "x-forwarded-prefix": "/agents",
  };
  const allowedHosts = ["app.example", "public.example"];
  const direct = await start(reads, { allowedHosts });
  expect(await get(`${direct}/foreign/address`, {})).toBe(`${direct}/artifacts/a`);
  expect(await get(`${direct}/foreign/address`, forwarded)).toBe("http://app.example:8443/artifacts/a");
  const proxied = await start(reads, { allowedHosts, trustProxy: true });
  expect(await get(`${proxied}/foreign/address`, forwarded)).toBe(
    "https://public.example/agents/artifacts/a",
  );
  const odd = { ...forwarded, "x-forwarded-proto": "javascript", "x-forwarded-prefix": "//evil.example" };
  expect(await get(`${proxied}/foreign/address`, odd)).toBe("http://public.example/artifacts/a");
});

test("an adapter reads the last event of a reader, and shows the address of a file below its prefix", async () => {
  const url = await start(reads);
  expect(await get(`${url}/foreign/last`, {})).toBeNull();
  expect(await get(`${url}/foreign/last?last_event_id=3`, { "last-event-id": "7" })).toBe(7);
  const event = '{"id":1,"type":"ArtifactGenerated","url":"/artifacts/a"}';
  expect(withPrefix(event, "/agents")).toContain('"url":"/agents/artifacts/a"');
});
