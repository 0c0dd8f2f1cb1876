import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { E, HASH, ORDER_ID, seller, stranger } from '../../samples.fixture.ts'
import type { Settlement } from '../../state.ts'
import { newGuardState } from './guard-state.ts'
import type { guardJob } from './guard.ts'
import type { SettlementJobContext } from '../stream-access.ts'

export const failWithFault = (): Promise<never> => Promise.reject(new Fault('no answer'))
export const neverAnswer = (): Promise<never> => new Promise(() => undefined)
export const heldInvoice: Invoice = {
  paymentHash: HASH,
  request: '',
  amountMsat: 5_000_000n,
  state: 'held',
  htlcs: [{ amountMsat: 5_000_000n, expiryHeight: E, peer: stranger, state: 'held', acceptedAt: null }],
}

/** Runs one turn of the event loop per second of `ms`. So immediate answers are in time, and a shorter timeout ends first. */
async function passTime(ms: number): Promise<void> {
  for (let second = 0; second < ms; second += 1000) await new Promise((resolve) => setImmediate(resolve))
}

type GuardScenario = {
  state: Settlement
  tip?: () => Promise<unknown>
  /** Null: the node does not answer. */
  nodeHeight?: number | null
  /** The node has just restarted and is not in sync. */
  isNew?: boolean
  info?: () => Promise<unknown>
  /** Pubkey of the node that answers; by default the node of the orders. */
  pubkey?: string
  held?: () => Promise<readonly Invoice[]>
  find?: () => Promise<Invoice | undefined>
  output?: () => Promise<unknown>
  probe?: () => Promise<unknown>
  /** Answer of our graph: the channel, or undefined if the graph does not contain it. */
  announced?: () => Promise<unknown>
  unfinished?: () => Promise<readonly string[]>
  keeping?: ReturnType<typeof newGuardState>
  /** An order whose stream cannot be read. */
  broken?: string
  /** State of each order from its stream; by default `state` for every order. */
  stateOf?: (orderId: string) => Settlement
  onCommand?: () => void
  errors?: unknown[]
  waits?: number[]
  now?: number
  /** Whether the buyer's node answers, and the addresses at which it was tried. */
  answers?: boolean
  tries?: string[]
  /** Ids of the commands that were decided. */
  ids?: string[]
}
/** Runs one round of a guard over one order, with answers by the scenario. @returns the commands that were decided */
export async function runGuardRound(job: typeof guardJob, scenario: GuardScenario) {
  const {
    state,
    tip = failWithFault,
    nodeHeight = 0,
    isNew = false,
    held = () => Promise.resolve([]),
    output = failWithFault,
    probe = neverAnswer,
    announced = () => Promise.resolve(undefined),
  } = scenario
  const { find = () => Promise.resolve(undefined), unfinished = () => Promise.resolve([ORDER_ID]) } = scenario
  const { keeping = newGuardState(), broken, errors = [], waits = [], tries = [], ids = [] } = scenario
  const info = () =>
    nodeHeight === null
      ? failWithFault()
      : Promise.resolve({ height: nodeHeight, pubkey: scenario.pubkey, synced: true, graphSynced: !isNew })
  const commands: AddressedCommand['command'][] = []
  const stop = new AbortController()
  let waitsForRound = 0
  const context = {
    ports: {
      log: { error: (about: unknown) => errors.push(about), warn: () => undefined },
      config: { heldPerPeer: 50 },
      // The second wait of a job for its next round ends the test.
      clock: {
        now: () => scenario.now ?? 0,
        monotonicMs: () => scenario.now ?? 0,
        sleep: (ms: number) => {
          waits.push(ms)
          if (ms !== 30_000 && ms !== 5000) return passTime(ms)
          if (++waitsForRound > 1) stop.abort()
          return Promise.resolve()
        },
      },
      chain: {
        sees: { mempool: true },
        tip,
        output,
        async *tips() {
          yield await tip()
        },
      },
      lightning: {
        info: scenario.info ?? info,
        holds: { held, find },
        peers: {
          isConnected: () => Promise.resolve(false),
          addresses: () => Promise.resolve({ alias: '', sockets: [] }),
          connect: (_: string, socket: string) => {
            tries.push(socket)
            return Promise.resolve(scenario.answers ?? false)
          },
        },
        graph: { channel: announced, between: () => Promise.resolve([]), probe },
        messages: { recover: () => Promise.resolve(seller) },
      },
    },
    listOpenStreams: unfinished,
    load: (_: unknown, orderId: string) =>
      orderId === broken ? failWithFault() : Promise.resolve({ state: scenario.stateOf?.(orderId) ?? state, revision: 1 }),
    decide: (addressed: AddressedCommand, id: string) => {
      commands.push(addressed.command)
      ids.push(id)
      scenario.onCommand?.()
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
    runProcess: () => Promise.resolve(),
  }
  // The fake contains only what the guard calls.
  await job(keeping).run(context as unknown as SettlementJobContext, stop.signal)
  return commands
}

export const tipAt = (height: number) => () => Promise.resolve({ height, hash: 'h', synced: true })
