/** Far below Node's defaults: a deliberately slow client must not occupy connections. */
export const CONNECTION_TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const;
