import type { Runtime } from "../../../runtime/api.ts";
import { TOOLBOX, toAgentInfo, toToolBoxInfo } from "../session/own-nodes.ts";
import type { Registry } from "./registry.ts";

/**
 * Adds the agents of the runtime and the toolbox with their operations. The descriptions are read when they are sent,
 * because those of remote agents change.
 */
export function addOwnNodes(registry: Registry, runtime: Runtime, address: string): void {
  for (const id of runtime.agents) {
    registry.put({
      id,
      kind: "agent",
      origin: "own",
      get peer() {
        return { agent_info: toAgentInfo(runtime, id, address) };
      },
    });
  }
  registry.put({
    id: TOOLBOX,
    kind: "toolbox",
    origin: "own",
    get peer() {
      return { toolbox_info: toToolBoxInfo(runtime, address) };
    },
  });
}
