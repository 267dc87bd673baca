import { AgentError } from "../../errors.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
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
    options: {
      readonly report: (message: string, thrown: unknown) => void;
      readonly authenticated: boolean;
    },
  ): Promise<{
    readonly address: string;
    trouble?(): string | undefined;
    close(options: { readonly graceMs: number }): Promise<void>;
  }>;
}

/** How AIP, which does not ask who makes a request, is served beside a server that does. */
export interface AipAccess {
  /**
   * Lets everyone who can connect use the agents as a user of the owner `default`, although the server has `authenticate` or a
   * token. Default false: it refuses to start there, with `forbidden`.
   */
  readonly open?: boolean | undefined;
}

/** What clients of AIP work with. */
function openTo(runtime: Runtime, authenticated: boolean, { open = false }: AipAccess): Runtime {
  if (!authenticated) return runtime;
  if (open) return runtime.as({ id: "aip", owner: DEFAULT_OWNER, roles: ["user"] });
  throw new AgentError("forbidden", "AIP has no authentication, and this server asks who makes a request", {
    hint: "leave AIP out, or let everyone who can connect work as a user of the owner default (--aip-open, or the option open)",
  });
}

/** A gateway that starts and stops with the server. */
export function aipGateway({
  open,
  ...options
}: Omit<AipGatewayOptions, "report"> & AipAccess = {}): AipListener {
  return {
    name: "aip",
    async listen(runtime, { report, authenticated }) {
      const note = (message: string, thrown?: unknown): void => report(message, thrown);
      const gateway = createAipGateway(openTo(runtime, authenticated, { open }), {
        ...options,
        report: note,
      });
      await gateway.start();
      return { address: gateway.address, close: (how) => gateway.stop(how) };
    },
  };
}

/** Membership of another gateway that starts and ends with the server. */
export function aipNode({
  open,
  ...options
}: Omit<JoinAipGatewayOptions, "report"> & AipAccess): AipListener {
  return {
    name: "aip-join",
    async listen(runtime, { report, authenticated }) {
      const note = (message: string, thrown?: unknown): void => report(message, thrown);
      const node = await joinAipGateway(openTo(runtime, authenticated, { open }), {
        ...options,
        report: note,
      });
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
