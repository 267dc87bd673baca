import type { Runtime } from "../../runtime/api.ts";
import { createAipGateway } from "./gateway/gateway.ts";
import type { AipGatewayOptions } from "./gateway/gateway.ts";
import { joinAipGateway } from "./node/join.ts";
import type { JoinAipGatewayOptions } from "./node/join.ts";

/** AIP as a protocol with a socket of its own, for the `listeners` of a server. */
export interface AipListener {
  readonly name: string;
  listen(
    runtime: Runtime,
    options: { readonly report: (message: string, thrown: unknown) => void },
  ): Promise<{
    readonly address: string;
    trouble?(): string | undefined;
    close(options: { readonly graceMs: number }): Promise<void>;
  }>;
}

/** A gateway that starts and stops with the server. */
export function aipGateway(options: Omit<AipGatewayOptions, "report"> = {}): AipListener {
  return {
    name: "aip",
    async listen(runtime, { report }) {
      const note = (message: string, thrown?: unknown): void => report(message, thrown);
      const gateway = createAipGateway(runtime, { ...options, report: note });
      await gateway.start();
      return { address: gateway.address, close: (how) => gateway.stop(how) };
    },
  };
}

/** Membership of another gateway that starts and ends with the server. */
export function aipNode(options: Omit<JoinAipGatewayOptions, "report">): AipListener {
  return {
    name: "aip-join",
    async listen(runtime, { report }) {
      const note = (message: string, thrown?: unknown): void => report(message, thrown);
      const node = await joinAipGateway(runtime, { ...options, report: note });
      const nodes = [...node.addresses].map(([agent, address]) => `${agent} ${address}`);
      return {
        address: `${options.gateway} (${nodes.join(", ")})`,
        trouble() {
          const lost = node.lost();
          return lost.length === 0 ? undefined : `the AIP gateway has lost agent ${lost.join(", ")}`;
        },
        close: (how) => node.stop(how),
      };
    },
  };
}
