/** A served place, and the token of an admin. */
export interface AdminPlace {
  readonly url: string;
  readonly token: string;
}

/**
 * Puts a text of its own into every place where a server can have something of an owner, over all wires: `WORD-in-PLACE`. What
 * clients choose as ids of requests is `WORD-as-PLACE`. Returns the texts.
 */
export async function fillEverywhere(
  { url, token }: AdminPlace,
  { owner, word }: { readonly owner: string; readonly word: string },
): Promise<readonly string[]> {
  const made = new Set<string>();
  const mark = (text: string): string => {
    made.add(text);
    // The sign at the end is no part of the text, so that what follows it somewhere is not read as one.
    return `${text}_`;
  };
  const at = (place: string): string => mark(`${word}-in-${place}`);
  const chosen = (place: string): string => mark(`${word}-as-${place}`);
  const send = sender(url);
  const admin = (method: string, path: string, body?: unknown): Promise<Json> =>
    send(token, method, path, body);

  const { key } = await admin("POST", "/keys", { name: at("key-name"), owner, roles: ["user"] });
  const { id: revoked } = await admin("POST", "/keys", { name: at("revoked-key"), owner, roles: ["user"] });
  await admin("DELETE", `/keys/${String(revoked)}`);
  const user = (method: string, path: string, body?: unknown): Promise<Json> =>
    send(String(key), method, path, body);
  const operation = (name: string, place: string, more: object = {}): Promise<Json> =>
    user("POST", "/clerk/process?wait=completed", {
      type: "OperationRequest",
      operation: name,
      input: { text: at(place) },
      ...more,
    });

  // Runs, with what they are asked and what they say.
  const chat = await user("POST", "/clerk/process?wait=completed", {
    type: "ChatRequest",
    input: at("input"),
    key: at("key"),
    request_id: chosen("request-id"),
    request_metadata: { customer: at("metadata") },
  });
  const run = String(chat["run_id"]);
  await user("POST", "/clerk/configure", {
    run_id: run,
    args: { word: at("configuration"), password: at("secret") },
  });
  await user("POST", "/clerk/process", { type: "Message", name: "note", body: at("message"), run_id: run });
  await user("POST", `/runs/${run}/fork`, { after: 0 });
  await operation("fail", "error", { run_id: run });
  await operation("bury", "dead-letter");
  await operation("pass_on", "actor-key");
  await user("POST", `/artifacts?name=${at("upload-name")}`, at("upload"));
  await user("POST", `/artifacts?name=${at("file-name")}&run_id=${run}`, at("file"));

  // What waits: questions, budgets, answer links, deliveries to a receiver that is away.
  const asked = await operation("ask", "question");
  const { request_id: question } = asked;
  const { path: link } = await user("POST", "/answer-links", { request_id: question, name: at("link-name") });
  const answered = await fetch(url + String(link), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `answer=${at("link-answer")}`,
  });
  if (!answered.ok) throw new Error(`the link answers ${answered.status}: ${await answered.text()}`);
  const { request_id: open } = await operation("ask", "open-question");
  await user("POST", "/answer-links", { request_id: open, name: at("open-link") });
  await operation("spend", "budget");
  await operation("spend", "spent");

  // Schedules and topics.
  await user("POST", "/clerk/schedules", {
    key: at("scheduled-key"),
    id: at("schedule"),
    operation: "ask",
    input: { text: at("schedule-input") },
    every_ms: 3_600_000,
  });
  await operation("follow", "topic");
  await user("POST", `/topics/${at("topic")}/publications`, {
    name: "note",
    body: at("publication"),
    request_id: chosen("publication-id"),
  });

  // What other wires add.
  await send("", "POST", "/webhooks/shop", at("foreign-message"));
  await user("POST", "/a2a/clerk/v1/message:send", {
    message: {
      messageId: at("a2a-message"),
      contextId: at("a2a-context"),
      role: "ROLE_USER",
      parts: [{ text: at("a2a-text") }],
    },
    configuration: {
      taskPushNotificationConfig: {
        id: at("receiver"),
        url: `http://127.0.0.1:9/${at("receiver-url")}`,
        token: at("receiver-token"),
      },
    },
  });
  const said = {
    id: at("ui-message"),
    role: "user",
    content: at("ui-text"),
    parts: [{ type: "text", text: at("ui-text") }],
  };
  await user("POST", "/ui/clerk", { id: at("ui-chat"), messages: [said] });
  await user("POST", "/ag-ui/clerk", {
    threadId: at("ag-ui-thread"),
    runId: chosen("ag-ui-run"),
    messages: [said],
    state: { state: at("ag-ui-state") },
    tools: [],
    context: [{ description: "where", value: at("ag-ui-context") }],
    forwardedProps: { forwarded: at("ag-ui-props") },
  });
  await user("POST", "/v1/responses", {
    model: "clerk",
    input: at("responses-input"),
    conversation: at("conversation"),
    metadata: { of: at("responses-metadata") },
    user: at("responses-user"),
  });
  await user("POST", "/v1/chat/completions", {
    model: "clerk",
    messages: [{ role: "user", content: at("completions-input") }],
    metadata: { of: at("completions-metadata") },
    user: at("completions-user"),
  });
  await user("POST", "/agentscope/clerk/process", {
    session_id: at("session"),
    user_id: at("session-user"),
    input: [{ role: "user", content: [{ type: "text", text: at("session-text") }] }],
    stream: false,
  });
  await user("POST", "/agentscope/clerk/process/task", {
    session_id: at("task-session"),
    input: [{ role: "user", content: [{ type: "text", text: at("task-text") }] }],
  });
  const { task_id: task } = await user("POST", "/ap/v1/agent/tasks", {
    input: at("ap-input"),
    additional_input: { more: at("ap-more") },
  });
  await user("POST", `/ap/v1/agent/tasks/${String(task)}/steps`, { input: at("ap-step") });
  await user("POST", "/agentic/clerk/process", { prompt: at("prompt") });
  return [...made];
}

/** Has a user of an owner be refused with a text: that is noted in the audit trail, up to a second later. */
export async function refuseUser(
  { url, token }: AdminPlace,
  { owner, word }: { readonly owner: string; readonly word: string },
): Promise<void> {
  const send = sender(url);
  const { key } = await send(token, "POST", "/keys", {
    name: `${word}-in-refused-key_`,
    owner,
    roles: ["user"],
  });
  const wanted = { type: "OperationRequest", operation: `${word}-in-operation_`, input: {} };
  await send(String(key), "POST", "/clerk/process", wanted, 4);
  await send(String(key), "POST", "/clerk/process", { input: "hi", key: "\n", note: `${word}-in-field_` }, 4);
  await send(String(key), "POST", "/erase", { metadata: { customer: `${word}-in-erasure_` } }, 4);
  await send(String(key), "GET", `/audit?by=${word}-in-query_`, undefined, 4);
}

type Json = Readonly<Record<string, unknown>>;
type Send = (bearer: string, method: string, path: string, body: unknown, status?: number) => Promise<Json>;

/** Sends requests, and expects the first digit of the status of their answers. */
function sender(url: string): Send {
  return async (bearer, method, path, body, status = 2) => {
    const isText = typeof body === "string";
    const answer = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        "content-type": isText ? "text/plain" : "application/json",
        "a2a-version": "1.0",
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (Math.floor(answer.status / 100) !== status)
      throw new Error(`${method} ${path} answers ${answer.status}: ${text}`);
    return text.startsWith("{") ? (JSON.parse(text) as Json) : {};
  };
}
