import type { Readiness, ReadinessPart, ReadinessProbe } from "../ports/readiness.ts";

/** Creates an empty list of parts. */
export function createReadiness(): Readiness {
  const probes = new Set<ReadinessProbe>();
  return {
    parts: () => Array.from(probes, ask).flat(),
    add(probe) {
      // A probe that is added twice is two parts, each with its own end.
      const added: ReadinessProbe = () => probe();
      probes.add(added);
      return () => void probes.delete(added);
    },
  };
}

/** Why a process should get no requests: what the first part says that has failed; `undefined` if none has. */
export function whyNotReady(parts: readonly ReadinessPart[]): string | undefined {
  const failed = parts.find(({ state }) => state === "failed");
  return failed && (failed.detail ?? `${failed.name} is not ready`);
}

/** Asks a probe, which may be the code of a tool and thus do anything. */
function ask(probe: ReadinessProbe): readonly ReadinessPart[] {
  try {
    const said: unknown = probe();
    if (said instanceof Promise) said.catch(() => {});
    return (Array.isArray(said) ? said.slice(0, PARTS_LIMIT) : [said]).map(toPart);
  } catch {
    return [UNKNOWN];
  }
}

function toPart(said: unknown): ReadinessPart {
  const { name, state, detail } = Object(said) as Partial<Record<keyof ReadinessPart, unknown>>;
  if (typeof name !== "string" || typeof state !== "string" || !STATES.has(state)) return UNKNOWN;
  return {
    name: name.slice(0, NAME_LENGTH),
    state: state as ReadinessPart["state"],
    ...(typeof detail === "string" && { detail: detail.slice(0, DETAIL_LENGTH) }),
  };
}

const STATES: ReadonlySet<string> = new Set<ReadinessPart["state"]>(["ready", "degraded", "failed"]);
const UNKNOWN: ReadinessPart = {
  name: "unknown",
  state: "degraded",
  detail: "a part of the server cannot say how it is",
};
const PARTS_LIMIT = 100;
const NAME_LENGTH = 64;
const DETAIL_LENGTH = 1_000;
