import type { Client, Notification } from "pg";
import { AgentError } from "../../../errors.ts";
import type { RunWake, WakeCarrier } from "../../../ports/router.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import { RETRY, delay } from "../connection/database.ts";
import type { Database } from "../connection/database.ts";
import { checkHearing, toListenError } from "./hearing.ts";

/** What the nodes tell each other about runs that have changed, over one connection that listens. */
export interface WakeChannelOptions {
  readonly database: Database;
  /** The id of this node. */
  readonly node: string;
  /** The address of the connection, if it is another one. */
  readonly url?: string | undefined;
  /** Which other nodes may have the log open. */
  readonly nodes: "one" | "several" | "any";
  /** What carries wakes to nodes without the database; `undefined` while nothing does. */
  carrier(): WakeCarrier | undefined;
  /** Runs were changed by another node. */
  onChanged(changes: readonly RunWake[]): void;
  /** Shards of a log in several databases have moved, or are going to. */
  onShards?(): void;
  /** The channel was silent for a time: any run can have changed. */
  onReconnected(): void;
  /** Looks for changes whose message was lost, from time to time and on a new connection, with statements on this connection alone. */
  look(client: Client, isNew: boolean): Promise<void>;
}

/**
 * Sends and receives the ids of changed runs. It sends nothing while no other node listens, or while a carrier reaches all that
 * do: the database would wake every one of them for each message.
 */
export class WakeChannel {
  readonly #options: WakeChannelOptions;
  /** The name of the channel in the database. */
  readonly name: string;
  #client: Client | undefined;
  readonly #changed = new Map<RunId, number>();
  #sending = false;
  /** The other nodes that listen, and when each of them was last heard. */
  readonly #others = new Map<string, number>();
  #looks = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #reconnecting: Promise<void> | undefined;
  /** The newest use of the connection. */
  #used: Promise<unknown> = Promise.resolve();

  constructor(options: WakeChannelOptions) {
    this.#options = options;
    this.name = `troupe_${options.database.schema}`;
  }

  /** Connects; fails if the connection hears nothing, or if the log is open elsewhere. */
  async open(): Promise<void> {
    const { database, node, nodes, url } = this.#options;
    const client = await this.#connect().catch((error: unknown) => {
      throw toListenError(error, database, url);
    });
    this.#client = client;
    try {
      await checkHearing(client, { database, channel: this.name, message: `${node} ${HELLO}` });
      // The lock comes after this check: on a connection that a pooler shares it would outlive this process.
      const until = performance.now() + LOCK_MS;
      let isFree = await this.#lock(client);
      // A node that has just ended holds its lock a little longer.
      while (!isFree && performance.now() < until) {
        await delay(100);
        isFree = await this.#lock(client);
      }
      if (!isFree) {
        throw new AgentError(
          "conflict",
          nodes === "one"
            ? "another node has the log in this database open"
            : "another node has opened the log in this database for itself alone",
          {
            hint: 'stop the other node, or start all nodes with --cluster http://HOST:PORT (`nodes: "several"`)',
          },
        );
      }
      // A connection that was lost meanwhile is being replaced.
      if (this.#client === client) this.#watch();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Whether no message of another node can have been lost. */
  get isHearing(): boolean {
    return this.#client !== undefined;
  }

  /** Tells the other nodes that need it that runs have changed. */
  tell(changes: readonly RunWake[]): void {
    this.#options.carrier()?.tell(changes);
    if (this.#isNeeded()) this.tellAll(changes);
  }

  /** Tells all nodes that listen. */
  tellAll(changes: readonly RunWake[]): void {
    if (this.#isClosed) return;
    for (const { runId, epoch } of changes) this.#changed.set(runId, epoch);
    if (!this.#sending) void this.#send();
  }

  /** Tells a node that what it has heard of the runs followed here is out of date, up to a message. */
  disown(node: string, number: number): void {
    if (!this.#isClosed) void this.#notify(`${DISOWN}${number}:${node}`);
  }

  /** Ends the connection; the database waits until it is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    // The others need not tell it anything more. Closing does not wait for a server that does not answer.
    if (client !== undefined && this.#others.size > 0) await Promise.race([this.#notify(BYE), delay(BYE_MS)]);
    if (client !== undefined) end(client);
    await this.#reconnecting;
  }

  /** Whether a node that listens would not hear of a change otherwise. */
  #isNeeded(): boolean {
    const carrier = this.#options.carrier();
    if (carrier === undefined) return this.#others.size > 0;
    if (!carrier.reachesAll) return true;
    for (const [node, heardMs] of this.#others) {
      const standing = carrier.standingOf(node);
      if (standing === "carried") continue;
      // A program that is no node of the cluster says from time to time that it is there.
      const isSilent = standing === undefined && performance.now() - heardMs > SILENT_MS;
      if (standing !== "gone" && !isSilent) return true;
      this.#others.delete(node);
    }
    return false;
  }

  async #connect(): Promise<Client> {
    const { database, url } = this.#options;
    const client = await database.session(url);
    client.on("notification", (message) => this.#receive(message));
    client.once("end", () => this.#lost(client));
    try {
      await client.query(`LISTEN ${this.name}`);
      return client;
    } catch (error) {
      end(client);
      throw error;
    }
  }

  /**
   * Takes the advisory lock that keeps a second node from starting without `--cluster`; it lasts as long as the
   * connection.
   */
  async #lock(client: Client): Promise<boolean> {
    const { nodes } = this.#options;
    if (nodes === "any") return true;
    const take = nodes === "one" ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared";
    const { rows } = await client.query<{ taken: boolean }>(
      `SELECT ${take}(hashtextextended($1, 0)) AS taken`,
      [`troupe serves ${this.#options.database.schema}`],
    );
    return rows[0]?.taken === true;
  }

  #receive({ payload = "" }: Notification): void {
    const [node, ...words] = payload.split(" ");
    const [word = ""] = words;
    if (node === undefined || node === this.#options.node) return;
    if (node === SHARDS_CHANGED) {
      this.#options.onShards?.();
      return;
    }
    this.#others.set(node, performance.now());
    if (word === HELLO) void this.#notify(HERE);
    else if (word === BYE) this.#others.delete(node);
    else if (word.startsWith(DISOWN)) {
      const { epoch: number, runId: disowned } = toChange(word.slice(DISOWN.length));
      if (disowned === this.#options.node) this.#options.carrier()?.disowned(node, number);
    } else if (word !== HERE) this.#options.onChanged(words.map(toChange));
  }

  async #send(): Promise<void> {
    this.#sending = true;
    // The changes of one turn of the event loop, and those of the time that a message takes, go together.
    await Promise.resolve();
    while (this.#changed.size > 0 && !this.#isClosed) {
      let text = "";
      for (const [runId, epoch] of this.#changed) {
        const word = `${epoch}:${runId}`;
        if (text.length + word.length > PAYLOAD_CHARACTERS) break;
        text += text === "" ? word : ` ${word}`;
        this.#changed.delete(runId);
      }
      await this.#notify(text);
    }
    this.#sending = false;
  }

  /** Sends a message; one that fails is lost, which `look` makes up for. It needs no sync of the disk. */
  async #notify(text: string): Promise<void> {
    const statement = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
    const values = [this.name, `${this.#options.node} ${text}`];
    await this.#inTurn(async () => this.#client?.query(statement, values)).catch(() => {});
  }

  /** Uses the connection after all who use it now: it has one statement at a time. */
  #inTurn<Result>(use: () => Promise<Result>): Promise<Result> {
    const result = this.#used.then(use, use);
    this.#used = result;
    return result;
  }

  /** Looks for lost changes at once, and then from time to time. */
  lookNow(): void {
    if (this.#client !== undefined) this.#watch(0);
  }

  #watch(afterMs: number = LOOK_MS): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const client = this.#client;
      if (client === undefined || this.#isClosed) return;
      this.#looks += 1;
      if (this.#looks % HERE_LOOKS === 0 && this.#others.size > 0 && this.#options.carrier() === undefined)
        void this.#notify(HERE);
      this.#inTurn(() => this.#options.look(client, false)).then(
        () => {
          if (this.#client === client) this.#watch();
        },
        () => {
          end(client);
          this.#lost(client);
        },
      );
    }, afterMs);
    this.#timer.unref();
  }

  #lost(client: Client): void {
    if (this.#isClosed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    this.#reconnecting = this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    for (let failures = 0; !this.#isClosed; failures += 1) {
      let client: Client | undefined;
      try {
        client = await this.#connect();
        // A node that is alone stays so unless another one came in between; claims keep the log whole in any case.
        await this.#lock(client);
        await this.#options.look(client, true);
        if (this.#isClosed) {
          end(client);
          return;
        }
        this.#client = client;
        await this.#notify(HELLO);
        this.#options.onReconnected();
        this.#watch();
        return;
      } catch {
        if (client !== undefined) end(client);
        await delay(backoffMs(RETRY, failures));
      }
    }
  }
}

/** Ends a connection, without waiting for a server that may not answer. */
function end(client: Client): void {
  client.end().catch(() => {});
}

function toChange(word: string): RunWake {
  const colon = word.indexOf(":");
  return { epoch: Number(word.slice(0, colon)), runId: word.slice(colon + 1) };
}

/** What is told to all nodes when the table of the shards has changed, which no node sends. */
export const SHARDS_CHANGED = "%shards";

/** Messages besides the changes. */
const HELLO = "?";
const HERE = "!";
const BYE = "-";
const DISOWN = "~";

/** How long a message takes at most that this node listens no longer. */
const BYE_MS = 500;

/** How many looks are between two messages of a node without a carrier which say that it still listens. */
const HERE_LOOKS = 4;

/** How long a program that is no node of the cluster is thought to listen after its newest message. */
const SILENT_MS = 60_000;

/** A payload has less than 8,000 bytes. */
const PAYLOAD_CHARACTERS = 7_000;

const LOCK_MS = 3_000;

/** A wake is promised within this time while the database can be reached. */
const LOOK_MS = 5_000;
