import type { Agent, Operation, Operations } from "../../../runtime/agent/agent.ts";
import { markAgent } from "../../../runtime/agent/definition/check-definition.ts";
import { defineAgent } from "../../../runtime/agent/definition/define.ts";
import { anyValue, handwrittenSchema } from "../../../runtime/agent/definition/handwritten-schema.ts";
import type { RemoteHandler } from "../../../runtime/agent/remote-port.ts";
import type { ToolInfo } from "../wire/messages.ts";
import { readToolArguments } from "../wire/tool-arguments.ts";
import { NodeDescription } from "./description.ts";
import { NodeConnection } from "./node-connection.ts";
import type { AipTarget } from "./node-connection.ts";
import { callFarTool } from "./tool-call.ts";

/** What the tools of an AIP toolbox are called with. */
export interface AipToolboxOptions extends AipTarget {
  /** The local name of the toolbox. Default: its id. */
  readonly name?: string;
  /** What it is for, until the gateway has told it. */
  readonly purpose?: string;
}

/**
 * Makes a local agent of a toolbox that is reached over AIP: each tool is an operation. A gateway lists the tools;
 * without one any name may be called. A call that was sent before a crash ends as `interrupted`.
 */
export function aipToolbox({ name, purpose, ...target }: AipToolboxOptions): Agent {
  const node = new NodeConnection(target);
  const local = defineAgent({
    name: name ?? target.id,
    purpose: purpose ?? "A toolbox reached over AIP, whose description is not loaded yet.",
    chat() {},
  });
  const description = new NodeDescription(node);
  const remote: RemoteHandler = {
    get known() {
      return description.peer !== undefined;
    },
    ready: () => description.ready(),
    perform(asked, session) {
      void description.ready();
      return callFarTool(node, local.name, asked, session);
    },
    // The call has ended with the process that made it.
    abandon() {},
  };
  return markAgent({
    ...local,
    remote,
    get purpose() {
      return purpose ?? (description.peer?.toolbox_info?.description || local.purpose);
    },
    get operations() {
      return toOperations(description.peer?.toolbox_info?.tools ?? []);
    },
  });
}

/** The most tools of a toolbox. */
const TOOLS_LIMIT = 256;

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

function toOperations(tools: readonly ToolInfo[]): Operations {
  const known = tools.filter(({ name }) => NAME.test(name)).slice(0, TOOLS_LIMIT);
  return Object.fromEntries(known.map((tool) => [tool.name, toOperation(tool)]));
}

function toOperation({ description, arguments: text }: ToolInfo): Operation {
  const taken = readToolArguments(text);
  const input = "schema" in taken ? handwrittenSchema((value) => ({ value }), taken.schema) : anyValue;
  const note = "text" in taken && taken.text !== "" ? `${description} Arguments: ${taken.text}` : description;
  return { description: note.trim(), input, run: notHere };
}

/** The remote call replaces this. */
function notHere(): never {
  throw new Error("the tools of a far toolbox are called over AIP");
}
