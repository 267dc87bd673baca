// Where the pages of each shop report broken goods. A delivery that comes again is the same request, so it is one turn.
import type { Adapter } from "troupe/http";
import { hmacSignature, webhook } from "troupe/webhooks";

const secrets = { acme: process.env["DESK_ACME"] ?? "", bolt: process.env["DESK_BOLT"] ?? "" };

export const adapters: Adapter[] = Object.entries(secrets).map(([shop, secret]) =>
  webhook({
    name: shop,
    owner: shop,
    agent: "desk",
    verify: hmacSignature({ header: "x-signature", secret }),
    toRequest({ body }) {
      const { delivery, name, order } = JSON.parse(body) as { readonly [field: string]: string };
      return { id: delivery ?? "", operation: "chat", input: { input: `${name}: refund ${order}` } };
    },
  }),
);
