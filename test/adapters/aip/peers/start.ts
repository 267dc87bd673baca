import { createRuntime } from "troupe";
import type { Agent, CreateRuntimeOptions, Runtime } from "troupe";
import { createAipGateway } from "../../../../src/adapters/aip/index.ts";
import type { AipGateway, AipGatewayOptions } from "../../../../src/adapters/aip/index.ts";
import { Client } from "./client.ts";

/** A runtime, its gateway on a free port, and a client of the gateway. */
export interface Started extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly gateway: AipGateway;
  readonly client: Client;
  /** Another connection to the gateway. */
  open(): Client;
}

export async function start(
  agents: readonly Agent[],
  {
    runtime: more,
    ...options
  }: AipGatewayOptions & { readonly runtime?: Partial<CreateRuntimeOptions> } = {},
): Promise<Started> {
  const runtime = createRuntime({ ...more, agents });
  await runtime.ready();
  const gateway = createAipGateway(runtime, options);
  await gateway.start();
  const client = new Client(gateway.address);
  return {
    runtime,
    gateway,
    client,
    open: () => new Client(gateway.address),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await gateway.stop({ graceMs: 0 });
      await runtime.close();
    },
  };
}
