import { z } from 'zod'
import type { Asked } from '../launcher/door.ts'
import type { Network } from './network.ts'
import { pay, paymentOf } from './pay.ts'

/** Whoever sells can be sent away and brought back. */
export type Agents = {
  stop(alias: string): Promise<void>
  start(alias: string): void
}

const alias = z.string().max(64)
const HOW_MANY = 'Say how many blocks to make at once: a whole number from 1 to 1000.'
const bodies = {
  pay: z.strictObject({ invoice: z.string().max(4096), from: alias.optional() }),
  payment: z.strictObject({
    hash: z
      .string()
      .toLowerCase()
      .regex(/^[0-9a-f]{64}$/, 'A payment hash has 64 hex digits.'),
  }),
  channels: z.strictObject({ alias }),
  mine: z.strictObject({ blocks: z.int(HOW_MANY).min(1, HOW_MANY).max(1000, HOW_MANY) }),
  kill: z.strictObject({ alias }),
  agent: z.strictObject({ alias, what: z.enum(['stop', 'start']) }),
}

/** What `penstock regtest` asks. */
export function commandsOf(network: Network, agents: Agents): (asked: Asked) => Promise<unknown> {
  const { servers, people, person, having, mine } = network
  const answers: Readonly<Record<string, (body: unknown) => unknown>> = {
    '/nodes': () =>
      people.map(({ role, node, info }) => ({
        alias: node.alias,
        role,
        pubkey: info.pubkey,
        uri: `${info.pubkey}@${node.socket}`,
        version: info.version,
      })),
    '/pay'(body) {
      const { invoice, from = having('buyer')[0]?.alias ?? '' } = parsed(bodies.pay, body)
      return pay(network, person(from), invoice)
    },
    '/payment': (body) => paymentOf(network, parsed(bodies.payment, body).hash),
    async '/channels'(body) {
      const channels = await person(parsed(bodies.channels, body).alias).lightning.channels.list()
      // A pending one may never come to be.
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
      await mine(parsed(bodies.mine, body).blocks)
      return { height: await servers.chain.rpc<number>('getblockcount') }
    },
    async '/kill'(body) {
      const { alias: killed } = parsed(bodies.kill, body)
      await (killed === 'btcd' ? servers.chain : person(killed).node).kill()
      return { killed }
    },
    async '/agent'(body) {
      const { alias: name, what } = parsed(bodies.agent, body)
      if (what === 'stop') await agents.stop(name)
      else agents.start(name)
      return { alias: name, agent: what === 'stop' ? 'stopped' : 'started' }
    },
  }
  return async ({ path, body }) => {
    const answer = answers[path]
    if (!answer) throw new Error(`There is no ${path}: this launcher is of another version.`)
    return answer(body)
  }
}

function parsed<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw new Error(result.error.issues.map(({ message }) => message).join('; '))
}
