import type { FlowLink } from '@penstock/testkit/record-flow.ts'
import { type DeterministicBus, deterministicBus } from '@penstock/adapters/deterministic/bus.ts'
import { type DeterministicDatabase, deterministicDatabase } from '@penstock/adapters/deterministic/database.ts'
import { deterministicDisk } from '@penstock/adapters/deterministic/disk.ts'
import { createSimulationEngine, type SimulationEngine } from '@penstock/adapters/deterministic/simulation-engine.ts'
import { type DeterministicEventStore, deterministicEventStore } from '@penstock/adapters/deterministic/event-store.ts'
import { type DeterministicLeases, deterministicLeases } from '@penstock/adapters/deterministic/leases.ts'
import { openSimnet, type Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { ChannelSpec, NodeSpec } from '@penstock/adapters/simnet/topology.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Opener, Sealer } from '@penstock/ports/vault.ts'
import { memoryVault } from '@penstock/adapters/memory/vault.ts'
import { type Config, readConfig } from '@penstock/config/config.ts'
import { type SimulationTrace, createTrace } from './trace.ts'
import { BUYERS, MAX_STEPS, type SimulationPlan, SELLERS } from '../plan/plan.ts'
import { createSeededKeyring } from './seeded-keyring.ts'
import { createWebhookReceivers } from './webhook-receivers.ts'
import { type ConsumerDelays, createConsumerDelays } from './consumer-delays.ts'
import { type SimulatedMarket, createSimulatedMarket } from './gateway-access.ts'
import type { TransactionAnswer } from '../invariants/payments.ts'
import type { CountOccurrence } from '../coverage.ts'
import { createActiveFaults, type ActiveFaults } from './active-faults.ts'

export const SIMULATION_CONFIG: Config = readConfig({
  PENSTOCK_OPEN_WINDOW_SECONDS: '4',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '15',
  PENSTOCK_APPROVAL_WINDOW_SECONDS: '4',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '10',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '12',
  PENSTOCK_LEASE_BLOCKS: '24',
  PENSTOCK_LIVE_SECONDS: '8',
  PENSTOCK_STALE_TIP_SECONDS: '0',
  PENSTOCK_BUY_PER_MINUTE: '0',
  PENSTOCK_LOGIN_PER_MINUTE: '0',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  PENSTOCK_WEBHOOK_WAITS_SECONDS: '1,1,2,2,2,2,2',
  PENSTOCK_ORDERS_PER_DESTINATION: '0',
  PENSTOCK_ORDERS_PER_IP: '0',
})

export const BLOCK_MS = 500

const NODE_SPECS: readonly NodeSpec[] = [
  { alias: 'market', role: 'market', walletSat: 20_000_000n },
  ...BUYERS.map((alias) => ({ alias, role: 'buyer' as const, walletSat: 20_000_000n })),
  ...SELLERS.map((alias) => ({ alias, role: 'seller' as const, walletSat: 200_000_000n })),
  { alias: 'spare', role: 'spare', walletSat: 20_000_000n },
]

const CHANNEL_SPECS: readonly ChannelSpec[] = [
  ...BUYERS.flatMap((from) => Array.from({ length: 2 }, () => ({ from, to: 'market', capacitySat: 10_000_000n }))),
  ...[...SELLERS, 'spare'].map((to) => ({ from: 'market', to, capacitySat: 10_000_000n })),
]

/** The parts of a simulation that survive crashes of processes: servers, network, files, and records of the run. */
export type SimulatedWorld = {
  readonly plan: SimulationPlan
  readonly engine: SimulationEngine
  readonly simnet: Simnet
  readonly market: SimulatedMarket
  readonly store: DeterministicEventStore
  readonly bus: DeterministicBus
  readonly consumerDelays: ConsumerDelays
  readonly views: DeterministicDatabase
  readonly records: DeterministicDatabase
  readonly leases: DeterministicLeases
  readonly keyring: Keyring
  readonly pepper: Uint8Array
  readonly vault: Sealer & Opener
  readonly webhooks: ReturnType<typeof createWebhookReceivers>
  readonly trace: SimulationTrace
  readonly countOccurrence: CountOccurrence
  /** The names of all calls that processes have made. At each of them a process can crash. */
  readonly crashPoints: Set<string>
  /** Each link between a message and its consequence that processes have followed. */
  readonly flowLinks: Set<FlowLink>
  readonly activeFaults: ActiveFaults
  /** Payment hashes of holds that an injection cancelled directly at the market's own node. */
  readonly manuallyCancelled: Set<string>
  /** Outpoints of channels whose fundings a double spend has replaced after the sale. */
  readonly undoneFundings: Set<string>
  /** The dashboard token of the team, by the id of its sandbox's wallet. */
  readonly sandboxTokens: Map<string, string>
  /** The answers to calls that create a transaction, as their callers received them. */
  readonly transactionAnswers: TransactionAnswer[]
  /** Errors that ended a process without an injected crash. */
  readonly crashes: unknown[]
  /** Errors of actions of buyers, sellers and operators that are not expected refusals. */
  readonly unexpectedErrors: unknown[]
}

const isMarketNodeUp = ({ rows }: Simnet): boolean => rows("SELECT 1 FROM nodes WHERE role = 'market' AND online = 1").length > 0

export function createSimulatedWorld(plan: SimulationPlan): SimulatedWorld {
  const { seed, faults } = plan
  const seededEngine = createSimulationEngine({ seed, plan: faults, stepLimit: MAX_STEPS })
  const { schedule } = seededEngine
  const { clock, random } = schedule
  const disk = deterministicDisk(schedule)
  const keys = random.fork('keys')
  const countOccurrence: CountOccurrence = seededEngine.faults.count
  const bus = deterministicBus(schedule, disk)
  const simnet = openSimnet({
    path: ':memory:',
    blockSeconds: BLOCK_MS / 1000,
    clock,
    random: random.fork('network').bytes,
    nodes: NODE_SPECS,
    topology: plan.network === 'whole' ? CHANNEL_SPECS : CHANNEL_SPECS.filter(({ to }) => to !== 'market'),
  })
  const unexpectedErrors: unknown[] = []
  return {
    plan,
    engine: seededEngine,
    simnet,
    market: createSimulatedMarket(clock, random.fork('market'), (error) => void unexpectedErrors.push(error)),
    store: deterministicEventStore(disk),
    bus,
    consumerDelays: createConsumerDelays(() => schedule.now(), countOccurrence),
    views: deterministicDatabase(disk),
    records: deterministicDatabase(disk),
    leases: deterministicLeases(schedule),
    keyring: createSeededKeyring(keys.bytes(32)),
    pepper: keys.bytes(32),
    vault: memoryVault(keys.bytes(32)),
    webhooks: createWebhookReceivers(random.fork('webhooks'), seededEngine.faults.isEnabled),
    trace: createTrace(() => schedule.now(), bus),
    countOccurrence,
    crashPoints: new Set(),
    flowLinks: new Set(),
    activeFaults: createActiveFaults(
      () => schedule.now(),
      () => isMarketNodeUp(simnet),
    ),
    manuallyCancelled: new Set(),
    undoneFundings: new Set(),
    sandboxTokens: new Map(),
    transactionAnswers: [],
    crashes: [],
    unexpectedErrors,
  }
}

export function closeWorld({ simnet, views, records }: SimulatedWorld): void {
  void simnet.close()
  views.close()
  records.close()
}
