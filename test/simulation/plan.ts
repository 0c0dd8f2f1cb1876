import type { Behaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { FaultPlan } from '@penstock/adapters/seeded/faults.ts'
import type { Death as DeathAtCall } from '@penstock/adapters/seeded/mortal.ts'
import type { Cue } from './cues.ts'

/** One buyer's intentions. Times are milliseconds of the simulated world. */
export type Purchase = {
  readonly atMs: number
  readonly buyer: string
  readonly by: 'buy' | 'lsps1' | 'manual'
  readonly options: { readonly private: boolean; readonly rails_cluster_only: boolean }
  readonly usdCents: number
  readonly then: 'pay' | 'pay twice' | 'pay too much' | 'pay at the last moment' | 'leave' | 'cancel' | 'pay and cancel'
  readonly afterMs: number
  /** What LSPS1 asks for. */
  readonly confirmations: number
}

/** What the world does meanwhile. */
export type Weather = { readonly atMs: number } & (
  | { readonly what: 'behave'; readonly alias: string; readonly how: Behaviour }
  | { readonly what: 'offline'; readonly alias: string; readonly forMs: number }
  | { readonly what: 'keep probes'; readonly alias: string; readonly forMs: number }
  | { readonly what: 'reorg'; readonly depth: number; readonly remine: boolean }
  /** A funding that waits in the mempool loses against another transaction. */
  | { readonly what: 'evict' }
  | { readonly what: 'close'; readonly force: boolean }
  | { readonly what: 'dear blocks'; readonly satPerVbyte: number; readonly forMs: number }
  | { readonly what: 'mine'; readonly blocks: number }
)

/** What people with a key or a token do by hand. */
export type Deed = { readonly atMs: number } & (
  | {
      readonly who: 'operator'
      readonly does: 'close an order' | 'disable an offer' | 'enable the offers' | 'grant rails' | 'revoke rails'
    }
  | { readonly who: string; readonly does: 'toggle' | 'new terms' }
)

/** How a seller that is asked first answers. */
export type Answering = 'accepts' | 'rejects' | 'says nothing'

export type Seller = {
  readonly alias: string
  readonly standing: boolean
  readonly answers: Answering
  readonly isScarce: boolean
}

/** A process dies at an instant, whatever it does just then, and is started again after a while. */
export type Death = { readonly process: string; readonly atMs: number; readonly awayMs: number }

export type Plan = {
  readonly seed: number
  /** For so long people begin things; then the faults stop. */
  readonly busyMs: number
  /** So long after that everything has come to rest, or is not alive. */
  readonly restWithinMs: number
  /** 'no inbound': nobody has a channel to the market. */
  readonly network: 'whole' | 'no inbound'
  readonly purchases: readonly Purchase[]
  readonly sellers: readonly Seller[]
  readonly weather: readonly Weather[]
  readonly deeds: readonly Deed[]
  readonly deaths: readonly Death[]
  /** Calls at which whoever makes them dies: they are rare, so that a death at any instant hardly ever meets one. */
  readonly fatalCalls: readonly DeathAtCall[]
  readonly cues: readonly Cue[]
  /** How often each kind of fault strikes, per occasion. */
  readonly faults: FaultPlan
  /** How far the clocks of processes are off. */
  readonly skewMs: Readonly<Record<string, number>>
  /** Processes that run with the pinned earlier contracts. */
  readonly old: readonly string[]
  /** In the end, when everything has come to rest, somebody new sells and somebody buys. It costs as much as a third of a seed, so that few plans have it. */
  readonly isSoldOnceMore: boolean
}

/** Every service runs twice. */
export const SERVICES = ['quote', 'order', 'matching', 'settlement', 'channel-watcher', 'accounts', 'gateway'] as const
export const REPLICAS: readonly string[] = SERVICES.flatMap((name) => [`${name}.1`, `${name}.2`])
export const BUYERS = ['buyer', 'buyer-2'] as const
export const SELLERS = ['seller-ada', 'seller-bob', 'seller-cleo'] as const
export const agentOf = (alias: string): string => `agent.${alias}`

export const BUSY_MS = 12_000
export const REST_WITHIN_MS = 240_000
/** A seed takes some ten thousand steps; one that takes so many is not alive, even if its clock stands still. */
export const MOST_STEPS = 400_000
