/**
 * Values that agent code can throw and that cannot be read as errors, by names without spaces; each is
 * created again.
 */
export const oddValues: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  zero: () => 0,
  bigint: () => 12n,
  symbol: () => Symbol("odd"),
  "empty-string": () => "",
  function: () => () => "odd",
  object: () => ({}),
  "object-without-prototype": () => Object.create(null) as unknown,
  "error-without-prototype": () => Object.setPrototypeOf(new Error("odd"), null) as unknown,
  "message-is-object": () => withField("message", { value: { text: "odd" } }),
  "message-is-undefined": () => withField("message", { value: undefined }),
  "message-is-symbol": () => withField("message", { value: Symbol("odd") }),
  "message-is-revoked": () => withField("message", { value: revoked({}) }),
  "message-throws": () => withField("message", { get: fail }),
  "message-is-huge": () => new Error("/odd/".repeat(2_000_000)),
  "message-has-controls": () => new Error("\u001b[2J\u0000\ud800 odd"),
  "message-text-throws": () => withField("message", { value: { toString: fail, valueOf: fail } }),
  "stack-is-number": () => withField("stack", { value: 7 }),
  "stack-is-object": () => withField("stack", { value: {} }),
  "stack-throws": () => withField("stack", { get: fail }),
  "name-is-symbol": () => withField("name", { value: Symbol("odd") }),
  "name-throws": () => withField("name", { get: fail }),
  "cause-throws": () => withField("cause", { get: fail }),
  "cause-is-itself": () => {
    const error = new Error("odd");
    error.cause = error;
    return error;
  },
  "cause-is-revoked": () => new Error("odd", { cause: revoked(new Error("inner")) }),
  "tag-throws": () => Object.defineProperty({}, Symbol.toStringTag, { get: fail }),
  "text-throws": () => ({ toString: fail, toJSON: fail, [Symbol.toPrimitive]: fail }),
  "inspection-throws": () => ({ [Symbol.for("nodejs.util.inspect.custom")]: fail }),
  "constructor-throws": () => Object.defineProperty({}, "constructor", { get: fail }),
  "message-throws-revoked": () => withField("message", { get: failWithRevoked }),
  revoked: () => revoked({}),
  "revoked-error": () => revoked(new Error("odd")),
  "revoked-function": () => revoked(() => {}),
  "proxy-whose-traps-throw": () => new Proxy(new Error("odd"), new Proxy({}, { get: fail })),
  "aggregate-of-odd": () => new AggregateError([revoked({}), null, withField("stack", { get: fail })]),
  promise: () => Promise.resolve("odd"),
  // oxlint-disable-next-line no-thenable -- an await of it throws
  thenable: () => Object.defineProperty({}, "then", { get: fail }),
};

function withField(name: string, field: PropertyDescriptor): Error {
  return Object.defineProperty(new Error("odd"), name, { configurable: true, ...field });
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function fail(): never {
  throw new Error("it must not be read");
}

function failWithRevoked(): never {
  // oxlint-disable-next-line only-throw-error -- this error cannot be read either
  throw revoked({});
}
