import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { fieldOf } from "../../errors.ts";
import type { Adapter } from "../../http/adapter.ts";
import type { Push } from "../../http/push.ts";
import { isObject } from "../../protocol/json.ts";
import { EXIT, Exit } from "../exit.ts";
import { toThrownText } from "../thrown-text.ts";

/** What the server has for its wires. */
export interface WireSettings {
  /** Sends what the clients of a wire want to be told elsewhere. */
  readonly push?: Push | undefined;
}

/** Each adapter of the package is loaded only if it is served. */
const LOADERS = {
  a2a: async ({ push }) => (await import("../../adapters/a2a/index.ts")).a2a({ ...(push && { push }) }),
  "ag-ui": async () => (await import("../../adapters/ag-ui/index.ts")).agUi(),
  agentic: async () => (await import("../../adapters/agentic/index.ts")).agentic(),
  agentscope: async () => (await import("../../adapters/agentscope/index.ts")).agentscope(),
  mcp: async () => (await import("../../adapters/mcp/index.ts")).mcp(),
  openai: async () => (await import("../../adapters/openai/index.ts")).openai(),
  tasks: async () => (await import("../../adapters/tasks/index.ts")).tasks(),
  ui: async () => (await import("../../adapters/ui/index.ts")).ui(),
} satisfies { readonly [name: string]: (settings: WireSettings) => Promise<Adapter> };

/** The packages of protocols that an installation need not have. */
const PEERS: { readonly [wire: string]: string } = {
  a2a: "@a2a-js/sdk",
  mcp: "@modelcontextprotocol/server",
};

/** The HTTP protocols of the package besides the native one. */
export const WIRES: readonly string[] = Object.keys(LOADERS);

/** Those that are served without being named: they need no more packages. */
export const DEFAULT_WIRES: readonly string[] = WIRES.filter((name) => PEERS[name] === undefined);

/** Whether a name is the path of a file with an adapter. */
export function isWireFile(name: string): boolean {
  return /^\.{0,2}[\\/]|^[a-z]:[\\/]/i.test(name);
}

/** Makes the adapters of some protocols, each named as in the package or by the path of a file whose default export is one. */
export async function openWires(names: readonly string[], settings: WireSettings = {}): Promise<Adapter[]> {
  const adapters = await Promise.all([...new Set(names)].map((name) => openWire(name, settings)));
  const taken = adapters.find(
    ({ name }, index) => adapters.findIndex((other) => other.name === name) < index,
  );
  if (taken === undefined) return adapters;
  throw new Exit(EXIT.refused, `two wires have the name ${taken.name}`, "give one of them another name");
}

async function openWire(name: string, settings: WireSettings): Promise<Adapter> {
  if (!isWireFile(name)) return loadWire(name as keyof typeof LOADERS, settings);
  let exported: unknown;
  try {
    const file = (await import(pathToFileURL(resolve(name)).href)) as { readonly default?: unknown };
    exported =
      typeof file.default === "function"
        ? await (file.default as (settings: WireSettings) => unknown)(settings)
        : file.default;
  } catch (thrown) {
    throw new Exit(EXIT.refused, `the wire ${name} does not load`, toThrownText(thrown));
  }
  if (isAdapter(exported)) return exported;
  const hint =
    'export default { name, roots, owns, toRefusal, addRoutes }, an Adapter of "troupe/http", or a function that makes one';
  throw new Exit(EXIT.refused, `the default export of ${name} is no adapter`, hint);
}

async function loadWire(name: keyof typeof LOADERS, settings: WireSettings): Promise<Adapter> {
  try {
    return await LOADERS[name](settings);
  } catch (thrown) {
    const peer = PEERS[name];
    if (peer === undefined || fieldOf(thrown, "code") !== "ERR_MODULE_NOT_FOUND") throw thrown;
    throw new Exit(EXIT.refused, `the wire ${name} needs the package ${peer}`, `npm install ${peer}`);
  }
}

function isAdapter(exported: unknown): exported is Adapter {
  if (!isObject(exported)) return false;
  const { name, roots, owns, toRefusal, addRoutes } = exported;
  return (
    typeof name === "string" &&
    Array.isArray(roots) &&
    roots.every((root) => typeof root === "string") &&
    [owns, toRefusal, addRoutes].every((method) => typeof method === "function")
  );
}
