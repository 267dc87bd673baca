import { hostname } from "node:os";
import { aipGateway, aipNode } from "../../adapters/aip/listeners.ts";
import type { Listener } from "../../node/listener.ts";
import type { ServerOptions } from "./server-options.ts";

/** The listeners for AIP that the options ask for. The gRPC packages are loaded when they start. */
export function toAipListeners({ aip, aipJoin, aipInsecure }: ServerOptions): readonly Listener[] {
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
