/** A fault of a value and its place in the value. */
export interface Issue {
  /** The path from the root of the value, joined by dots; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** How a value is refused: not what was expected, cannot be stored as it is, or above a limit. */
export type RefusalKind = "invalid" | "unprocessable" | "too_large";

/** A fault of a JSON value that makes us refuse it, and how it is refused. */
export interface JsonIssue extends Issue {
  readonly kind: RefusalKind;
}

/**
 * Finds what makes a value unsafe to store and pass on: not JSON, too deep, too many keys, texts too long,
 * keys with a meaning in JavaScript, and texts that UTF-8 cannot represent. It stops at the first passed
 * limit and at 20 issues, so the work is bounded.
 */
export function checkJson(value: unknown): readonly JsonIssue[] {
  if (typeof value === "string" && isSafe(value)) return NONE;
  const walk: Walk = { path: [], issues: [], keys: 0, over: false };
  visit(value, walk);
  return walk.issues;
}

interface Walk {
  readonly path: (string | number)[];
  readonly issues: JsonIssue[];
  keys: number;
  /** Set when the walk must stop. */
  over: boolean;
}

const DEPTH_LIMIT = 32;
const KEYS_LIMIT = 10_000;
const TEXT_LIMIT = 256 * 1024;
const ISSUES_LIMIT = 20;
const STEP_LIMIT = 64;
const NONE: readonly JsonIssue[] = [];

// Recursion is bounded by the depth limit for every value.
function visit(value: unknown, walk: Walk): void {
  if (typeof value === "string") {
    if (!isSafe(value)) reportText(value, "", walk);
  } else if (typeof value === "number") {
    // JSON.parse reads 1e309 as Infinity, which JSON cannot represent.
    if (!Number.isFinite(value)) report("invalid", "is not a finite number", walk);
  } else if (Array.isArray(value)) {
    visitArray(value, walk);
  } else if (isPlainObject(value)) {
    visitObject(value, walk);
  } else if (value !== null && typeof value !== "boolean") {
    report("invalid", "is not a JSON value", walk);
  }
}

function visitArray(items: readonly unknown[], walk: Walk): void {
  if (isTooDeep(walk)) return;
  for (let index = 0; index < items.length && !walk.over; index += 1) {
    walk.path.push(index);
    visit(items[index], walk);
    walk.path.pop();
  }
}

/** The keys that no object of a request may have: careless code of an agent could change all objects by them. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

function visitObject(object: { readonly [key: string]: unknown }, walk: Walk): void {
  if (isTooDeep(walk)) return;
  const keys = Object.keys(object);
  walk.keys += keys.length;
  if (walk.keys > KEYS_LIMIT) {
    report("too_large", `has more than ${KEYS_LIMIT} keys within`, walk);
    return;
  }
  for (const key of keys) {
    if (walk.over) return;
    walk.path.push(key);
    if (FORBIDDEN_KEYS.has(key)) {
      report("invalid", "is a key that is not allowed", walk);
    } else {
      if (!isSafe(key)) reportText(key, "has a key that ", walk);
      visit(object[key], walk);
    }
    walk.path.pop();
  }
}

function isTooDeep(walk: Walk): boolean {
  if (walk.path.length < DEPTH_LIMIT) return false;
  report("too_large", `is nested deeper than ${DEPTH_LIMIT} levels`, walk);
  return true;
}

function isSafe(text: string): boolean {
  return text.length <= TEXT_LIMIT && text.isWellFormed() && !text.includes("\u0000");
}

function isPlainObject(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function reportText(text: string, prefix: string, walk: Walk): void {
  if (text.length > TEXT_LIMIT) {
    report("too_large", `${prefix}is longer than ${TEXT_LIMIT} characters`, walk);
  } else if (text.isWellFormed()) {
    report("unprocessable", `${prefix}contains a NUL character`, walk);
  } else {
    report("unprocessable", `${prefix}contains half of a surrogate pair`, walk);
  }
}

function report(kind: RefusalKind, message: string, walk: Walk): void {
  const path = walk.path.map((step) => String(step).slice(0, STEP_LIMIT).toWellFormed()).join(".");
  walk.issues.push({ kind, path, message });
  if (kind === "too_large" || walk.issues.length >= ISSUES_LIMIT) walk.over = true;
}
