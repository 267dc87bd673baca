/** A request as a person would send it from a shell. */
export interface ShellRequest {
  readonly method: string;
  readonly url: string;
  /** The body as text, and its type. */
  readonly body?: { readonly type: string; readonly text: string };
  /** Whether the answer comes piece by piece. */
  readonly isStream?: boolean;
  /** Whether the server wants a token. The command takes it from the environment, and never contains it. */
  readonly hasToken?: boolean;
}

/** A request as a command for a shell. */
export function toCurl({ method, url, body, isStream = false, hasToken = false }: ShellRequest): string {
  const isUsual = method === (body === undefined ? "GET" : "POST");
  return [
    isStream ? "curl -N" : "curl",
    ...(isUsual ? [] : [`-X ${method}`]),
    quote(url),
    ...(hasToken ? ['-H "authorization: Bearer $TROUPE_TOKEN"'] : []),
    ...(body === undefined ? [] : [`-H ${quote(`content-type: ${body.type}`)}`, `-d ${quote(body.text)}`]),
  ].join(" ");
}

/** A text as one word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
