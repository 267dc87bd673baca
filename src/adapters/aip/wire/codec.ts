import type { Options, PackageDefinition } from "@grpc/proto-loader";
import type { MessageName, MessageTypes } from "./messages.ts";

/** Converts messages of one type to bytes and back. */
export interface Codec<Message> {
  encode(message: Message): Buffer;
  /** Absent fields have their default value. Throws if the bytes are not such a message. */
  decode(bytes: Buffer): Message;
}

/** The codecs of all messages, by name. */
export type Codecs = { readonly [Name in MessageName]: Codec<MessageTypes[Name]> };

/** How the library represents decoded messages. */
export const DECODED: Options = {
  keepCase: true,
  longs: String,
  enums: Number,
  defaults: true,
  oneofs: true,
};

/** Makes the codecs from the loaded schema. */
export function createCodecs(schema: PackageDefinition): Codecs {
  const entries = Object.entries(schema).flatMap(([path, definition]): [string, Codec<unknown>][] => {
    if (!("serialize" in definition) || !("deserialize" in definition)) return [];
    const { serialize, deserialize } = definition as MessageDefinition;
    const encode = (message: unknown): Buffer => serialize(withoutDefaults(message as Fields));
    return [[path.slice(path.indexOf(".") + 1), { encode, decode: deserialize }]];
  });
  return Object.fromEntries(entries) as unknown as Codecs;
}

/**
 * A copy without the fields that have their default value, because the library would write them. Fields of a
 * `oneof` stay: their presence says which one is set. Enum numbers that the schema does not have are left out,
 * because some peers fail on them.
 */
function withoutDefaults(message: Fields): Fields {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    const pruned = pruneField(name, value);
    if (pruned !== undefined) kept[name] = pruned;
  }
  return kept;
}

function pruneField(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  const isOneOf = ONE_OF.has(name);
  const last = LAST_NUMBER.get(name);
  if (Array.isArray(value)) {
    const items = last === undefined ? value.map(pruneItem) : value.filter((item) => isKnown(item, last));
    return items.length === 0 ? undefined : items;
  }
  if (typeof value === "object") return pruneItem(value);
  if (last !== undefined && !isKnown(value, last)) return undefined;
  return isOneOf || (value !== "" && value !== 0 && value !== false) ? value : undefined;
}

function pruneItem(item: unknown): unknown {
  return typeof item === "object" && item !== null && !(item instanceof Uint8Array)
    ? withoutDefaults(item as Fields)
    : item;
}

function isKnown(value: unknown, last: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= last;
}

/** The fields of all `oneof`s; no other message has a field of such a name. */
const ONE_OF: ReadonlySet<string> = new Set([
  "text",
  "image",
  "audio",
  "embedded",
  "agent_info",
  "toolbox_info",
]);

/** The highest number of the enum of each enum field. */
const LAST_NUMBER: ReadonlyMap<string, number> = new Map([
  ["input_mode", 3],
  ["output_mode", 3],
  ["task_status", 4],
  ["session_status", 4],
  ["update_type", 2],
]);

type Fields = Readonly<Record<string, unknown>>;

interface MessageDefinition {
  readonly serialize: (message: object) => Buffer;
  readonly deserialize: (bytes: Buffer) => unknown;
}
