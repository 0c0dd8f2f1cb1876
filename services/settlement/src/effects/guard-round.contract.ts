import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import { E, HASH, ORDER, seller, stranger } from '../samples.contract.ts'
import type { Settlement } from '../state.ts'
import { custody } from './custody.ts'
import type { guardJob } from './guard.ts'
import type { Jobs } from './record.ts'

export const away = (): Promise<never> => Promise.reject(new Fault('no answer'))
export const silent = (): Promise<never> => new Promise(() => undefined)
export const heldInvoice: Invoice = {
  paymentHash: HASH,
  request: '',
  amountMsat: 5_000_000n,
  state: 'held',
  htlcs: [{ amountMsat: 5_000_000n, expiryHeight: E, peer: stranger, state: 'held', acceptedAt: null }],
}

/** A second is a turn of the event loop: what answers at once is in time, and the shorter limit ends first. */
async function pass(ms: number): Promise<void> {
  for (let second = 0; second < ms; second += 1000) await new Promise((resolve) => setImmediate(resolve))
}

type World = {
  state: Settlement
  tip?: () => Promise<unknown>
  /** Null: the node does not answer. */
  nodeHeight?: number | null
  /** It has come back a moment ago. */
  isNew?: boolean
  info?: () => Promise<unknown>
  /** Who answers as the node; nobody else than the orders' own where it is left out. */
  pubkey?: string
  held?: () => Promise<readonly Invoice[]>
  find?: () => Promise<Invoice | undefined>
  output?: () => Promise<unknown>
  probe?: () => Promise<unknown>
  /** Of our graph: the channel, undefined where it is not there. */
  announced?: () => Promise<unknown>
  unfinished?: () => Promise<readonly string[]>
  keeping?: ReturnType<typeof custody>
  /** An order whose stream cannot be read. */
  broken?: string
  /** What the streams of other orders come to; that of every order is `state` where it is left out. */
  stateOf?: (orderId: string) => Settlement
  onWord?: () => void
  errors?: unknown[]
  waits?: number[]
  now?: number
  /** Whether the buyer's node answers, and the addresses at which it was tried. */
  answers?: boolean
  tries?: string[]
  /** Ids of the commands that were decided. */
  ids?: string[]
}
/** One round of a guard over one order, in a world that answers as it is told. @returns what was decided */
export async function round(job: typeof guardJob, world: World) {
  const {
    state,
    tip = away,
    nodeHeight = 0,
    isNew = false,
    held = () => Promise.resolve([]),
    output = away,
    probe = silent,
    announced = () => Promise.resolve(undefined),
  } = world
  const { find = () => Promise.resolve(undefined), unfinished = () => Promise.resolve([ORDER]) } = world
  const { keeping = custody(), broken, errors = [], waits = [], tries = [], ids = [] } = world
  const info = () =>
    nodeHeight === null
      ? away()
      : Promise.resolve({ height: nodeHeight, pubkey: world.pubkey, synced: true, graphSynced: !isNew })
  const said: Ask['command'][] = []
  const stop = new AbortController()
  let looks = 0
  const context = {
    ports: {
      log: { error: (about: unknown) => errors.push(about), warn: () => undefined },
      config: { heldPerPeer: 50 },
      // The second look of the clock is the end of the test.
      clock: {
        now: () => world.now ?? 0,
        monotonicMs: () => world.now ?? 0,
        sleep: (ms: number) => {
          waits.push(ms)
          if (ms !== 30_000 && ms !== 5000) return pass(ms)
          if (++looks > 1) stop.abort()
          return Promise.resolve()
        },
      },
      chain: {
        tip,
        output,
        async *tips() {
          yield await tip()
        },
      },
      lightning: {
        info: world.info ?? info,
        holds: { held, find },
        peers: {
          isConnected: () => Promise.resolve(false),
          addresses: () => Promise.resolve({ alias: '', sockets: [] }),
          connect: (_: string, socket: string) => {
            tries.push(socket)
            return Promise.resolve(world.answers ?? false)
          },
        },
        graph: { channel: announced, between: () => Promise.resolve([]), probe },
        messages: { recover: () => Promise.resolve(seller) },
      },
    },
    unfinished,
    load: (_: unknown, orderId: string) =>
      orderId === broken ? away() : Promise.resolve({ state: world.stateOf?.(orderId) ?? state, revision: 1 }),
    decide: (ask: Ask, id: string) => {
      said.push(ask.command)
      ids.push(id)
      world.onWord?.()
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
    advance: () => Promise.resolve(),
  }
  // Only what the guard calls is there.
  await job(keeping).run(context as unknown as Jobs, stop.signal)
  return said
}

export const at = (height: number) => () => Promise.resolve({ height, hash: 'h', synced: true })
