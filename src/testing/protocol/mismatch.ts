/** Thrown by a case when the server does not follow the protocol. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";

  constructor(expected: string, came: unknown) {
    super(`expected ${expected}; came ${excerpt(came)}`);
  }
}

/** Throws a Mismatch unless the condition holds; `came` is the server's actual answer. */
export function check(condition: boolean, expected: string, came: unknown): asserts condition {
  if (!condition) throw new Mismatch(expected, came);
}

/** Throws a Mismatch unless two JSON values are equal; the order of keys does not matter. */
export function checkEqual(actual: unknown, wanted: unknown, what: string): void {
  if (canonical(actual) !== canonical(wanted)) {
    throw new Mismatch(`${what} to be ${excerpt(wanted)}`, actual);
  }
}

/** A short form of a value: a status with a body, a list of events, or JSON. */
function excerpt(value: unknown): string {
  if (Array.isArray(value) && value.length > 0 && value.every(isEventLike)) {
    return cut(`[${value.map((event) => `${String(event.id)} ${String(event.type)}`).join(", ")}]`);
  }
  if (typeof value === "object" && value !== null && "asked" in value && "status" in value) {
    const text = "text" in value && typeof value.text === "string" ? ` ${cut(value.text)}` : "";
    return `${String(value.status)}${text} on ${String(value.asked)}`;
  }
  if (value instanceof Error) return cut(value.message);
  return cut(JSON.stringify(value) ?? "nothing");
}

const EXCERPT_CHARS = 400;

function cut(text: string): string {
  return text.length <= EXCERPT_CHARS ? text : `${text.slice(0, EXCERPT_CHARS)}…`;
}

function isEventLike(value: unknown): value is { id: unknown; type: unknown } {
  return typeof value === "object" && value !== null && "id" in value && "type" in value;
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ) ?? "undefined"
  );
}
