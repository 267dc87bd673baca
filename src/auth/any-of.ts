import { AgentError, isInstance } from "../errors.ts";
import type { Authenticate, Authenticator } from "../ports/principal.ts";
import type { SecretStore } from "../ports/secret-store.ts";

/**
 * Combines several checks: a request is that of the first one that knows it, in the order given. A check that cannot tell at
 * present (`unavailable`) does not keep the others from being asked; if none knows the request, its error is thrown.
 */
export function anyOf(...checks: readonly Authenticate[]): Authenticator {
  const authenticate: Authenticate = async (request, source) => {
    let trouble: AgentError | undefined;
    for (const check of checks) {
      try {
        const principal = await check(request, source);
        if (principal !== undefined) return principal;
      } catch (thrown) {
        if (!isInstance(thrown, AgentError) || thrown.code !== "unavailable") throw thrown;
        trouble ??= thrown;
      }
    }
    if (trouble !== undefined) throw trouble;
    return undefined;
  };
  const parts: readonly Authenticator[] = checks;
  return Object.assign(authenticate, {
    roots: parts.flatMap(({ roots = [] }) => roots),
    async answer(...[request, visit]: Parameters<NonNullable<Authenticator["answer"]>>) {
      for (const { answer } of parts) {
        const response = await answer?.(request, visit);
        if (response !== undefined) return response;
      }
      return undefined;
    },
    signIn: parts.find(({ signIn }) => signIn !== undefined)?.signIn,
    keepIn: (secrets: SecretStore) => {
      for (const part of parts) part.keepIn?.(secrets);
    },
    isVisited: (path: string) => parts.some((part) => part.isVisited?.(path) === true),
  });
}
