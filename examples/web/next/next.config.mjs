// The agents are behind the address of the pages, so a browser asks no other origin.
const agents = process.env["TROUPE_URL"] ?? "http://127.0.0.1:4100";

export default {
  reactStrictMode: true,
  rewrites: () => [{ source: "/agents/:path*", destination: `${agents}/:path*` }],
};
