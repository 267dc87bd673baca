import { randomBytes } from "node:crypto";
import type { Authenticated, Principal } from "../ports/principal.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Fields, JsonObject } from "../protocol/json.ts";
import { TextSigner } from "../runtime/secrets/text-signer.ts";
import { AUTH } from "../runtime/secrets/secret-prefixes.ts";
import { memorySecrets } from "../storage/memory/secrets.ts";
import { LruMap } from "../shared/lru-map.ts";

/** What a browser must bring back to end a sign-in. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Options of `BrowserSessions`. */
export interface BrowserSessionsOptions {
  /** How long a person stays signed in at most. */
  readonly sessionMs: number;
  readonly secrets?: SecretStore | undefined;
  readonly now?: () => number;
}

/**
 * The sessions of people in browsers. A session is a signed cookie, which is renewed while its page is used; the server keeps
 * only the ids of those that were ended before their time.
 */
export class BrowserSessions {
  readonly #sessionMs: number;
  readonly #now: () => number;
  #secrets: SecretStore;
  readonly #isOwnStore: boolean;
  #signer: TextSigner;
  readonly #ended = new LruMap<string, Checked>(CHECKED_LIMIT);

  constructor({ sessionMs, secrets, now = Date.now }: BrowserSessionsOptions) {
    this.#sessionMs = sessionMs;
    this.#now = now;
    this.#isOwnStore = secrets === undefined;
    this.#secrets = secrets ?? memorySecrets();
    this.#signer = new TextSigner(this.#secrets, newId);
  }

  /** Keeps the keys in a store, unless the options have named one. */
  keepIn(secrets: SecretStore): void {
    if (!this.#isOwnStore) return;
    this.#secrets = secrets;
    this.#signer = new TextSigner(secrets, newId);
  }

  /** The cookie of a sign-in that begins. Each has its own, so several tabs do not disturb each other. */
  async startAttempt(origin: string, attempt: SignInAttempt): Promise<string> {
    const text = await this.#signer.sign("sign-in", { ...attempt, expires: this.#now() + ATTEMPT_MS });
    return toCookie(origin, attemptName(attempt.state), text, ATTEMPT_MS);
  }

  /** The sign-in that a browser comes back from; `undefined` if it has not begun one with this state, or too long ago. */
  async attemptOf(request: Request, origin: string, state: string): Promise<SignInAttempt | undefined> {
    const text = STATE.test(state) ? cookieOf(request, origin, attemptName(state)) : undefined;
    const fields = text === undefined ? undefined : await this.#signer.read("sign-in", text);
    if (fields === undefined || fields["state"] !== state || this.#isPast(fields["expires"]))
      return undefined;
    return fields as unknown as SignInAttempt;
  }

  /** The cookie that ends a sign-in: it works once. */
  endAttempt(origin: string, state: string): string {
    return toCookie(origin, attemptName(state), "", 0);
  }

  /** The cookie of a new session. */
  start(origin: string, { id, owner, roles, name }: Principal): Promise<string> {
    const principal = { id, owner, roles: [...roles], ...(name !== undefined && { name }) };
    return this.#issue(origin, { session: newId(), until: this.#now() + this.#sessionMs, principal });
  }

  /** Whose session the cookie of a request is, if it has one. */
  async principalOf(request: Request, origin: string): Promise<Authenticated | undefined> {
    const fields = await this.#read(request, origin);
    if (fields === undefined) return undefined;
    const session = String(fields["session"]);
    return {
      ...(fields["principal"] as Principal),
      expiresAt: fields["expires"] as number,
      isValid: async () => !(await this.#isEnded(session)),
    };
  }

  /** Whether a request has a session, with a new cookie for it if its own was issued some minutes ago. */
  async renew(request: Request, origin: string): Promise<{ readonly cookie?: string } | undefined> {
    const fields = await this.#read(request, origin);
    if (fields === undefined) return undefined;
    if (this.#now() - (fields["issued"] as number) < RENEWED_AFTER_MS) return {};
    const { session, until, principal } = fields as JsonObject;
    return { cookie: await this.#issue(origin, { session, until, principal } as SessionFields) };
  }

  /** Ends the session of a request, on all nodes within two seconds, and returns the cookie that removes it. */
  async end(request: Request, origin: string): Promise<string> {
    const fields = await this.#read(request, origin);
    if (fields !== undefined) {
      const session = String(fields["session"]);
      await this.#secrets.put({ [ENDED + session]: String(fields["until"]) });
      this.#ended.set(session, { isEnded: true, at: performance.now() });
      await this.#forgetPast();
    }
    return toCookie(origin, SESSION, "", 0);
  }

  async #issue(origin: string, fields: SessionFields): Promise<string> {
    const now = this.#now();
    const expires = Math.min(now + COOKIE_MS, fields.until);
    const text = await this.#signer.sign("session", { ...fields, issued: now, expires });
    return toCookie(origin, SESSION, text, expires - now);
  }

  async #read(request: Request, origin: string): Promise<Fields | undefined> {
    const text = cookieOf(request, origin, SESSION);
    const fields = text === undefined ? undefined : await this.#signer.read("session", text);
    if (fields === undefined || this.#isPast(fields["expires"])) return undefined;
    return (await this.#isEnded(String(fields["session"]))) ? undefined : fields;
  }

  #isPast(time: unknown): boolean {
    return typeof time !== "number" || this.#now() >= time;
  }

  /** Whether a session was ended, as the store said at most two seconds ago. */
  async #isEnded(session: string): Promise<boolean> {
    const before = this.#ended.get(session);
    if (before !== undefined && (before.isEnded || performance.now() - before.at < FRESH_MS)) {
      return before.isEnded;
    }
    const isEnded = (await this.#secrets.get(ENDED + session)) !== undefined;
    this.#ended.set(session, { isEnded, at: performance.now() });
    return isEnded;
  }

  /** Removes the ends of sessions that would be over by now. */
  async #forgetPast(): Promise<void> {
    const names = (await this.#secrets.names()).filter((name) => name.startsWith(ENDED));
    const past: string[] = [];
    for (const name of names.slice(0, SWEPT_AT_ONCE)) {
      if (Number(await this.#secrets.get(name)) < this.#now()) past.push(name);
    }
    if (past.length > 0) await this.#secrets.remove(past);
  }
}

interface SessionFields extends JsonObject {
  readonly session: string;
  /** When the person must sign in again, in milliseconds since 1970. */
  readonly until: number;
  readonly principal: JsonObject;
}

interface Checked {
  readonly isEnded: boolean;
  /** By a monotonic clock. */
  readonly at: number;
}

const SESSION = "session";
const ENDED = `${AUTH}ended/`;
const ATTEMPT_MS = 600_000;
/** How long a cookie works without being renewed. */
const COOKIE_MS = 3_600_000;
const RENEWED_AFTER_MS = 300_000;
const FRESH_MS = 2_000;
const CHECKED_LIMIT = 10_000;
const SWEPT_AT_ONCE = 1_000;
const STATE = /^[\w-]{16,128}$/;

function attemptName(state: string): string {
  return `sign-in-${state.slice(0, 16)}`;
}

function newId(): string {
  return randomBytes(18).toString("base64url");
}

/**
 * The value of a cookie of the server; `undefined` if the browser sends none, or two with the same name: then another site of
 * the same domain has planted one.
 */
function cookieOf(request: Request, origin: string, name: string): string | undefined {
  const wanted = `${nameOf(origin, name)}=`;
  const found = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

/** The `Set-Cookie` header of a cookie that no page can read. Without milliseconds left it removes the cookie. */
function toCookie(origin: string, name: string, value: string, ms: number): string {
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
