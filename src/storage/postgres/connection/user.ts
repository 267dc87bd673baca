import { userInfo } from "node:os";

/** The user of an address without one, as psql finds it. The library asks only USER, which services often do not have. */
export function toUser(given?: string): { readonly user?: string } {
  const { PGUSER, USER } = process.env;
  const user = [given, PGUSER, USER].find((name) => name !== undefined && name !== "") ?? osUser();
  return user === undefined ? {} : { user };
}

/** The address with its user, because the library prefers an address without a user to the option. */
export function withUser(url: string, given?: string): string {
  const { user } = toUser(given);
  const hasUser = /^\w+:\/\/[^/?#]*@|[?&](?:user|service)=/.test(url);
  if (hasUser || user === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}user=${encodeURIComponent(user)}`;
}

/** The name of the user of this process; `undefined` if the system has no name for it. */
function osUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
