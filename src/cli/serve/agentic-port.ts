import { agentic } from "../../adapters/agentic/agentic.ts";
import type { Listener } from "../../node/listener.ts";
import { serve } from "../../node/serve.ts";
import type { ServeOptions } from "../../node/serve.ts";

/** The agentic dialect on a port of its own, for clients that expect it at the root of a server. */
export function agenticPort(options: ServeOptions & { readonly port: number }): Listener {
  return {
    name: "agentic",
    async listen(runtime) {
      const adapters = [agentic({ base: "" })];
      const server = await serve(runtime, { ...options, adapters, native: false, drain: false });
      return { address: server.url, close: (closing) => server.close(closing) };
    },
  };
}
