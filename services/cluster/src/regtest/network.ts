import { setTimeout as sleep } from 'node:timers/promises'
import { lndNode } from '@penstock/platforms/lnd-node.ts'
import { type LightningServers, startLightning } from '@penstock/servers/lightning.ts'
import type { Tell } from '../launcher/child.ts'
import { keepUp, type Startable } from '../launcher/keep-up.ts'
import { channelsStand, coinsAreThere } from './liquidity.ts'
import { CLOCK } from './clock.ts'
import { groundOf, type Mine, miningOn } from './mining.ts'
import type { Person, Role } from './person.ts'

/** The nodes in the order of their ports: new ones come last, or a kept folder would mix them up. */
const PEOPLE: readonly { readonly alias: string; readonly role: Role }[] = [
  { alias: 'market', role: 'market' },
  { alias: 'seller-ada', role: 'seller' },
  { alias: 'seller-bob', role: 'seller' },
  { alias: 'buyer', role: 'buyer' },
  { alias: 'buyer-two', role: 'buyer' },
]

export type Network = {
  readonly servers: LightningServers
  readonly people: readonly Person[]
  /** @throws Error that names those there are */
  readonly person: (alias: string) => Person
  readonly having: (role: Role) => readonly Person[]
  /** With time for the guard between the blocks, which `servers.mine` does not give. */
  readonly mine: Mine
  readonly stop: () => Promise<void>
}

const FRESHEN_EVERY_MS = 600_000

/** btcd and the nodes of all people, with coins and channels; what dies is started again. */
export async function startNetwork(folder: string, tell: Tell, over: AbortSignal): Promise<Network> {
  const servers = await startLightning({ nodes: PEOPLE.map(({ alias }) => alias), dir: folder })
  const keeping = [
    keepUp('btcd', chainOf(servers), tell),
    ...servers.nodes.map((node) => keepUp(node.alias === 'market' ? "the market's lnd" : `${node.alias}'s lnd`, node, tell)),
  ]
  const stale = new AbortController()
  const freshening = freshen(servers, stale.signal)
  const stop = async (): Promise<void> => {
    stale.abort()
    const kept = keeping.map((one) => one.stop())
    // Twice, since one that died a moment ago may just be starting. The chain outlives those who follow it.
    for (const again of [false, true]) {
      await Promise.all(servers.nodes.map((node) => node.stop()))
      if (again) await servers.chain.stop()
      else await Promise.all([...kept, freshening])
    }
  }
  try {
    over.throwIfAborted()
    const people = await Promise.all(PEOPLE.map((one) => personOf(one, servers)))
    const having = (role: Role) => people.filter((one) => one.role === role)
    const [market] = having('market')
    if (!market) throw new Error('the network has no market')
    await coinsAreThere(servers, people, over)
    await channelsStand(servers, [
      ...having('buyer').map((buyer) => [buyer, market] as const),
      ...having('seller').map((seller) => [market, seller] as const),
    ])
    over.throwIfAborted()
    const mine = miningOn(groundOf(servers, market), CLOCK)
    return { servers, people, having, mine, stop, person: (alias) => called(people, alias) }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A chain that is started again gets its blocks anew, one after the other: the nodes start again when it has them. */
const chainOf = ({ chain, nodes }: LightningServers): Startable => ({
  get pid() {
    return chain.pid
  },
  async start() {
    await chain.start()
    await Promise.all(nodes.map((node) => node.kill()))
  },
})

async function personOf({ alias, role }: (typeof PEOPLE)[number], servers: LightningServers): Promise<Person> {
  const node = servers.node(alias)
  const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = node
  const lightning = lndNode({ socket, certFile, macaroonFile })
  return { alias, role, node, lightning, info: await lightning.info() }
}

function called(people: readonly Person[], alias: string): Person {
  const person = people.find((one) => one.alias === alias)
  if (person) return person
  throw new Error(`There is no node ${alias}; there are ${people.map((one) => one.alias).join(', ')}.`)
}

/** Nobody mines for a day, and the nodes still work. */
async function freshen({ chain }: LightningServers, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await sleep(FRESHEN_EVERY_MS, undefined, { signal: over }).catch(() => undefined) // stopped while it waits
    // btcd may be down just now.
    if (!over.aborted) await chain.freshen().catch(() => undefined)
  }
}
