import type { Context } from "hono";
import { basePath } from "hono/route";
import { AgentError } from "../../errors.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import { nodeOf } from "./app-env.ts";
import type { AppEnv } from "./app-env.ts";

/**
 * Where clients reach the app. It can be mounted below a prefix: by `app.route` of Hono, by `app.use` of Express, or by
 * a trusted proxy that removes the prefix and sends it as `X-Forwarded-Prefix`.
 */
export interface Mount {
  /** The prefix; empty at the root. */
  prefixOf(c: Context<AppEnv>): string;
  /** The path of a request, with the prefix. */
  pathOf(c: Context<AppEnv>): string;
  /**
   * The absolute address of a path of the app, as the client of a request reaches it: by the host that it has asked and, behind a
   * trusted proxy, `X-Forwarded-Proto`, `-Host` and `-Prefix`.
   */
  addressOf(c: Context<AppEnv>, path: string): string;
}

/** Finds out the mount of each request. */
export function createMount(trustProxy: boolean): Mount {
  /** The part of the prefix that was removed before the app got the request. */
  function removedOf(c: Context<AppEnv>): string {
    const forwarded = trustProxy ? (c.req.header("x-forwarded-prefix") ?? "") : "";
    const { baseUrl = "" } = (nodeOf(c)?.incoming ?? {}) as { readonly baseUrl?: string };
    return toPrefix(forwarded) + toPrefix(baseUrl);
  }

  function prefixOf(c: Context<AppEnv>): string {
    return removedOf(c) + routeBaseOf(c);
  }

  function schemeOf(c: Context<AppEnv>): string {
    // A proxy behind another one adds its own after a comma.
    const [forwarded = ""] = trustProxy ? (c.req.header("x-forwarded-proto") ?? "").split(",") : [];
    const scheme = forwarded.trim().toLowerCase();
    if (scheme === "https" || scheme === "http") return scheme;
    const socket = nodeOf(c)?.incoming.socket as { readonly encrypted?: boolean } | undefined;
    if (socket !== undefined) return socket.encrypted === true ? "https" : "http";
    return new URL(c.req.url).protocol.slice(0, -1);
  }

  return {
    prefixOf,
    pathOf: (c) => removedOf(c) + c.req.path,
    addressOf: (c, path) => `${schemeOf(c)}://${hostOf(c, trustProxy)}${prefixOf(c)}${path}`,
  };
}

/** The host that a request is addressed to, in lower case; throws `invalid_request` for none or several. */
export function hostOf(c: Context<AppEnv>, trustProxy: boolean): string {
  const forwarded = trustProxy ? c.req.header("x-forwarded-host") : undefined;
  const host = forwarded ?? c.req.header("host");
  if (host !== undefined && host !== "") {
    // Two Host headers are joined by a comma, which no host contains.
    if (host.includes(","))
      throw new AgentError("invalid_request", "the request has more than one Host header");
    return host.toLowerCase();
  }
  if (nodeOf(c) !== undefined) throw new AgentError("invalid_request", "the request has no Host header");
  // A request in process has no header, only the URL.
  return new URL(c.req.url).host;
}

/** The path of a request below the route where the app is mounted. */
export function pathIn(c: Context<AppEnv>): string {
  const path = c.req.path.slice(routeBaseOf(c).length);
  return path === "" ? "/" : path;
}

/**
 * An encoded event as clients below a prefix get it. The log has the URL of a file without a prefix, because the same
 * log can be served below another one.
 */
export function withPrefix(event: string, prefix: string): string {
  if (prefix === "" || !ABOUT_FILES.has(typeOf(event))) return event;
  // Inside a JSON string a quote is escaped, so this sequence is the field itself.
  return event.replace('"url":"/artifacts/', `"url":"${prefix}/artifacts/`);
}

const ABOUT_FILES: ReadonlySet<EventType> = new Set(["ArtifactGenerated", "ArtifactUploaded"]);

function routeBaseOf(c: Context<AppEnv>): string {
  const base = basePath(c);
  return base === "/" ? "" : base;
}

/** A path that can stand in a URL and in a JSON string as it is; any other is ignored. */
function toPrefix(path: string): string {
  return /^(?:\/[\w.~%-]+)+\/?$/.test(path) ? path.replace(/\/$/, "") : "";
}
