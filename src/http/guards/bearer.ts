/** The token that a request sends as `Authorization: Bearer`; `undefined` for none, or for two. */
export function bearerOf(headers: Headers): string | undefined {
  return BEARER.exec(headers.get("authorization") ?? "")?.[1];
}

const BEARER = /^Bearer +([^\s,]+)$/i;
