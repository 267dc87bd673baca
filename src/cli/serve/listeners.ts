import { hostname } from "node:os";
import { AgentError, toAgentError } from "../../errors.ts";
import type { Listener } from "../../node/listener.ts";
import { serve } from "../../node/serve.ts";
import type { ServeOptions } from "../../node/serve.ts";
import type { ServerOptions } from "./server-options.ts";

/** Loads the listeners that the options ask for. The HTTP ones get the settings of the server. */
export async function openListeners(
  options: ServerOptions,
  settings: ServeOptions,
): Promise<readonly Listener[]> {
  const { agentic: port } = options;
  const agenticPorts = port === undefined ? [] : [agenticPort({ ...settings, port })];
  return [...agenticPorts, ...(await openAipListeners(options))];
}

/** The agentic dialect on a port of its own, for clients that expect it at the root of a server. */
function agenticPort(settings: ServeOptions): Listener {
  return {
    name: "agentic",
    async listen(runtime) {
      const { agentic } = await import("../../adapters/agentic/agentic.ts");
      const adapters = [agentic({ base: "" })];
      const server = await serve(runtime, { ...settings, adapters, native: false, drain: false }).catch(
        (thrown: unknown) => {
          const { code, message } = toAgentError(thrown);
          throw new AgentError(code, message, { hint: "choose another port with --agentic" });
        },
      );
      return { address: server.url, close: (options) => server.close(options) };
    },
  };
}

/** The listeners for AIP. The gRPC packages are loaded when they start. */
async function openAipListeners({ aip, aipJoin, aipInsecure }: ServerOptions): Promise<readonly Listener[]> {
  if (aip === undefined && aipJoin === undefined) return [];
  const { aipGateway, aipNode } = await import("../../adapters/aip/listeners.ts");
  // The agents listen where the gateway does, each on a port of its own.
  const host = `${aip?.slice(0, aip.lastIndexOf(":")) ?? "127.0.0.1"}:0`;
  const insecure = aipInsecure;
  return [
    ...(aip === undefined ? [] : [aipGateway({ host: aip, insecure, ...toAdvertised(aip) })]),
    ...(aipJoin === undefined ? [] : [aipNode({ gateway: aipJoin, host, insecure, ...toAdvertised(host) })]),
  ];
}

/** A wildcard address is no address for others: they get the name of this machine. */
function toAdvertised(address: string): { readonly advertise?: string } {
  const wildcard = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(address);
  return wildcard === null ? {} : { advertise: `${hostname()}:${wildcard[1]}` };
}
