import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import type { Authenticate } from "troupe/auth";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import { echo } from "../../agents/echo.ts";
import { ticker } from "../../agents/ticker.ts";

/** A server with a real socket; closed after the test. */
export interface AuthServer extends AsyncDisposable {
  readonly url: string;
  readonly runtime: Runtime;
  /** Sends a request with a bearer token, or with other headers. */
  ask(path: string, given?: string | RequestInit): Promise<Response>;
}

/** Serves agents on a free port for those whom a check knows. */
export async function startServer(
  authenticate: Authenticate,
  options: ServeOptions = {},
  runtimeOptions: Partial<Parameters<typeof createRuntime>[0]> = {},
): Promise<AuthServer> {
  const runtime = createRuntime({ agents: [echo, ticker], ...runtimeOptions });
  await runtime.ready();
  const server = await serve(runtime, { authenticate, drain: false, ...options });
  return {
    url: server.url,
    runtime,
    ask: (path, given = {}) => fetch(server.url + path, typeof given === "string" ? bearer(given) : given),
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}

export function bearer(token: string): { readonly headers: { readonly authorization: string } } {
  return { headers: { authorization: `Bearer ${token}` } };
}

/** A bare HTTP server with one answer for everything. */
export async function startAnswering(
  answer: () => { readonly status?: number; readonly body: unknown },
): Promise<{ readonly url: string; asked: number } & AsyncDisposable> {
  const server = createServer((_, response) => {
    started.asked += 1;
    const { status = 200, body } = answer();
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const started = {
    url: "",
    asked: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  started.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return started;
}
