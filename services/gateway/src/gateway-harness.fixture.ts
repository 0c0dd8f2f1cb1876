import { memoryVault } from '@penstock/adapters/memory/vault.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { readConfig } from '@penstock/config/config.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Event, SendOptions } from '@penstock/runtime/service.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { openReadModelWaiters } from './commands/read-model-waiters.ts'
import { createGatewayApp, type Mount } from './http/app.ts'
import { startHttpServer } from './http/http-server.ts'
import { hashOrderPage } from './pages/page-url.ts'
import type { Gateway } from './ports.ts'
import { createGatewayProjections } from './projections.ts'

/** The wall-clock time in every test of the gateway. It stands still. */
export const NOW = Date.parse('2026-11-20T12:00:00Z')

/** A fact without the fields that the harness adds. */
export type FactInput = Pick<Fact, 'type' | 'data'>
/** Answers a command in place of its service. @param ask the command that the gateway sent, with its address */
export type CommandResponder = (ask: AddressedCommand, options: SendOptions) => Promise<void> | void

export type GatewayHarnessOptions = {
  /** Looks up the alias and addresses of a node in gossip. */
  readonly addresses?: Gateway['peers']['addresses']
  /** Checks the hosts of buyers' nodes; by default every host passes, as on test networks. */
  readonly hostGuard?: Gateway['hostGuard']
  /** Checks the hosts of webhooks; by default every host passes. */
  readonly webhookGuard?: Gateway['webhookGuard']
  readonly env?: Record<string, string>
  readonly mounts?: readonly Mount[]
  readonly ready?: () => string | undefined
  readonly clock?: Clock
  readonly log?: Logger
  readonly tracing?: Gateway['tracing']
}

/** Opens a gateway over HTTP with real read models; the test answers in place of all other services. */
export async function openGatewayHarness({
  env = {},
  mounts = [],
  ready = () => undefined,
  addresses = describeUnknownNode,
  hostGuard = null,
  webhookGuard = async () => ({ allowed: true, host: '8.8.8.8' }),
  clock = { ...systemClock, now: () => NOW },
  log: givenLog,
  tracing,
}: GatewayHarnessOptions = {}) {
  const views = openViews(':memory:')
  // The longest limit, so that a slow machine answers in time. A test of a late answer uses an instant clock.
  const config = readConfig({ PENSTOCK_BUY_ANSWER_SECONDS: '60', ...env })
  const pepper = new Uint8Array(32).fill(7)
  const waiters = openReadModelWaiters(clock)
  const closing = new AbortController()
  const sent: { ask: AddressedCommand; options: SendOptions }[] = []
  const loggedErrors: object[] = []
  const loggedWarnings: object[] = []
  const revisions = new Map<string, number>()
  let position = 0n
  let responder: CommandResponder = () => undefined
  const projections = createGatewayProjections(waiters, (orderId) => hashOrderPage(pepper, orderId))
  for (const projection of projections) await projection.migrate(views)
  const log: Logger = givenLog ?? {
    debug: discardLine,
    info: discardLine,
    warn: (fields) => loggedWarnings.push(fields),
    error: (fields) => loggedErrors.push(fields),
    child: () => log,
  }

  /** Projects the facts of one command, one after the other. */
  const projectFacts = async (
    category: string,
    aggregateId: string,
    facts: readonly FactInput[],
    commandId = '00000000-0000-5000-8000-000000000000',
    at = NOW,
  ) => {
    for (const [index, { type, data }] of facts.entries()) {
      const stream = `${category}-${aggregateId}`
      const revision = (revisions.get(stream) ?? -1) + 1
      revisions.set(stream, revision)
      const id = `${stream}/${revision}`
      const event: Event = {
        id,
        category,
        aggregateId,
        revision,
        position: position++,
        at,
        commandId,
        correlation: aggregateId,
        ...(index < facts.length - 1 && { hasMore: true as const }),
        fact: { type, v: 1, data },
      }
      for (const projection of projections.filter(({ from }) => from.some((contract) => contract.category === category))) {
        await views.db.transaction().execute((trx) => projection.apply(trx, [event]))
        projection.onCommitted?.([event])
      }
    }
  }
  const projectOutcome = async (
    { category, id }: AddressedCommand,
    { commandId }: SendOptions,
    refused: { code: string; message: string } | null,
  ) => {
    const outcomeMessage = {
      commandId,
      category,
      aggregateId: id,
      revision: revisions.get(`${category}-${id}`) ?? ('none' as const),
      refused,
      at: NOW,
    }
    const projection = projections.find(({ from }) => from.some((contract) => contract.category === category))
    await views.db.transaction().execute(async (trx) => projection?.outcome?.(trx, outcomeMessage))
    projection?.onOutcomeCommitted?.(outcomeMessage)
  }
  const send = async (ask: AddressedCommand, options: SendOptions): Promise<void> => {
    sent.push({ ask, options })
    await responder(ask, options)
  }

  const ports = {
    views,
    records: await sqlRecords(views),
    deliveryLog: await sqlDeliveries(views),
    limits: await sqlLimits(views),
    config,
    log,
    clock,
    ids: systemIds(),
    readiness: async () => ready(),
    hasSpaceForOrders: () => true,
    peers: { addresses },
    hostGuard,
    webhookGuard,
    sealer: memoryVault(pepper),
    ...(tracing && { tracing }),
  }
  const { app, gateway, close } = await createGatewayApp({
    ports,
    send,
    waiters,
    pepper,
    mounts,
    baseUrl: () => 'https://market.example',
    closing: closing.signal,
  })
  const server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
  const base = `http://127.0.0.1:${server.port}`
  return {
    base,
    gateway,
    sent,
    loggedErrors,
    loggedWarnings,
    projectFacts,
    /** Creates an API key of this account. */
    async apiKey(account: string): Promise<string> {
      const key = newCredential('pak_', ports.ids)
      const data = {
        keyId: account,
        keyHash: hashCredential(pepper, key),
        prefix: 'pak_',
        suffix: 'x',
        // The id of the record with the key's name. This key has no name.
        nameRecord: null,
        expiresAt: null,
      }
      await projectFacts('account', account, [{ type: 'ApiKeyCreated', data }])
      return key
    },
    /** Projects the outcome of a command that added no fact: it changed no state, or it was refused. */
    projectOutcome,
    /** Replaces the stub that answers commands for the other services. */
    respondWith: (newResponder: CommandResponder) => {
      responder = newResponder
    },
    gql: (query: string, variables?: object, key?: string, from?: string) =>
      postGraphql(base, query, variables, {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(from && { 'x-forwarded-for': from }),
      }),
    /** Sends a document with these headers, such as `x-api-key`. */
    post: (query: string, variables: object, headers: Readonly<Record<string, string>>) =>
      postGraphql(base, query, variables, headers),
    /** Closes the server after its running requests. Only a hang reaches the limit. */
    closeServer: () => server.close(300_000),
    /** Signals the open connections that the service stops. */
    stop: () => closing.abort(),
    close: async () => {
      closing.abort()
      await server.close(0)
      await close()
      await views.close()
    },
  }
}
export type GatewayHarness = Awaited<ReturnType<typeof openGatewayHarness>>

const describeUnknownNode: Gateway['peers']['addresses'] = async () => ({ alias: '', sockets: [] })
const discardLine = (): void => undefined

export type GraphqlResult = {
  readonly status: number
  readonly headers: Headers
  /** Tests read a value by its path with `readPath`. */
  readonly data?: unknown
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly string[]
    readonly extensions: Readonly<Record<string, unknown>>
  }[]
}

async function postGraphql(
  base: string,
  query: string,
  variables: object | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<GraphqlResult> {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  })
  const body = (await response.json()) as object // an answer's body is always an object
  return { status: response.status, headers: response.headers, ...body }
}

/** Returns the value at a path of an answer, such as `liquidity.buy.order`. */
export function readPath(answer: Pick<GraphqlResult, 'data'>, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], answer.data) // tests know the shape
}
