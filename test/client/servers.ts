import { createRuntime } from "troupe";
import type { CreateRuntimeOptions, Runtime } from "troupe";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";

/** A runtime and the server in front of it. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly runtime: Runtime;
}

/** Serves agents on a free port of this machine. */
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
      // First who asks, then who is asked: what is left open would have to be waited for.
      await runtime.close();
      await server.close({ graceMs });
    },
  };
}
