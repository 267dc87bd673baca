import type { ApiOperation } from "./operations.ts";

/** What a person has filled in for an operation. */
export interface ApiDraft {
  /** The agent below whose path the request is sent; empty for the root. */
  readonly agent: string;
  /** The parameters by name; an empty one is left out. */
  readonly values: Readonly<Record<string, string>>;
}

/** The address of a request below that of the server, and its headers. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes the request of an operation. */
export function toApiRequest(
  { method, path, parameters, isOfAgent }: ApiOperation,
  { agent, values }: ApiDraft,
): ApiRequest {
  const given = parameters.flatMap((parameter) => {
    const value = values[parameter.name] ?? "";
    return value === "" ? [] : [{ ...parameter, value }];
  });
  const below = isOfAgent && agent !== "" ? `/${encodeURIComponent(agent)}` : "";
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const query = new URLSearchParams(
    given.filter((one) => one.in === "query").map(({ name, value }): [string, string] => [name, value]),
  ).toString();
  const headers = given.filter((one) => one.in === "header").map(({ name, value }) => [name, value] as const);
  return {
    method,
    path: `${below}${filled}${query === "" ? "" : `?${query}`}`,
    headers: Object.fromEntries(headers),
  };
}

/** The names of the required parameters that are not filled in. */
export function missingIn({ parameters }: ApiOperation, { values }: ApiDraft): readonly string[] {
  return parameters
    .filter(({ name, isRequired }) => isRequired && (values[name] ?? "") === "")
    .map(({ name }) => name);
}
