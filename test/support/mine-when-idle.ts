import { type WatchedChannel, watchOf } from '@penstock/channel-watcher/channel.ts'
import type { ProcessStep } from '@penstock/kernel/process.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type Fold, openFold } from './invariants/fold.ts'
import { type OrderSnapshot, readOrder } from './market-client.ts'
import type { Product } from './product.ts'

/** Settings of a market whose blocks are mined by a test, and in which no time runs out on a slow machine. */
export const MINED_BY_HAND_SETTINGS: Readonly<Record<string, string>> = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0',
  PENSTOCK_OPEN_WINDOW_SECONDS: '3600',
  PENSTOCK_BUY_ANSWER_SECONDS: '60',
  PENSTOCK_LIVE_SECONDS: '3600',
  PENSTOCK_REQUIRED_CONFIRMATIONS: '8',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
}

/** The order waits for blocks, and for nothing that a seller or a buyer does. */
const WAITS_FOR_BLOCKS = [
  'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  'ON_CHAIN_CONFIRMATION',
  'SELLER_OPENED_CHANNEL',
  'VALID_CHANNEL_OPENING',
]
/** In addition, the seller has submitted a funding transaction that never appears. */
export const WAITS_FOR_LOST_FUNDING = [...WAITS_FOR_BLOCKS, 'SELLER_SENT_TRANSACTION']

/** Only a hang reaches this timeout. */
const TIMEOUT_MS = 240_000

type OrderAccess = Parameters<typeof readOrder>[1]

/** Mines blocks for a market with `PENSTOCK_SIM_BLOCK_SECONDS=0`. Blocks follow the work of the market, and not a clock. */
export type Miner = {
  /** Mines a block whenever the market has nothing left to do and the orders wait for blocks, until the condition holds. */
  mineUntil<T>(
    description: string,
    orders: readonly OrderAccess[],
    read: () => Promise<T>,
    idleStatuses?: readonly string[],
  ): Promise<NonNullable<T>>
  /** Does so until the order has one of the statuses. */
  mineUntilStatus(order: OrderAccess, statuses: readonly string[], idleStatuses?: readonly string[]): Promise<OrderSnapshot>
  close(): Promise<void>
}

export function createMiner(product: () => Product): Miner {
  const fold = openFold(product().dataDir)
  const mineUntil: Miner['mineUntil'] = (description, orders, read, idleStatuses = WAITS_FOR_BLOCKS) =>
    waitUntil(
      description,
      async () => {
        const value = await read()
        if (value) return value
        const snapshots = await Promise.all(orders.map((order) => readOrder(product(), order)))
        const isWaiting = snapshots.every(({ status }) => idleStatuses.includes(status))
        // The market has seen the last block, because the call that mines it waits for that.
        if (isWaiting && (await isIdle(fold))) await product().operator('POST', '/sim/mine', { blocks: 1 })
        return undefined
      },
      TIMEOUT_MS,
      10,
    )
  return {
    mineUntil,
    mineUntilStatus: (order, statuses, idleStatuses) =>
      mineUntil(
        `order ${order.id} reaches ${statuses.join(' or ')}`,
        [order],
        async () => {
          const snapshot = await readOrder(product(), order)
          return statuses.includes(snapshot.status) ? snapshot : undefined
        },
        idleStatuses,
      ),
    close: () => fold.close(),
  }
}

/** This effect waits until a funding transaction appears, perhaps for ever. */
const WAITS_FOR_FUNDING = 'noticeFunding'

/** Whether each stream of the market waits for a time, a height or a transaction. */
async function isIdle(fold: Fold): Promise<boolean> {
  await fold.catchUp()
  const steps = fold.pendingSteps().flatMap((stream) => stream.steps)
  return steps.every((step) => step.kind === 'deadline' || step.step === WAITS_FOR_FUNDING || isWatched(fold, step))
}

/** Whether the step repeats the command to watch of a running watch. The order sends it until the funding appears. */
function isWatched(fold: Fold, step: ProcessStep): boolean {
  if (step.kind !== 'command' || step.command.type !== 'WatchOutpoint') return false
  const watch = watchOf((fold.state(`channel-${step.id}`) ?? { status: 'NONE' }) as WatchedChannel) // The watcher folds this stream.
  const { outpointNumber } = step.command.data as { readonly outpointNumber: number } // The command's contract says so.
  return watch !== null && watch.outpointNumber >= outpointNumber
}
