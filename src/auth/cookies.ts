/**
 * The value of a cookie of the server; `undefined` if the browser sends none, or two with the same name: then another site of
 * the same domain has planted one.
 */
export function cookieOf(request: Request, origin: string, name: string): string | undefined {
  const wanted = `${nameOf(origin, name)}=`;
  const found = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

/** The `Set-Cookie` header of a cookie that no page can read. Without milliseconds left it removes the cookie. */
export function toCookie(origin: string, name: string, value: string, ms: number): string {
  const secure = isSecure(origin) ? "; Secure" : "";
  const maxAge = Math.floor(ms / 1_000);
  return `${nameOf(origin, name)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}

/**
 * With https, the prefix keeps other sites of the domain and the network from setting it. On this machine ports share
 * cookies, so the name has the port.
 */
function nameOf(origin: string, name: string): string {
  return isSecure(origin) ? `__Host-troupe-${name}` : `troupe-${new URL(origin).port || "80"}-${name}`;
}

function isSecure(origin: string): boolean {
  return origin.startsWith("https:");
}
