import { AgentError } from "../errors.ts";
import { acknowledge } from "./queries/acknowledge.ts";
import { Breakers } from "./calls/breaker.ts";
import { SlotQueues } from "./scheduler/slot-queue.ts";
import { StartGate } from "./activation/start-gate.ts";
import { AgentDirectory } from "./agent/agent-directory.ts";
import { SIGN_IN_MS, SIGN_IN_PURPOSE } from "./agent/answer-link.ts";
import { TOPIC_AGENT } from "./agent/topic.ts";
import { StoredSecrets } from "./secrets/stored-secrets.ts";
import type { CloseOptions, CreateRunOptions, Receipt, Runtime } from "./api.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { RunEntry } from "../ports/log-entries.ts";
import type { Json } from "../protocol/json.ts";
import type { Request } from "../protocol/requests/requests.ts";
import { readDeadLetter } from "./run/dead-letters.ts";
import { sendMessage } from "./run/messages.ts";
import { GroupCommit } from "./journal/group-commit.ts";
import { TextWindow } from "./journal/text-window.ts";
import { followConfigurations } from "./commands/configurations.ts";
import { askAgent, toActorHandle } from "./commands/actor-handle.ts";
import { copyRequest } from "./commands/given-request.ts";
import { Redaction } from "./commands/redaction.ts";
import { ActorMail } from "./commands/mail.ts";
import { Commands } from "./commands/commands.ts";
import { Permissions } from "./commands/permissions.ts";
import { KeyedRuns } from "./commands/keyed-runs.ts";
import { ownerOfKeys } from "./commands/shared-actors.ts";
import { defaultLimits } from "./limits.ts";
import { parsePrices } from "./model/prices.ts";
import { noTelemetry } from "./options.ts";
import type { RuntimeOptions } from "./options.ts";
import { OwnerAccounts } from "./owners/accounts.ts";
import { createReadiness } from "./readiness.ts";
import { ANONYMOUS, checkPrincipal, ownerOf } from "../ports/principal.ts";
import type { Principal } from "../ports/principal.ts";
import { AuditKeeper } from "./access/audit.ts";
import { readStatistics } from "./queries/statistics.ts";
import { toResource } from "./access/authorize.ts";
import { ALL_RIGHTS, rightsOf } from "./access/rights.ts";
import type { Rights } from "./access/rights.ts";
import { TRUSTED, seesRun, toScope } from "./access/scope.ts";
import type { Scope } from "./access/scope.ts";
import { LruMap } from "../shared/lru-map.ts";
import { mapConcurrent } from "../shared/map-concurrent.ts";
import type { Address } from "./feeds.ts";
import type { DeadLetter } from "../protocol/answers/dead-letter.ts";
import type { ReadinessPart } from "../ports/readiness.ts";
import { RunHost } from "./supervision/run-host.ts";
import { Queries } from "./queries/queries.ts";
import { showFeed, shownTo } from "./queries/shown-events.ts";
import { createAnswerLinks } from "./queries/answer-links.ts";
import { createInspection } from "./queries/inspection.ts";
import { Recovery } from "./supervision/recovery.ts";
import { ScheduleTimer } from "./supervision/schedules.ts";
import { countHeld, countWaits, retryHeld } from "./supervision/held-turns.ts";
import { startPruning } from "./supervision/kept-versions.ts";
import { Erasures } from "./supervision/erasures.ts";
import { startRetention } from "./supervision/retention.ts";
import { RunArtifacts } from "./artifacts/run-artifacts.ts";
import type { HostContext } from "./run-context.ts";
import type { LogHealth } from "../ports/event-log.ts";
import { ScheduleCommands } from "./commands/schedules.ts";
import { TopicCommands } from "./commands/topics.ts";
import { RunCommands } from "./commands/run-commands.ts";
import { HourRows } from "./journal/hour-rows.ts";
import { ActorSystem } from "./system/actor-system.ts";
import { refuseEvenly, seesFile, Uploads } from "./commands/uploads.ts";

/** How old a count of held turns may be, in milliseconds. */
const HELD_COUNT_MS = 2_000;

/** The number of dead letters that operators see, and how many are read at once. */
const SHOWN_LETTERS = 1_000;
const LETTERS_AT_ONCE = 16;

/** The number of runs in memory that operators see. */
const SHOWN_ACTORS = 1_000;

/**
 * Starts a runtime. It immediately begins to recover the open requests in its log. The runtime owns the log,
 * the artifacts and the router; `close` closes them.
 */
export function createRuntime(options: RuntimeOptions): Runtime {
  const {
    log,
    artifacts,
    secrets,
    router,
    environment,
    telemetry = noTelemetry,
    textWindowMs = 50,
    retainAuditMs = AUDIT_MS,
  } = options;
  telemetry.attached?.();
  const system = new ActorSystem({ telemetry });
  if (options.inspect) system.shared.inspect(options.inspect);
  const agents = new AgentDirectory(options);
  const readiness = createReadiness();
  const textWindow = new TextWindow(environment, log, textWindowMs, () => router.speakingElsewhere?.() ?? 0);
  const engines: Omit<HostContext, "mail"> = {
    log,
    router,
    secrets: new StoredSecrets({ log, secrets, environment, telemetry, agents }),
    environment,
    telemetry,
    ...(options.tracing && { tracing: options.tracing }),
    ...(options.substitutes && { substitutes: options.substitutes }),
    limits: { ...defaultLimits, ...options.limits },
    agents,
    files: new RunArtifacts({ artifacts, log, environment, telemetry }),
    groupCommit: new GroupCommit(environment),
    textWindow,
    ...(options.owners && {
      owners: new OwnerAccounts({ limitsOf: options.owners, environment, telemetry, log, artifacts }),
    }),
    queues: new SlotQueues(environment),
    breakers: new Breakers(environment),
    hourRows: new HourRows(),
    system,
    prompts: options.prompts ?? true,
    prices: options.prices && parsePrices(options.prices),
    isRehearsal: false,
    gate: new StartGate({ environment, telemetry }),
    readiness,
  };
  const redaction = new Redaction(options.redact);
  const queries = new Queries(log, environment, agents);
  const keyed = new KeyedRuns(log);
  const mail = new ActorMail(engines, keyed);
  const context: HostContext = { ...engines, mail };
  const runs = new RunCommands(context, queries, keyed);
  const audit = new AuditKeeper({ log, environment, router, telemetry, retainMs: retainAuditMs });
  const recovery = new Recovery(context, runs);
  const erasures = new Erasures(context, runs, {
    secrets,
    artifacts,
    storeRefusals: () => audit.flush(),
  });
  const schedules = new ScheduleTimer(context, keyed);
  const runHost = new RunHost(context, recovery, schedules);
  system.runs = runHost;
  let ready = false;
  let draining = false;
  let closing = false;
  let hasFailed = false;
  let isAwaited = false;
  let held = 0;
  let heldCountedMs = -Infinity;
  let closed: Promise<void> | undefined;
  let stopServing = async (): Promise<void> => {};
  const closeSources: (() => Promise<void>)[] = [];
  let stopPruning = (): void => {};
  const stopFollowing = followConfigurations(context);

  async function start(): Promise<void> {
    for (const remote of agents.remote.values()) void remote.ready();
    const host = {
      environment,
      secrets,
      newSignIn: (owner: string) =>
        context.secrets.signer.sign(SIGN_IN_PURPOSE, {
          owner,
          until: environment.now() + SIGN_IN_MS,
          // Each is another one, also at the same time.
          id: environment.newId(),
        }),
      report: (what: string, error: unknown) => telemetry.fault(what, error),
    };
    agents.openSources((source) => closeSources.push(source.open(host)));
    stopServing = await router.serve(runHost);
    try {
      await recovery.start();
    } catch (error) {
      if (!closing) await leave();
      throw error;
    }
    ready = true;
    if (closing) return;
    schedules.start();
    stopPruning = startPruning(context);
    void erasures.resume();
  }

  /** Leaves the other nodes after a failed recovery, so that they continue the runs that this one would have continued. */
  async function leave(): Promise<void> {
    recovery.stop();
    await Promise.allSettled([stopServing(), runHost.close({ isFailure: false })]);
    stopServing = async () => {};
  }

  /** Resolves when the start is over; throws if the runtime closes before. */
  async function open(): Promise<void> {
    if (!ready) {
      checkOpen();
      await started;
    }
    checkOpen();
  }

  function checkOpen(): void {
    if (closing) throw new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
    if (log.health().writable) return;
    throw new AgentError("unavailable", "the log cannot be written at present", { retryAfterS: 1 });
  }

  const started = start();
  started.catch((error: unknown) => {
    hasFailed = true;
    // `ready` reports the error to its callers; a runtime that closes was not to start.
    if (!isAwaited && !closing) telemetry.fault("the runtime could not start", error);
  });
  readiness.add(serverPart);
  readiness.add(nodesPart);
  readiness.add(heldParts);
  readiness.add(() => logParts(log.health()));
  for (const probe of agents.probes) readiness.add(probe);

  /** Held turns, as of the newest count; asking for it has them counted again, now and then. */
  function heldParts(): readonly ReadinessPart[] {
    const now = environment.monotonic();
    if (ready && !closing && now - heldCountedMs >= HELD_COUNT_MS) {
      heldCountedMs = now;
      countHeld({ log, environment }).then(
        (counts) => {
          held = counts.reduce((sum, { turns }) => sum + turns, 0);
        },
        // A log that cannot be read is a part of its own.
        () => {},
      );
    }
    if (held === 0) return [];
    const turns = held === 1 ? "1 turn is" : `${held} turns are`;
    return [{ name: "held", state: "degraded", detail: `${turns} held: no served code can continue them` }];
  }

  /** Whether this runtime takes requests. */
  function serverPart(): ReadinessPart {
    const name = "server";
    if (draining || closing) return { name, state: "failed", detail: "the server is stopping" };
    if (hasFailed) return { name, state: "failed", detail: "the runtime could not start" };
    if (ready) return { name, state: "ready" };
    return { name, state: "failed", detail: "the server is still resuming interrupted turns" };
  }

  /** Whether this node knows the others. */
  function nodesPart(): ReadinessPart {
    const { ready: isReady, reason = "the other nodes are not known yet" } = router.health();
    return { name: "nodes", ...(isReady ? { state: "ready" } : { state: "failed", detail: reason }) };
  }

  const stopRetention = startRetention({ ...options, context, runs });
  const uploads = new Uploads(context, queries);
  const commands = new Commands(context, queries, keyed, { scope: TRUSTED });

  async function drain(): Promise<boolean> {
    draining = true;
    await router.drain();
    runHost.releaseIdle();
    return router.members().some(({ isSelf, isAlive, state }) => !isSelf && isAlive && state === "active");
  }

  async function close({ drainMs = 0, isFailure = false }: CloseOptions): Promise<void> {
    closing = true;
    recovery.stop();
    engines.breakers.stop();
    schedules.stop();
    stopPruning();
    stopRetention();
    erasures.stop();
    stopFollowing();
    uploads.stop();
    mail.stop();
    commands.stop();
    context.secrets.stop();
    await router.drain();
    await started.catch(() => {});
    await runHost.drain(drainMs);
    await runHost.close({ isFailure });
    await audit.stop();
    system.stop();
    await Promise.allSettled(closeSources.map((closeSource) => closeSource()));
    textWindow.stop();
    await stopServing();
    await log.close();
    await artifacts.close();
  }

  const principals = new LruMap<string, Runtime>(PRINCIPALS);

  let anonymous: Runtime | undefined;

  /** The runtime of a principal. The newest ones are kept, because each request to a server asks for one. */
  function as(given: Principal): Runtime {
    // A server without authentication does not know who makes a request, so nothing is noted about it.
    if (given === ANONYMOUS) return (anonymous ??= withinRights({ ...toScope(given), by: undefined }, given));
    const principal = checkPrincipal(given);
    const name = JSON.stringify(principal);
    const known = principals.get(name);
    if (known) return known;
    audit.start();
    const made = withinRights(toScope(principal), principal);
    principals.set(name, made);
    return made;
  }

  function withinRights(scope: Scope, principal: Principal): Runtime {
    const rights = rightsOf(principal, {
      authorize: options.authorize,
      refused: (error) => audit.refused(principal, error),
    });
    const { allows } = rights;
    const sees = allows && ((run: RunEntry): boolean => allows("read", toResource(run)));
    return within({ ...scope, sees }, rights);
  }

  const trusted = within(TRUSTED, ALL_RIGHTS);

  // What a program sends to the actor of a run is a message for the agent of the run.
  system.shared.sent = (runId, { type: name, body }) => {
    const send = async (): Promise<void> => {
      const { agent } = await queries.run(runId, TRUSTED);
      await trusted.process(agent, { type: "Message", run_id: runId, name, body: body as Json });
    };
    send().catch((error: unknown) =>
      telemetry.failed(`run ${runId} does not take the event ${name}`, error, { run_id: runId }),
    );
  };

  return trusted;

  /** The runtime as a caller sees it. */
  function within(scope: Scope, rights: Rights): Runtime {
    const own = commands.within(scope);
    const by = scope.by && { by: scope.by };
    const permissions = new Permissions({ log, agents, queries, keyed, scope, rights });
    const show = shownTo(scope);
    const showAll = (events: readonly string[]): readonly string[] => (show ? events.map(show) : events);
    // The addresses and receipts that this caller got: their runs are ones that it sees.
    const known = new WeakSet<object>();

    function knows<Known extends object>(value: Known): Known {
      known.add(value);
      return value;
    }

    /** Throws `not_found` for an address or a receipt of a run that the caller does not see. */
    async function check(value: Address | Receipt): Promise<void> {
      const isAll = scope.seesAll && scope.sees === undefined;
      if (isAll || known.has(value) || value.runId === null) return;
      await queries.run(value.runId, scope);
      known.add(value);
    }

    async function isSeen(runId: RunId): Promise<boolean> {
      const run = scope.sees && (await log.run(runId));
      return run === undefined || seesRun(scope, run);
    }

    async function process(agent: string, request: Request): Promise<Receipt> {
      // An agent that is no longer served has turns that take answers.
      if (request.type !== "ResumeWithInput" && request.type !== "CancelRequest")
        permissions.checkAgent(agent);
      const isOfAgent =
        request.type === "ConfigureRequest" && request.run_id === undefined && request.key === undefined;
      if (isOfAgent) rights.administer(`configure the agent ${agent}`);
      // Before any wait, in which the caller can change its objects.
      const about = { agent, owner: scope.owner };
      const copy = inCurrentTrace(redaction.request(copyRequest(agent, request), about));
      await open();
      await permissions.permitRequest(agent, copy);
      const receipt = await own.process(agent, copy);
      // Somebody else may have made the request before, in a run that the caller does not see.
      if (receipt.replayed && scope.sees !== undefined) await check(receipt);
      return knows(receipt);
    }

    /** A request that comes without a trace belongs to that of the code that makes it. */
    function inCurrentTrace(request: Request): Request {
      const isTurn = request.type === "ChatRequest" || request.type === "OperationRequest";
      const trace = isTurn && request.trace === undefined ? context.tracing?.current() : undefined;
      return trace === undefined ? request : ({ ...request, trace } as Request);
    }

    async function find(agent: string, key: string): Promise<RunId | undefined> {
      const runId = await keyed.find({ owner: ownerOfKeys(agents, agent, scope), agent, key });
      if (runId !== undefined && (await isSeen(runId))) return runId;
      // An agent that is no longer served may have runs. A name with neither is wrong, and `get` says which there are.
      const isKnown =
        permissions.isServed(agent) || (await queries.runs({ agent, limit: 1 }, scope)).runs.length > 0;
      if (!isKnown) permissions.checkAgent(agent);
      return undefined;
    }

    async function createRun(agent: string, given: CreateRunOptions): Promise<RunId> {
      permissions.checkAgent(agent);
      const createOptions = redaction.run(given, { agent, owner: scope.owner });
      await open();
      await permissions.permitRun(agent, createOptions);
      await context.owners?.admitRequest(scope.owner);
      return runs.create(agent, createOptions, scope);
    }

    const ownerOfKey = (agent: string): string => ownerOfKeys(agents, agent, scope);
    const parts = { queries, keyed, scope, ownerOfKey, timer: environment.timer, process };
    const answerLinks = createAnswerLinks({
      log,
      environment,
      queries,
      scope,
      signer: context.secrets.signer,
      permit: (runId) => permissions.permit("answer", runId),
      async answer({ runId, requestId, waitId, values, resumeId, by, roles }) {
        // An agent or a tool that the turn has called may have asked.
        const run = await queries.run(runId, TRUSTED);
        const { agent } = run;
        const owner = ownerOf(run);
        return commands.within({ owner, seesAll: false, by, roles }).process(agent, {
          type: "ResumeWithInput",
          request_id: requestId,
          wait_id: waitId,
          request_keys: redaction.answer(values, { agent, owner }),
          resume_id: resumeId,
        });
      },
    });

    const inspection = createInspection(
      context,
      queries,
      scope,
      (runId) => runHost.peek(runId) !== undefined,
    );
    return {
      as,
      defaultAgent: agents.defaultAgent,
      get agents() {
        return permissions.agents;
      },
      describe(agent) {
        permissions.checkAgent(agent);
        return agents.describe(agent);
      },
      ready() {
        isAwaited = true;
        return started;
      },
      process,
      actor(agent, key) {
        permissions.checkAgent(agent.name);
        return toActorHandle(parts, agent, key);
      },
      async publish(to, name, body, { requestId } = {}) {
        const { name: key } = agents.topics.known(to);
        const id = requestId === undefined ? {} : { request_id: requestId };
        return process(TOPIC_AGENT, { type: "Message", name, body: body as Json, key, ...id });
      },
      async ask(agent, operation, input, askOptions) {
        permissions.checkAgent(agent.name);
        return askAgent(parts, agent.name, { operation, input }, askOptions) as Promise<never>;
      },
      async acknowledgement(receipt, wanted) {
        await check(receipt);
        const event = await acknowledge(receipt, wanted, environment, {
          async open(signal) {
            return (await queries.answers(receipt, { signal, filter: { level: "all" } })).pages;
          },
          question: () => queries.question(receipt),
        });
        return event === undefined ? undefined : (show?.(event) ?? event);
      },
      async answers(receipt, answersOptions) {
        await check(receipt);
        return showFeed(await queries.answers(receipt, answersOptions), show);
      },
      resolve: async (id) => knows(await queries.resolve(id, scope)),
      async read(address, range) {
        await check(address);
        const page = await queries.read(address, range);
        return { ...page, events: showAll(page.events) };
      },
      async follow(address, range) {
        await check(address);
        return showFeed(await queries.follow(address, range), show);
      },
      status: (requestId) => queries.status(requestId, scope),
      find,
      run: (runId) => queries.details(runId, scope),
      async memory(runId, at) {
        const { agent, memory } = await inspection.run(runId, at);
        return memory[agent];
      },
      requests: (runId) => queries.requests(runId, scope),
      listRequests: (query) => queries.listRequests(query, scope),
      answerLinks,
      seals: {
        seal: (purpose, fields) => context.secrets.signer.sign(toPurpose(purpose, scope), fields),
        open: (purpose, text) => context.secrets.signer.read(toPurpose(purpose, scope), text),
        hide: (purpose, fields) => context.secrets.signer.hide(toPurpose(purpose, scope), fields),
        reveal: (purpose, text) => context.secrets.signer.reveal(toPurpose(purpose, scope), text),
      },
      runs: (query) => queries.runs(query, scope),
      watchRuns: (watched) => queries.watchRuns(watched, scope),
      async waits(query) {
        const page = await queries.waits(query, scope);
        return { ...page, events: showAll(page.events) };
      },
      createRun,
      async fork(runId, point, { takesKey = false } = {}) {
        await open();
        await permissions.permit("fork", runId);
        await context.owners?.admitRequest(scope.owner);
        return runs.fork(runId, { ...point, takesKey }, scope);
      },
      audit: {
        async list(query) {
          rights.operate("see the audit trail");
          return audit.list(query);
        },
        async note(entry) {
          rights.own("write to the audit trail");
          await audit.note(entry);
        },
        refused: (principal, error) => audit.refused(principal, error),
      },
      async statistics(query) {
        // What a rule hides from a user would be in the sums.
        if (scope.sees !== undefined) rights.operate("see the statistics");
        const { owner = scope.owner } = query;
        if (!scope.seesAll && owner !== scope.owner) rights.operate("see the statistics of other owners");
        return readStatistics(log, { ...query, ...(!scope.seesAll && { owner }) }, environment.now());
      },
      schedules: new ScheduleCommands({
        context,
        keyed,
        queries,
        permissions,
        scope,
        open,
        process,
        redact: (agent, request) =>
          redaction.request(copyRequest(agent, request), { agent, owner: scope.owner }) as typeof request,
      }),
      topics: new TopicCommands({
        context,
        permissions,
        runs: { runs: (query) => queries.runs(query, scope), find, createRun },
      }),
      async deadLetters() {
        rights.operate("see the dead letters of all owners");
        const entries = await log.outbox({ kind: "dead", newest: SHOWN_LETTERS });
        const letters: DeadLetter[] = [];
        for await (const letter of mapConcurrent(entries, LETTERS_AT_ONCE, (entry) =>
          readDeadLetter(log, entry),
        ))
          if (letter !== undefined) letters.push(letter);
        return letters;
      },
      async sendAgain(runId, id) {
        rights.operate("send a dead letter again");
        await open();
        await permissions.permit("message", runId);
        const letter = { kind: "letter", requestId: id, isDismissed: false, ...by } as const;
        const { requestId = id } = await sendMessage(router, runId, letter);
        return { requestId };
      },
      async dismiss(runId, requestId) {
        rights.operate("dismiss a dead letter");
        await open();
        await permissions.permit("message", runId);
        await sendMessage(router, runId, { kind: "letter", requestId, isDismissed: true, ...by });
      },
      async retryHeld(which = {}) {
        await open();
        if (which.runId === undefined) rights.operate("try the held turns of all owners again");
        else await permissions.permit("process", which.runId);
        return retryHeld(context, which, scope.by);
      },
      async endHeld(runId) {
        await open();
        const { owner } = await permissions.permit("cancel", runId);
        const receipt = await sendMessage(router, runId, { kind: "end", ...by });
        const requestId = receipt.requestId as RequestId;
        return knows({ ...receipt, ...(owner !== undefined && { owner }), requestId, kind: "cancel" });
      },
      async resume(runId) {
        await open();
        await permissions.permit("process", runId);
        await sendMessage(router, runId, { kind: "unstop", ...by });
      },
      async countHeld() {
        rights.operate("count the held turns of all owners");
        return countHeld({ log, environment });
      },
      async countWaits() {
        rights.operate("count the waits of all owners");
        return countWaits(log, environment.now());
      },
      async removeRun(runId) {
        await open();
        await permissions.permit("remove", runId);
        await runs.remove(runId, scope.by);
      },
      async erase(things) {
        rights.administer("erase what belongs to owners");
        await open();
        return erasures.erase(things, scope);
      },
      async upload(file) {
        await open();
        await permissions.permitUpload(file);
        return uploads.take(file, scope);
      },
      async artifact(artifactId) {
        return refuseEvenly(context, scope, async () => {
          const info = await artifacts.get(artifactId);
          if (info === undefined || !(await seesFile(context, info, scope)))
            throw new AgentError("not_found", `there is no artifact ${artifactId}`);
          return { info, body: artifacts.read(artifactId) };
        });
      },
      health: () => ({
        ready,
        closing,
        durability: log.durability,
        log: log.health(),
        ...(router.figures && { figures: router.figures() }),
        ...(log.figures && { logFigures: log.figures() }),
        activeRuns: runHost.size,
        activeTurns: runHost.busy,
        queuedRequests: runHost.queued,
        slots: { ...engines.queues.load },
        models: engines.breakers.load(),
      }),
      readiness,
      get system() {
        rights.own("use the actors of all runs");
        return system.shared;
      },
      actors() {
        rights.operate("see the runs in memory");
        return runHost.actors(SHOWN_ACTORS);
      },
      get inspection() {
        rights.operate("inspect the server");
        return inspection;
      },
      crash({ runId, requestId }, reason) {
        rights.own("end a turn for a fault of the process");
        runHost.peek(runId)?.crash(requestId, reason);
      },
      async drain() {
        rights.own("drain the runtime");
        return drain();
      },
      async close(closeOptions = {}) {
        rights.own("close the runtime");
        return (closed ??= close(closeOptions));
      },
    };
  }
}

/** How long the audit trail keeps its entries: a year and some weeks. */
const AUDIT_MS = 400 * 86_400_000;

/** How many principals are kept with what they work with. */
const PRINCIPALS = 1_000;

/** Whether the log takes appends; and each thing that can lose acknowledged events. */
function logParts({ writable, reason, warnings = [], parts = [] }: LogHealth): readonly ReadinessPart[] {
  const name = "log";
  const detail = reason ?? "the log cannot be written at present";
  if (!writable) return [{ name, state: "failed", detail }, ...parts];
  if (warnings.length === 0) return [{ name, state: "ready" }, ...parts];
  return [
    ...warnings.map((warning): ReadinessPart => ({ name, state: "degraded", detail: warning })),
    ...parts,
  ];
}

/** What a seal is for, so that it is believed for nothing else and for no other owner. */
function toPurpose(purpose: string, { owner }: Scope): string {
  return `seal ${JSON.stringify([owner, purpose])}`;
}
