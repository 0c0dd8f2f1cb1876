import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { Ask, Event, SendOptions } from '@penstock/runtime/service.ts'
import { openWaits } from './commands/waits.ts'
import { createGateway, type Mount } from './http.ts'
import { listen } from './listen.ts'
import { pageHashOfOrder } from './pages/address.ts'
import type { Gateway } from './ports.ts'
import { gatewayProjections } from './views/projections.ts'

/** A fact without what the stage adds. */
export type Told = Pick<Fact, 'type' | 'data'>
export type Answering = (ask: Ask, options: SendOptions) => Promise<void> | void

type StageOptions = {
  /** What gossip knows of a node. */
  readonly addresses?: Gateway['peers']['addresses']
  /** Which hosts buyers may name; any where it is left out, as on networks for tests. */
  readonly hostGuard?: Gateway['hostGuard']
  readonly env?: Record<string, string>
  readonly mounts?: readonly Mount[]
  readonly ready?: () => string | undefined
}

/** A whole gateway over HTTP, with real read models and a test in the place of all other services. */
export async function stage({
  env = {},
  mounts = [],
  ready = () => undefined,
  addresses = unknownNode,
  hostGuard = null,
}: StageOptions = {}) {
  const views = openViews(':memory:')
  const config = readConfig({ PENSTOCK_BUY_ANSWER_SECONDS: '2', ...env })
  const pepper = new Uint8Array(32).fill(7)
  const waits = openWaits()
  const closing = new AbortController()
  const sent: { ask: Ask; options: SendOptions }[] = []
  const logged: object[] = []
  const warned: object[] = []
  const revisions = new Map<string, number>()
  let position = 0n
  let answering: Answering = () => undefined
  const projections = gatewayProjections(waits, (orderId) => pageHashOfOrder(pepper, orderId))
  for (const projection of projections) await projection.migrate(views)
  const log: Log = {
    debug: noLine,
    info: noLine,
    warn: (fields) => warned.push(fields),
    error: (fields) => logged.push(fields),
    child: () => log,
  }

  /** Facts of one command, projected one after the other. */
  const happens = async (
    category: string,
    aggregateId: string,
    facts: readonly Told[],
    commandId = '00000000-0000-5000-8000-000000000000',
    at = Date.now(),
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
        ...(index < facts.length - 1 && { more: true as const }),
        fact: { type, v: 1, data },
      }
      for (const projection of projections.filter(({ from }) => from.some((contract) => contract.category === category))) {
        await views.db.transaction().execute((trx) => projection.apply(trx, event))
        projection.committed?.([event])
      }
    }
  }
  const outcome = async (
    { category, id }: Ask,
    { commandId }: SendOptions,
    refused: { code: string; message: string } | null,
  ) => {
    const told = {
      commandId,
      category,
      aggregateId: id,
      revision: revisions.get(`${category}-${id}`) ?? ('none' as const),
      refused,
      at: Date.now(),
    }
    const projection = projections.find(({ from }) => from.some((contract) => contract.category === category))
    await views.db.transaction().execute(async (trx) => projection?.outcome?.(trx, told))
    projection?.outcomeCommitted?.(told)
  }
  const send = async (ask: Ask, options: SendOptions): Promise<void> => {
    sent.push({ ask, options })
    await answering(ask, options)
  }

  const ports = {
    views,
    records: await sqlRecords(views),
    limits: await sqlLimits(views),
    config,
    log,
    clock: systemClock,
    ids: systemIds(),
    readiness: async () => ready(),
    peers: { addresses },
    hostGuard,
  }
  const { app, gateway, close } = await createGateway({
    ports,
    send,
    waits,
    pepper,
    mounts,
    baseUrl: () => 'https://market.example',
    closing: closing.signal,
  })
  const server = await listen(app, { host: '127.0.0.1', port: 0 })
  const base = `http://127.0.0.1:${server.port}`
  return {
    base,
    gateway,
    sent,
    logged,
    warned,
    happens,
    /** Tells the caller that nothing changed, or why it is refused. */
    outcome,
    /** What the other services do with a command. */
    answers: (how: Answering) => {
      answering = how
    },
    gql: (query: string, variables?: object, key?: string, from?: string) =>
      graphql(base, query, variables, {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(from && { 'x-forwarded-for': from }),
      }),
    closeServer: () => server.close(),
    /** Tells whoever keeps a connection open that the service stops. */
    stop: () => closing.abort(),
    close: async () => {
      closing.abort()
      await server.close(0)
      await close()
      await views.close()
    },
  }
}
export type Stage = Awaited<ReturnType<typeof stage>>

const unknownNode: Gateway['peers']['addresses'] = async () => ({ alias: '', sockets: [] })
const noLine = (): void => undefined

export type GraphqlAnswer = {
  readonly status: number
  readonly headers: Headers
  /** Tests read it by path: see `at`. */
  readonly data?: unknown
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly string[]
    readonly extensions: Readonly<Record<string, unknown>>
  }[]
}

async function graphql(
  base: string,
  query: string,
  variables: object | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<GraphqlAnswer> {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  })
  const body = (await response.json()) as object // an answer's body is always an object
  return { status: response.status, headers: response.headers, ...body }
}

/** The value at a path of an answer, `liquidity.buy.order`. */
export function at(answer: GraphqlAnswer, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], answer.data) // tests know the shape
}
