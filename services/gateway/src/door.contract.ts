import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { HOUR_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { checkoutToken, type Pepper } from '@penstock/runtime/credentials.ts'
import { type Ask, type Service, service } from '@penstock/runtime/service.ts'
import { type DocumentNode, execute, GraphQLError, parse } from 'graphql'
import { authenticate } from './callers.ts'
import { type Answer, openCommands } from './commands/commands.ts'
import { openWaits } from './commands/waits.ts'
import { type Context, turns } from './graphql/context.ts'
import { schema } from './graphql/schema.ts'
import { createOrder } from './lsps1/create-order.ts'
import { getInfo } from './lsps1/info.ts'
import { createOrderBody } from './lsps1/schemas.ts'
import { pruneSlots } from './operations/slots.ts'
import { pageHashOfOrder } from './pages/address.ts'
import * as pages from './pages/routes.ts'
import type { Gateway, GatewayPorts } from './ports.ts'
import { openNodeBook } from './read/node-book.ts'
import { pruneCommands } from './views/commands.ts'
import { gatewayProjections } from './views/projections.ts'

/** The public interface without HTTP: what stands behind the two doors. */
export type Door = {
  readonly gateway: Gateway
  /** One GraphQL request, as its JSON answer. */
  readonly graphql: (query: string, variables: object, bearer?: string) => Promise<DoorAnswer>
  /** Sends an operator's command, as the operator's routes do. @throws Fault where this release has no such route or field */
  readonly ask: (wish: Ask) => Promise<Answer>
  /** The form on the order's page. @returns why the invoice is not taken */
  readonly refund: (orderId: string, request: string) => Promise<string | undefined>
  readonly lsps1: {
    readonly getInfo: (type: LspType) => Promise<object>
    readonly createOrder: (type: LspType, body: object) => Promise<object>
  }
}
export type DoorAnswer = {
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> }[]
}
type LspType = Parameters<typeof createOrder>[2]
type Outside = Parameters<typeof createOrder>[1]

type DoorOptions = {
  readonly pepper: Pepper
  readonly clock: Clock
  readonly outside: Outside
  readonly opened: (door: Door) => void
}

/** A gateway for worlds without sockets: the read models, the commands and the operations of the real one. */
export function gatewayWithoutHttp({ pepper, clock, outside, opened }: DoorOptions): Service<GatewayPorts> {
  const waits = openWaits(clock)
  return service<GatewayPorts>('gateway', {
    projections: gatewayProjections(waits, (orderId) => pageHashOfOrder(pepper, orderId)),
    jobs: [
      {
        name: 'door',
        run: async ({ ports, send }, closing) => {
          const { views, ids, peers } = ports
          const commands = openCommands({ views, clock, ids, waits, send })
          const nodes = openNodeBook(peers, clock)
          const baseUrl = () => 'https://market.example'
          opened(doorOf({ ...ports, nodes, commands, waits, send, pepper, closing, baseUrl }, outside))
          await new Promise<void>((stop) => closing.addEventListener('abort', () => stop(), { once: true }))
        },
      },
      {
        name: 'prune',
        run: async ({ ports: { views } }, signal) => {
          for (; !signal.aborted; await clock.sleep(HOUR_MS, signal)) {
            await pruneCommands(views, clock.now())
            await pruneSlots(views, clock.now())
          }
        },
      },
    ],
  })
}

const documents = new Map<string, DocumentNode>()
const documentOf = (query: string): DocumentNode => {
  const known = documents.get(query) ?? parse(query)
  documents.set(query, known)
  return known
}

const IP = '127.0.0.1'
const OPERATORS_PATIENCE_MS = 10_000

function doorOf(gateway: Gateway, outside: Outside): Door {
  return {
    gateway,
    async graphql(query, variables, bearer) {
      try {
        const caller = await authenticate(gateway, bearer === undefined ? undefined : `Bearer ${bearer}`, IP)
        const contextValue: Context = { gateway, caller, ip: IP, requestId: 'simulated', inTurn: turns() }
        const result = await execute({ schema, document: documentOf(query), variableValues: { ...variables }, contextValue })
        return { data: result.data, ...(result.errors && { errors: result.errors.map(said) }) }
      } catch (error) {
        return { errors: [said(error)] }
      }
    },
    async ask(wish) {
      const shape = contractOf(wish.category).commands[wish.command.type]
      if (!shape?.schema.safeParse(wish.command.data).success) throw new Fault(`this release does not take ${wish.command.type}`)
      return gateway.commands.ask(wish, { until: gateway.clock.now() + OPERATORS_PATIENCE_MS })
    },
    async refund(orderId, request) {
      // A page of an earlier release has no such form; another gateway may.
      if (!('refundByPage' in pages)) throw new Fault('this page has no form for a refund')
      const answer = await pages.refundByPage(gateway, checkoutToken(gateway.pepper, orderId), { request })
      return answer === 'missing' ? 'There is no such page.' : answer?.refundError
    },
    lsps1: {
      getInfo: (type) => getInfo(gateway, outside, type),
      createOrder: (type, body) => createOrder(gateway, outside, type, createOrderBody.parse(body), IP),
    },
  }
}

/** A fault of ours leaves with its reason here, since no log is read. A refusal comes wrapped with its place in the document. */
function said(error: unknown): NonNullable<DoorAnswer['errors']>[number] {
  const root = error instanceof GraphQLError ? (error.originalError ?? error) : error
  return root instanceof GraphQLError
    ? { message: root.message, extensions: root.extensions }
    : { message: String(root), extensions: { code: 'INTERNAL_SERVER_ERROR' } }
}
