import type { JsonObject } from "../../../protocol/json.ts";
import type { AgentScopeObject, MessageObject, ResponseObject } from "../objects.ts";
import { toCamel, toJavaType, toSnake, toMessageType } from "./names.ts";

/** An object as the Java edition of the protocol writes it. */
export type JavaObject = { readonly [key: string]: unknown };

/**
 * Writes an object as the Java edition does: camelCase keys, types of messages in upper case, times in milliseconds,
 * empty lists in place of null. Nothing inside `data`, `metadata`, `usage` and `error` changes.
 */
export function toJava(object: AgentScopeObject): JavaObject {
  return encode(object);
}

/** Reads an object of the Java edition. It is the inverse of `toJava` for times in whole seconds. */
export function fromJava(object: JavaObject): AgentScopeObject {
  return decode(object) as unknown as AgentScopeObject;
}

function encode(object: AgentScopeObject): JavaObject {
  const fields = renamed(object as unknown as JsonObject, toCamel);
  switch (object.object) {
    case "response":
      return { ...fields, ...encodedTimes(object), output: (object.output ?? []).map(encode) };
    case "message":
      return { ...fields, type: toJavaType(object.type), content: (object.content ?? []).map(encode) };
    case "content":
      return fields;
    default: {
      const never: never = object;
      return never;
    }
  }
}

function encodedTimes({ created_at, completed_at }: ResponseObject): JavaObject {
  return { createdAt: toMs(created_at), completedAt: toMs(completed_at) };
}

function decode(object: JavaObject): JavaObject {
  const fields = renamed(object, toSnake);
  switch (fields["object"]) {
    case "response": {
      const { created_at, completed_at, output } = fields as unknown as ResponseObject;
      return {
        ...fields,
        created_at: toSeconds(created_at),
        completed_at: toSeconds(completed_at),
        output: decodedList(output),
      };
    }
    case "message": {
      const { type, content } = fields as unknown as MessageObject;
      return { ...fields, type: toMessageType(type), content: decodedList(content) };
    }
    default:
      return fields;
  }
}

/** Only the keys of the object itself are renamed; its values are copied as they are. */
function renamed(object: JavaObject, rename: (key: string) => string): { readonly [key: string]: unknown } {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [rename(key), value]));
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 1_000);
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1_000);
}

/** The Java edition has no null list, so an empty one stands for both. */
function decodedList(list: readonly object[] | null): readonly JavaObject[] | null {
  return list === null || list.length === 0 ? null : list.map((item) => decode(item as JavaObject));
}
