import type { InjectionName } from '../plan/triggers.ts'
import type { ServiceName } from '@penstock/standalone/registry.ts'
import { agentProcessName } from '../plan/plan.ts'
import { isPayoutPending } from './payouts.ts'
import { findAlias, findSellerOfOrder, type InjectionContext, type InjectionTarget } from './injection-context.ts'
import { type RunInjection, throwNothingToDo } from './people.ts'
import { reorganiseNetwork, undoFunding } from '../workload/network-events.ts'

/** Injections that no person causes: blocks, re-organisations, offline nodes, delayed messages, and processes that stop. */
export const networkInjections = {
  'blocks are mined': async ({ world }, _, amount) => void world.simnet.control.mine(amount),
  'the last height comes': async ({ world }, { settlement }, amount) => {
    const { request, payment } = settlement?.hold ?? {}
    if (!request || !payment) return throwNothingToDo()
    const blocksLeft = payment.expiryHeight - request.guardBlocks + amount - readChainHeight(world)
    if (blocksLeft <= 0) return throwNothingToDo()
    world.simnet.control.mine(blocksLeft)
  },
  'a re-org': async ({ world }, _, amount) => void (reorganiseNetwork(world, amount, false) || throwNothingToDo()),
  'a re-org with the same transactions': async ({ world }, _, amount) =>
    void (reorganiseNetwork(world, amount, true) || throwNothingToDo()),
  'the funding is evicted': async (context, target) => {
    const txid = target.order.outpoint?.outpoint.split(':')[0]
    const { control, rows } = context.world.simnet
    if (txid === undefined || isSettlingOrSettled(target)) return throwNothingToDo()
    if (rows(`SELECT 1 FROM txs WHERE txid = '${txid}' AND height IS NULL`).length === 0) return throwNothingToDo()
    control.doubleSpend(txid)
  },
  'the funding is forgotten': async ({ world }, target, amount) => {
    const outpoint = target.order.outpoint?.outpoint
    if (outpoint === undefined || isSettlingOrSettled(target)) return throwNothingToDo()
    world.simnet.control.forget(outpoint.split(':')[0] ?? '')
    await world.engine.schedule.clock.sleep(amount)
    world.simnet.control.rebroadcast(outpoint)
  },
  'the sale is undone': async ({ world }, { settlement }) => {
    if (!settlement) return throwNothingToDo()
    const { hold, payout } = settlement
    const isUnpaid = !payout.paid && !payout.paying
    // A funding may be removed only before its payout starts. A loss after the payout would not be a fault of the market.
    if (!hold.registered || !isSettlingOrSettled({ settlement }) || !isUnpaid) return throwNothingToDo()
    if (isPayoutPending(world, settlement) || !undoFunding(world, hold.registered.outpoint)) return throwNothingToDo()
  },
  'blocks get dear': async ({ world }, _, amount) => {
    world.simnet.control.feeFloor(1000)
    await world.engine.schedule.clock.sleep(amount)
    world.simnet.control.feeFloor(0)
  },
  'the channel is closed': async ({ world: { simnet } }, { order }, amount) => {
    const outpoint = order.outpoint?.outpoint
    const isOpen = simnet.rows(
      `SELECT 1 FROM channel_view WHERE outpoint = '${outpoint ?? ''}' AND state = 'published' AND is_seen = 1 AND is_spent = 0
       AND held_msat = 0 AND slots = 0 AND is_online = 1`,
    )
    if (outpoint === undefined || isOpen.length === 0) return throwNothingToDo()
    simnet.control.close(outpoint, { force: amount === 1 })
  },
  'the node is away': (context, _, amount) => setNodeAway(context, 'market', amount),
  'the buyer is away': (context, { order }, amount) =>
    setNodeAway(context, findAlias(context, order.terms.destination.pubkey), amount),
  'the seller is away': (context, target, amount) => setNodeAway(context, findSellerOfOrder(context, target).alias, amount),
  'the buyer keeps probes': async (context, { order }, amount) => {
    const { control } = context.world.simnet
    const alias = findAlias(context, order.terms.destination.pubkey)
    control.holdProbes(alias, true)
    await context.world.engine.schedule.clock.sleep(amount)
    control.holdProbes(alias, false)
  },
  'the node cancels the hold': async ({ world }, { settlement }) => {
    const { request } = settlement?.hold ?? {}
    if (!request) return throwNothingToDo()
    await world.simnet.lightning('market').holds.cancel(request.paymentHash)
    world.manuallyCancelled.add(request.paymentHash)
  },
  'the agent dies': async (context, target, amount) =>
    context.host.kill(agentProcessName(findSellerOfOrder(context, target).alias), amount),
  'a replica of order stands still': ({ host, draws }, _, amount) => freezeProcess(host, `order.${draws.between(1, 2)}`, amount),
  'one of order stands still, the other dies': async ({ host, draws, world }, _, amount) => {
    const [first, second] = draws.pick(REPLICA_ORDERS)
    host.freeze(`order.${first}`, 5 * amount)
    await world.engine.schedule.clock.sleep(amount)
    host.kill(`order.${second}`, 20)
  },
  'settlement stands still': async ({ host, draws }, _, amount) => {
    const [first, second] = draws.pick(REPLICA_ORDERS)
    host.freeze(`settlement.${first}`, amount)
    // The second replica is frozen for longer, so it lags behind the first replica.
    host.freeze(`settlement.${second}`, 3 * amount)
  },
  'order hears settlement late': (context, { id }, amount) =>
    delayConsumer(context, 'order', 'settlement.events', (key) => key === id, amount),
  'order hears matching late': (context, { id }, amount) =>
    delayConsumer(context, 'order', 'matching.events', (key) => key === id, amount),
  'order hears the watch late': (context, { id }, amount) =>
    delayConsumer(context, 'order', 'channel-watcher.events', (key) => key === id, amount),
  'order hears of claims late': (context, _, amount) =>
    delayConsumer(context, 'order', 'channel-watcher.events', isOutpoint, amount),
  'settlement is asked late': (context, { id }, amount) =>
    delayConsumer(context, 'settlement', 'settlement.commands.order', (key) => key === id, amount),
  'matching is asked late': (context, { id }, amount) =>
    delayConsumer(context, 'matching', 'matching.commands.order', (key) => key === id, amount),
  'the watch is asked late': (context, { id }, amount) =>
    delayConsumer(context, 'channel-watcher', 'channel-watcher.commands.order', (key) => key === id, amount),
  // The streams of payment-hash claims and offers have no order id, so these delays match every key but the order's.
  'payment hashes are answered late': (context, { id }, amount) =>
    delayConsumer(context, 'settlement', 'settlement.events', (key) => key !== id, amount),
  'offers answer late': (context, { id }, amount) =>
    delayConsumer(context, 'matching', 'matching.events', (key) => key !== id, amount),
  'order is down': (context, _, amount) => killReplicas(context, 'order', amount),
  'matching is down': (context, _, amount) => killReplicas(context, 'matching', amount),
  'settlement is down': (context, _, amount) => killReplicas(context, 'settlement', amount),
  'channel-watcher is down': (context, _, amount) => killReplicas(context, 'channel-watcher', amount),
  'quote is down': (context, _, amount) => killReplicas(context, 'quote', amount),
} as const satisfies Partial<Record<InjectionName, RunInjection>>

const REPLICA_ORDERS = [
  [1, 2],
  [2, 1],
] as const

/** Whether the market has decided to settle. Then a removed funding may cause a loss that is not a fault of the market. */
const isSettlingOrSettled = ({ settlement }: Pick<InjectionTarget, 'settlement'>): boolean =>
  settlement?.hold.status === 'settling' || settlement?.hold.status === 'settled'

const readChainHeight = ({ simnet }: InjectionContext['world']): number =>
  Number(simnet.rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0)

async function setNodeAway({ world }: InjectionContext, alias: string, ms: number): Promise<void> {
  world.simnet.control.setOnline(alias, false)
  await world.engine.schedule.clock.sleep(ms)
  world.simnet.control.setOnline(alias, true)
}

const isOutpoint = (key: string): boolean => key.includes(':')

async function delayConsumer(
  { world }: InjectionContext,
  group: string,
  topic: string,
  matchesKey: (key: string) => boolean,
  ms: number,
): Promise<void> {
  world.consumerDelays.delay(group, topic, matchesKey, world.engine.schedule.now() + ms)
}

async function freezeProcess(host: InjectionContext['host'], name: string, ms: number): Promise<void> {
  host.freeze(name, ms)
}

async function killReplicas({ host }: InjectionContext, service: ServiceName, ms: number): Promise<void> {
  for (const replica of [1, 2]) host.kill(`${service}.${replica}`, ms)
}
