import type { Adapter } from "../../http/adapter.ts";

/** The name of an HTTP protocol besides the native one. */
export type WireName = "agentic" | "agentscope" | "tasks";

/** Each adapter is loaded only if it is served. */
const LOADERS: { readonly [Name in WireName]: () => Promise<Adapter> } = {
  agentic: async () => (await import("../../adapters/agentic/index.ts")).agentic(),
  agentscope: async () => (await import("../../adapters/agentscope/index.ts")).agentscope(),
  tasks: async () => (await import("../../adapters/tasks/index.ts")).tasks(),
};

/** All protocols besides the native one. */
export const WIRES: readonly WireName[] = Object.keys(LOADERS) as WireName[];

/** Makes the adapters of some protocols. */
export function openWires(names: readonly WireName[]): Promise<Adapter[]> {
  return Promise.all([...new Set(names)].map((name) => LOADERS[name]()));
}
