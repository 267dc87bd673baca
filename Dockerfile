# A server for the agents of this directory. Your own project copies its agents instead of ./agents.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY .ci/node/package.json ./.ci/node/
COPY test/openapi/package.json ./test/openapi/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json vite.config.ts ./
COPY .ci/prune-dist.ts ./.ci/
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts
# What ./agents import beside the dependencies of troupe itself, and what --log needs.
RUN npm install --no-save --save-prod --omit=dev --ignore-scripts pdf-lib@1.17.1 pg@8.23.1

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# The schema of AIP; to serve it, also install @grpc/grpc-js and @grpc/proto-loader.
COPY --from=build /app/src/adapters/aip/wire/aip.proto ./src/adapters/aip/wire/aip.proto
COPY agents ./agents
RUN install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 4100
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4100/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# It listens on every interface of the container, and therefore refuses to start without TROUPE_TOKEN:
#   docker run -e TROUPE_TOKEN=… -v troupe:/data -p 127.0.0.1:4100:4100 IMAGE
CMD ["node", "dist/cli/main.js", "serve", "--host=0.0.0.0", "--data=/data"]
