import { type SeededBus, seededBus } from '@penstock/adapters/seeded/bus.ts'
import { type SeededDatabase, seededDatabase } from '@penstock/adapters/seeded/database.ts'
import { seededDisk } from '@penstock/adapters/seeded/disk.ts'
import { engine, type Engine } from '@penstock/adapters/seeded/engine.ts'
import { type SeededEventStore, seededEventStore } from '@penstock/adapters/seeded/event-store.ts'
import { type SeededLeases, seededLeases } from '@penstock/adapters/seeded/leases.ts'
import { openSimnet, type Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { ChannelSpec, NodeSpec } from '@penstock/adapters/simnet/world.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import { type Config, readConfig } from '@penstock/runtime/config.ts'
import { type Diary, openDiary } from './diary.ts'
import { BUYERS, MOST_STEPS, type Plan, SELLERS } from './plan.ts'
import { seededKeyring } from './keyring.ts'
import { type Lags, openLags } from './lags.ts'
import { type Market, openMarket } from './market.ts'
import type { Reached } from './reached.ts'
import { openTroubles, type Troubles } from './troubles.ts'

export const CONFIG: Config = readConfig({
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
  PENSTOCK_ORDERS_PER_DESTINATION: '0',
  PENSTOCK_ORDERS_PER_IP: '0',
})

export const BLOCK_MS = 500

const NODES: readonly NodeSpec[] = [
  { alias: 'market', role: 'market', walletSat: 20_000_000n },
  ...BUYERS.map((alias) => ({ alias, role: 'buyer' as const, walletSat: 20_000_000n })),
  ...SELLERS.map((alias) => ({ alias, role: 'seller' as const, walletSat: 200_000_000n })),
  { alias: 'spare', role: 'spare', walletSat: 20_000_000n },
]

const TOPOLOGY: readonly ChannelSpec[] = [
  ...BUYERS.flatMap((from) => Array.from({ length: 2 }, () => ({ from, to: 'market', capacitySat: 10_000_000n }))),
  ...[...SELLERS, 'spare'].map((to) => ({ from: 'market', to, capacitySat: 10_000_000n })),
]

/** All that outlives a process: the servers, the network, the files. */
export type World = {
  readonly plan: Plan
  readonly engine: Engine
  readonly simnet: Simnet
  readonly market: Market
  readonly store: SeededEventStore
  readonly bus: SeededBus
  readonly lags: Lags
  readonly views: SeededDatabase
  readonly records: SeededDatabase
  readonly leases: SeededLeases
  readonly keyring: Keyring
  readonly pepper: Uint8Array
  readonly diary: Diary
  readonly reached: Reached
  /** Every kind of call that a process has made. */
  readonly points: Set<string>
  readonly troubles: Troubles
  /** Payment hashes whose invoice somebody cancelled at the market's own node, past the market. */
  readonly cancelledByHand: Set<string>
  /** Outpoints whose fundings were taken out of the chain for good once their channels were sold. */
  readonly undone: Set<string>
  /** What ended a process that nobody killed. */
  readonly crashes: unknown[]
  /** What people were answered, or came to themselves, that is neither a no nor a server that cannot be reached. */
  readonly blunders: unknown[]
}

const isUp = ({ rows }: Simnet): boolean => rows("SELECT 1 FROM nodes WHERE role = 'market' AND online = 1").length > 0

export function openWorld(plan: Plan): World {
  const { seed, faults } = plan
  const machine = engine({ seed, plan: faults, mostSteps: MOST_STEPS })
  const { schedule } = machine
  const { clock, random } = schedule
  const disk = seededDisk(schedule)
  const keys = random.fork('keys')
  const reached: Reached = machine.faults.count
  const bus = seededBus(schedule, disk)
  const simnet = openSimnet({
    path: ':memory:',
    blockSeconds: BLOCK_MS / 1000,
    clock,
    random: random.fork('network').bytes,
    nodes: NODES,
    topology: plan.network === 'whole' ? TOPOLOGY : TOPOLOGY.filter(({ to }) => to !== 'market'),
  })
  const blunders: unknown[] = []
  return {
    plan,
    engine: machine,
    simnet,
    market: openMarket(clock, random.fork('market'), (error) => void blunders.push(error)),
    store: seededEventStore(disk),
    bus,
    lags: openLags(() => schedule.now(), reached),
    views: seededDatabase(disk),
    records: seededDatabase(disk),
    leases: seededLeases(schedule),
    keyring: seededKeyring(keys.bytes(32)),
    pepper: keys.bytes(32),
    diary: openDiary(() => schedule.now(), bus),
    reached,
    points: new Set(),
    troubles: openTroubles(
      () => schedule.now(),
      () => isUp(simnet),
    ),
    cancelledByHand: new Set(),
    undone: new Set(),
    crashes: [],
    blunders,
  }
}

export function closeWorld({ simnet, views, records }: World): void {
  void simnet.close()
  views.close()
  records.close()
}
