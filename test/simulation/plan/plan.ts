import type { NodeBehaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { FaultPlan } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import type { CrashPoint } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { serviceNames } from '@penstock/standalone/registry.ts'
import type { Trigger } from './triggers.ts'

/** One planned purchase. Times are in milliseconds of simulated time. */
export type SimulatedPurchase = {
  readonly atMs: number
  readonly buyer: string
  readonly api: 'buy' | 'lsps1' | 'manual'
  readonly options: { readonly private: boolean; readonly rails_cluster_only: boolean }
  readonly usdCents: number
  readonly afterwards: 'pay' | 'pay twice' | 'pay too much' | 'pay at the last moment' | 'leave' | 'cancel' | 'pay and cancel'
  readonly afterMs: number
  /** The required confirmations of an LSPS1 request. */
  readonly confirmations: number
}

/** An invoice of a team's sandbox, and the sends that pay it. `callDelaysMs`: the times of calls with one idempotency key. */
export type SandboxInvoice = {
  readonly atMs: number
  readonly behavior: SandboxBehavior
  readonly expirySeconds: number
  readonly callDelaysMs: readonly number[]
  /** Each send has its own idempotency key. */
  readonly sends: readonly SandboxSend[]
}

export type SandboxSend = Pick<SandboxInvoice, 'behavior' | 'callDelaysMs'>

/** A change of the network during the workload. */
export type NetworkEvent = { readonly atMs: number } & (
  | { readonly kind: 'behave'; readonly alias: string; readonly behaviour: NodeBehaviour }
  | { readonly kind: 'offline'; readonly alias: string; readonly forMs: number }
  | { readonly kind: 'keep probes'; readonly alias: string; readonly forMs: number }
  | { readonly kind: 'reorg'; readonly depth: number; readonly remine: boolean }
  /** A double spend replaces a funding in the mempool. */
  | { readonly kind: 'evict' }
  | { readonly kind: 'close'; readonly force: boolean }
  | { readonly kind: 'dear blocks'; readonly satPerVbyte: number; readonly forMs: number }
  | { readonly kind: 'mine'; readonly blocks: number }
)

/** A manual action of the operator or of a seller. */
export type OperatorAction = { readonly atMs: number } & (
  | {
      readonly actor: 'operator'
      readonly name: 'close an order' | 'disable an offer' | 'enable the offers' | 'grant rails' | 'revoke rails'
    }
  | { readonly actor: string; readonly name: 'toggle' | 'new terms' }
)

/** The answer of a seller without standing acceptance to each order. */
export type SellerAnswer = 'accepts' | 'rejects' | 'says nothing'

export type PlannedSeller = {
  readonly alias: string
  readonly acceptsAutomatically: boolean
  readonly answer: SellerAnswer
  readonly isScarce: boolean
}

/** Kills a process at `atMs`, and restarts it after `awayMs`. */
export type PlannedKill = { readonly process: string; readonly atMs: number; readonly awayMs: number }

export type SimulationPlan = {
  readonly seed: number
  /** Milliseconds of simulated time with purchases, actions and faults. */
  readonly workloadMs: number
  /** Milliseconds after the workload within which the market has to reach quiescence. */
  readonly quiescenceTimeoutMs: number
  /** With `no inbound` no node has a channel to the market. */
  readonly network: 'whole' | 'no inbound'
  readonly purchases: readonly SimulatedPurchase[]
  readonly sandboxInvoices: readonly SandboxInvoice[]
  readonly sellers: readonly PlannedSeller[]
  readonly networkEvents: readonly NetworkEvent[]
  readonly operatorActions: readonly OperatorAction[]
  readonly kills: readonly PlannedKill[]
  /**
   * Calls at which the calling process crashes, and crash points of the runtime and the services. The process crashes after the
   * visit of such a point.
   */
  readonly crashPoints: readonly CrashPoint[]
  /** Whether processes can crash while the market opens, that is, while sellers join. Otherwise visits count from then on. */
  readonly canCrashWhileOpening: boolean
  readonly triggers: readonly Trigger[]
  /** The probability of each kind of fault per call. */
  readonly faults: FaultPlan
  /** The clock errors of processes in milliseconds. */
  readonly skewMs: Readonly<Record<string, number>>
  /** Processes that a roll-out restarts at one instant. */
  readonly rolledOutProcesses: readonly string[]
  /**
   * Whether a new seller sells a channel to a buyer after quiescence. This sale takes a third of the time of a seed, so few plans
   * include it.
   */
  readonly hasLastSale: boolean
}

/** Each service has two replicas. */
export const REPLICAS: readonly string[] = serviceNames.flatMap((name) => [`${name}.1`, `${name}.2`])
export const BUYERS = ['buyer', 'buyer-2'] as const
export const SELLERS = ['seller-ada', 'seller-bob', 'seller-cleo'] as const
export const agentProcessName = (alias: string): string => `agent.${alias}`

export const WORKLOAD_MS = 12_000
export const QUIESCENCE_TIMEOUT_MS = 240_000
/** A run fails at this number of steps, even if its clock does not advance. A normal run takes some ten thousand steps. */
export const MAX_STEPS = 400_000
