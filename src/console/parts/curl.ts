/** A request as a person would send it from a shell. */
export interface ShellRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The type of the body, and its text or the name of its file. */
  readonly body?: ShellBody | undefined;
  /** Whether the answer comes piece by piece. */
  readonly isStream?: boolean;
  /** Whether the server requires a token. The command takes it from the environment, and never contains it. */
  readonly hasToken?: boolean;
}

export type ShellBody =
  | { readonly type: string; readonly text: string }
  | { readonly type: string; readonly file: string };

/** A request as a command for a shell. */
export function toCurl(request: ShellRequest): string {
  const { method, url, headers = {}, body, isStream = false, hasToken = false } = request;
  const isUsual = method === (body === undefined ? "GET" : "POST");
  return [
    isStream ? "curl -N" : "curl",
    ...(isUsual ? [] : [`-X ${method}`]),
    quote(url),
    ...(hasToken ? ['-H "authorization: Bearer $TROUPE_TOKEN"'] : []),
    ...Object.entries(headers).map(toHeader),
    ...(body === undefined ? [] : [toHeader(["content-type", body.type]), toData(body)]),
  ].join(" ");
}

function toHeader([name, value]: readonly [name: string, value: string]): string {
  return `-H ${quote(`${name}: ${value}`)}`;
}

function toData(body: ShellBody): string {
  return "file" in body ? `--data-binary ${quote(`@${body.file}`)}` : `-d ${quote(body.text)}`;
}

/** A text as one word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
