import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createAdaptiveLimit } from '@penstock/runtime/commands/adaptive-limit.ts'
import { deriveCheckoutToken, type Pepper } from '@penstock/credentials/credentials.ts'
import { type Service, defineService } from '@penstock/runtime/service.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { type DocumentNode, execute, GraphQLError, parse } from 'graphql'
import { openCommands } from './commands/commands.ts'
import type { CommandAnswer } from './commands/answer-lookup.ts'
import { openReadModelWaiters } from './commands/read-model-waiters.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import type { GraphqlContext } from './http/graphql/context.ts'
import { schema } from './http/graphql/schema.ts'
import { createOrder } from './lsps1/create-order.ts'
import { getInfo } from './lsps1/info.ts'
import { createOrderBody } from './lsps1/schemas.ts'
import { pruneQuota } from './market/purchase/order-quota.ts'
import { hashOrderPage } from './pages/page-url.ts'
import type { RefundTexts } from './market/refund/give-refund-invoice.ts'
import { refundByPage } from './pages/routes.ts'
import type { Gateway, GatewayPorts } from './ports.ts'
import { openNodeDirectory } from './node-directory.ts'
import { pruneCommands } from './commands/command-outcomes.ts'
import { createGatewayProjections } from './projections.ts'
import { authenticateCallers } from './http/request-callers.ts'

/** The public interface without HTTP: the operations behind GraphQL, LSPS1, the pages and the operators' routes. */
export type InProcessGateway = {
  readonly gateway: Gateway
  /** Runs one GraphQL request. @returns its JSON answer */
  readonly graphql: (query: string, variables: object, bearer?: string) => Promise<InProcessAnswer>
  /** Sends an operator's command, as the operator's routes do. @throws Fault if this release has no such command or field */
  readonly sendCommand: (request: AddressedCommand) => Promise<CommandAnswer>
  /** Submits the form on the order's page. @returns the reason if the invoice is not accepted */
  readonly submitRefundInvoice: (orderId: string, texts: RefundTexts) => Promise<string | undefined>
  readonly lsps1: {
    readonly getInfo: (type: LspType) => Promise<object>
    readonly createOrder: (type: LspType, body: object) => Promise<object>
  }
}
export type InProcessAnswer = {
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> }[]
}
type LspType = Parameters<typeof createOrder>[2]
type NodeSources = Parameters<typeof createOrder>[1]

type InProcessGatewayOptions = {
  readonly pepper: Pepper
  readonly clock: Clock
  readonly nodeSources: NodeSources
  readonly onOpened: (gateway: InProcessGateway) => void
}

/** Creates a gateway for tests without sockets, with the read models, commands and operations of the real gateway. */
export function createInProcessGateway({ pepper, clock, nodeSources, onOpened }: InProcessGatewayOptions): Service<GatewayPorts> {
  const waiters = openReadModelWaiters(clock)
  return defineService<GatewayPorts>('gateway', {
    projections: createGatewayProjections(waiters, (orderId) => hashOrderPage(pepper, orderId)),
    jobs: [
      {
        name: 'door',
        run: async ({ ports, send }, closing) => {
          const { views, ids, peers } = ports
          const commands = openCommands({ views, clock, ids, waiters, send })
          const lookUpNode = openNodeDirectory(peers, clock)
          const baseUrl = () => 'https://market.example'
          const admission = createAdaptiveLimit(clock, ports.config.buyAnswerSeconds * SECOND_MS)
          const gateway = { ...ports, lookUpNode, admission, commands, waiters, send, pepper, closing, baseUrl }
          onOpened(toInProcessGateway(gateway, nodeSources))
          await new Promise<void>((stop) => closing.addEventListener('abort', () => stop(), { once: true }))
        },
      },
      {
        name: 'prune',
        run: async ({ ports: { views } }, signal) => {
          for (; !signal.aborted; await clock.sleep(HOUR_MS, signal)) {
            await pruneCommands(views, clock.now())
            await pruneQuota(views, clock.now())
          }
        },
      },
    ],
  })
}

const parsedDocuments = new Map<string, DocumentNode>()
const parseDocument = (query: string): DocumentNode => {
  const document = parsedDocuments.get(query) ?? parse(query)
  parsedDocuments.set(query, document)
  return document
}

const IP = '127.0.0.1'
const OPERATOR_TIMEOUT_MS = 10_000

function toInProcessGateway(gateway: Gateway, nodeSources: NodeSources): InProcessGateway {
  return {
    gateway,
    async graphql(query, variables, bearer) {
      try {
        const authorization = bearer === undefined ? undefined : `Bearer ${bearer}`
        const authentication = await authenticateCallers(gateway, { authorization, apiKey: undefined }, IP)
        const contextValue: GraphqlContext = {
          gateway,
          authentication,
          ip: IP,
          isGet: false,
          runSerially: createMutex(),
          countedUses: new Map(),
          extensions: {},
        }
        const result = await execute({ schema, document: parseDocument(query), variableValues: { ...variables }, contextValue })
        return { data: result.data, ...(result.errors && { errors: result.errors.map(toAnswerError) }) }
      } catch (error) {
        return { errors: [toAnswerError(error)] }
      }
    },
    async sendCommand(request) {
      const shape = contractOf(request.category).commands[request.command.type]
      if (!shape?.schema.safeParse(request.command.data).success) throw new Fault(`this release lacks ${request.command.type}`)
      return gateway.commands.sendAndWait(request, { until: gateway.clock.monotonicMs() + OPERATOR_TIMEOUT_MS })
    },
    async submitRefundInvoice(orderId, texts) {
      const answer = await refundByPage(gateway, deriveCheckoutToken(gateway.pepper, orderId), texts)
      return answer === 'missing' ? 'There is no such page.' : answer?.refundError
    },
    lsps1: {
      getInfo: (type) => getInfo(gateway, nodeSources, type),
      createOrder: (type, body) => createOrder(gateway, nodeSources, type, createOrderBody.parse(body), IP),
    },
  }
}

/** Unwraps the error that GraphQL wrapped. An internal error shows its reason, because no test reads the log. */
function toAnswerError(error: unknown): NonNullable<InProcessAnswer['errors']>[number] {
  const root = error instanceof GraphQLError ? (error.originalError ?? error) : error
  return root instanceof GraphQLError
    ? { message: root.message, extensions: root.extensions }
    : { message: String(root), extensions: { code: 'INTERNAL_SERVER_ERROR' } }
}
