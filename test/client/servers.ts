import { createRuntime } from "troupe";
import type { CreateRuntimeOptions, Runtime } from "troupe";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";

/** A runtime and its HTTP server. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly runtime: Runtime;
}

/** Serves agents on a free local port. */
export async function start(
  options: CreateRuntimeOptions,
  { graceMs = 1_000, ...serveOptions }: ServeOptions & { readonly graceMs?: number } = {},
): Promise<Served> {
  const runtime = createRuntime(options);
  const server = await serve(runtime, serveOptions);
  return {
    url: server.url,
    runtime,
    async [Symbol.asyncDispose]() {
      // Closed in this order, because the called server would wait for open requests of the caller.
      await runtime.close();
      await server.close({ graceMs });
    },
  };
}
