import type { KeptVersion } from "../../ports/version-store.ts";

/** Reads the stored form of a kept version; `undefined` for a text that is none. */
export function parseKeptVersion(text: string): KeptVersion | undefined {
  try {
    const version = JSON.parse(text) as Partial<KeptVersion>;
    return isWhole(version) ? (version as KeptVersion) : undefined;
  } catch {
    return undefined;
  }
}

function isWhole({ id, keptAt, entry, agents, files }: Partial<KeptVersion>): boolean {
  const isKnown = typeof id === "string" && DIGEST.test(id) && typeof keptAt === "number";
  if (!isKnown || !Array.isArray(agents) || typeof files !== "object" || files === null) return false;
  const paths = Object.entries(files as Readonly<Record<string, unknown>>);
  const areSafe = paths.every(([path, digest]) => PATH.test(path) && DIGEST.test(String(digest)));
  return areSafe && typeof entry === "string" && Object.hasOwn(files, entry);
}

const DIGEST = /^[0-9a-f]{64}$/;

/** A path below a folder, of names that do not begin with a dot. Nothing else is ever written or loaded. */
const PATH = /^(?:[^./\\:\0][^/\\:\0]*\/)*[^./\\:\0][^/\\:\0]*$/;
