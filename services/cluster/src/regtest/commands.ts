import { z } from 'zod'
import type { ControlRequest } from '../launcher/control-socket.ts'
import type { RegtestNetwork } from './network.ts'
import { payFromNode, findRegtestPayment } from './pay-from-node.ts'

/** Stops and starts a seller's agent, by the alias of its node. */
export type SellerAgents = {
  stop(alias: string): Promise<void>
  start(alias: string): void
}

const alias = z.string().max(64)
const BLOCK_COUNT_RULE = 'Say how many blocks to make at once: a whole number from 1 to 1000.'
const bodies = {
  pay: z.strictObject({ invoice: z.string().max(4096), from: alias.optional() }),
  payment: z.strictObject({
    hash: z
      .string()
      .toLowerCase()
      .regex(/^[0-9a-f]{64}$/, 'A payment hash has 64 hex digits.'),
  }),
  channels: z.strictObject({ alias }),
  mine: z.strictObject({ blocks: z.int(BLOCK_COUNT_RULE).min(1, BLOCK_COUNT_RULE).max(1000, BLOCK_COUNT_RULE) }),
  kill: z.strictObject({ alias }),
  agent: z.strictObject({ alias, what: z.enum(['stop', 'start']) }),
}

/** Answers the requests of `penstock regtest`. */
export function createCommandHandler(network: RegtestNetwork, agents: SellerAgents): (asked: ControlRequest) => Promise<unknown> {
  const { servers, nodes, nodeByAlias, nodesWithRole, mine } = network
  const handlers: Readonly<Record<string, (body: unknown) => unknown>> = {
    '/nodes': () =>
      nodes.map(({ role, lnd, info }) => ({
        alias: lnd.alias,
        role,
        pubkey: info.pubkey,
        uri: `${info.pubkey}@${lnd.socket}`,
        version: info.version,
      })),
    '/pay'(body) {
      const { invoice, from = nodesWithRole('buyer')[0]?.alias ?? '' } = parseBody(bodies.pay, body)
      return payFromNode(network, nodeByAlias(from), invoice)
    },
    '/payment': (body) => findRegtestPayment(network, parseBody(bodies.payment, body).hash),
    async '/channels'(body) {
      const channels = await nodeByAlias(parseBody(bodies.channels, body).alias).lightning.channels.list()
      // Pending channels are omitted, because a pending channel may never open.
      const usable = channels.filter(({ state }) => state === 'active' || state === 'inactive')
      return usable.map(({ outpoint, capacitySat, peer, state, isPrivate }) => ({
        outpoint,
        capacity_sat: `${capacitySat}`,
        peer,
        active: state === 'active',
        private: isPrivate,
      }))
    },
    async '/mine'(body) {
      await mine(parseBody(bodies.mine, body).blocks)
      return { height: await servers.chain.rpc<number>('getblockcount') }
    },
    async '/kill'(body) {
      const { alias: killed } = parseBody(bodies.kill, body)
      await (killed === 'btcd' ? servers.chain : nodeByAlias(killed).lnd).kill()
      return { killed }
    },
    async '/agent'(body) {
      const { alias: name, what } = parseBody(bodies.agent, body)
      if (what === 'stop') await agents.stop(name)
      else agents.start(name)
      return { alias: name, agent: what === 'stop' ? 'stopped' : 'started' }
    },
  }
  return async ({ path, body }) => {
    const answer = handlers[path]
    if (!answer) throw new Error(`There is no ${path}: this launcher is of another version.`)
    return answer(body)
  }
}

function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw new Error(result.error.issues.map(({ message }) => message).join('; '))
}
