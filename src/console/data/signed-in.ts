import { useEffect, useState } from "preact/hooks";
import { isObject } from "../../protocol/json.ts";
import type { PageServer } from "./page-server.ts";

/** Who has signed in. */
export interface SignedIn {
  readonly name: string;
  readonly owner: string;
  /** Whether the page may end the session: not if a token says who it is. */
  readonly canEnd: boolean;
}

/** Where people sign in, if they can. The server has written it into the page. */
export function signInAddress(): string | undefined {
  return document.querySelector<HTMLMetaElement>('meta[name="troupe-sign-in"]')?.content;
}

/** The session of the person at the page. It is asked for again from time to time, which keeps it alive. */
export function useSignedIn(server: PageServer): SignedIn | undefined {
  const [session, setSession] = useState<SignedIn>();
  useEffect(() => {
    if (signInAddress() === undefined) return undefined;
    const ask = async (): Promise<void> => {
      // Everybody may ask this, so its answer does not show whether the others would be refused.
      const { json } = await server.wire.ask("GET", "/auth/session");
      setSession(toSignedIn(json));
    };
    const askQuietly = (): void => void ask().catch(() => undefined);
    askQuietly();
    const timer = setInterval(askQuietly, RENEW_MS);
    return () => clearInterval(timer);
  }, [server]);
  return session;
}

/** Ends the session, and the one at the provider if it offers that. */
export async function endSession(server: PageServer): Promise<void> {
  const { json } = await server.ask("POST", "/auth/logout");
  const next = isObject(json) && typeof json["next"] === "string" ? json["next"] : "./";
  location.assign(next);
}

const RENEW_MS = 600_000;

function toSignedIn(answer: unknown): SignedIn | undefined {
  const principal = isObject(answer) ? answer["principal"] : undefined;
  if (!isObject(answer) || !isObject(principal)) return undefined;
  const { id, name, owner } = principal;
  return {
    name: typeof name === "string" ? name : String(id),
    owner: typeof owner === "string" ? owner : "",
    canEnd: typeof answer["sign_out"] === "string",
  };
}
