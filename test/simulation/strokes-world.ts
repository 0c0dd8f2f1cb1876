import type { StrokeName } from './cues.ts'
import type { SERVICES } from './plan.ts'
import { agentOf } from './plan.ts'
import { isOnItsWay } from './payables.ts'
import { aliasOf, sellerOf, type Stage, type Subject } from './stage.ts'
import { type Doing, nothing } from './strokes-people.ts'
import { reorganise, undo } from './weather.ts'

/** What nobody's hand does: blocks, re-orgs, nodes that are away, and services of which no replica stands. */
export const events = {
  'blocks are mined': async ({ world }, _, much) => void world.simnet.control.mine(much),
  'the last height comes': async ({ world }, { settlement }, much) => {
    const { request, payment } = settlement?.hold ?? {}
    if (!request || !payment) return nothing()
    const missing = payment.expiryHeight - request.guardBlocks + much - heightOf(world)
    if (missing <= 0) return nothing()
    world.simnet.control.mine(missing)
  },
  'a re-org': async ({ world }, _, much) => void (reorganise(world, much, false) || nothing()),
  'a re-org with the same transactions': async ({ world }, _, much) => void (reorganise(world, much, true) || nothing()),
  'the funding is evicted': async (stage, subject) => {
    const txid = subject.placed.named?.outpoint.split(':')[0]
    const { control, rows } = stage.world.simnet
    if (txid === undefined || isTaken(subject)) return nothing()
    if (rows(`SELECT 1 FROM txs WHERE txid = '${txid}' AND height IS NULL`).length === 0) return nothing()
    control.doubleSpend(txid)
  },
  'the funding is forgotten': async ({ world }, subject, much) => {
    const outpoint = subject.placed.named?.outpoint
    if (outpoint === undefined || isTaken(subject)) return nothing()
    world.simnet.control.forget(outpoint.split(':')[0] ?? '')
    await world.engine.schedule.clock.sleep(much)
    world.simnet.control.rebroadcast(outpoint)
  },
  'the sale is undone': async ({ world }, { settlement }) => {
    if (!settlement) return nothing()
    const { hold, payout } = settlement
    const isUnpaid = !payout.paid && !payout.paying
    // A payout that is under way or made is what confirmations are waited for.
    if (!hold.noted || !isTaken({ settlement }) || !isUnpaid) return nothing()
    if (isOnItsWay(world, settlement) || !undo(world, hold.noted.outpoint)) return nothing()
  },
  'blocks get dear': async ({ world }, _, much) => {
    world.simnet.control.feeFloor(1000)
    await world.engine.schedule.clock.sleep(much)
    world.simnet.control.feeFloor(0)
  },
  'the channel is closed': async ({ world: { simnet } }, { placed }, much) => {
    const outpoint = placed.named?.outpoint
    const isOpen = simnet.rows(
      `SELECT 1 FROM channel_view WHERE outpoint = '${outpoint ?? ''}' AND state = 'published' AND is_seen = 1 AND is_spent = 0
       AND held_msat = 0 AND slots = 0 AND is_online = 1`,
    )
    if (outpoint === undefined || isOpen.length === 0) return nothing()
    simnet.control.close(outpoint, { force: much === 1 })
  },
  'the node is away': (stage, _, much) => away(stage, 'market', much),
  'the buyer is away': (stage, { placed }, much) => away(stage, aliasOf(stage, placed.terms.destination.pubkey), much),
  'the seller is away': (stage, subject, much) => away(stage, sellerOf(stage, subject).alias, much),
  'the buyer keeps probes': async (stage, { placed }, much) => {
    const { control } = stage.world.simnet
    const alias = aliasOf(stage, placed.terms.destination.pubkey)
    control.holdProbes(alias, true)
    await stage.world.engine.schedule.clock.sleep(much)
    control.holdProbes(alias, false)
  },
  'the node cancels the hold': async ({ world }, { settlement }) => {
    const { request } = settlement?.hold ?? {}
    if (!request) return nothing()
    await world.simnet.lightning('market').holds.cancel(request.paymentHash)
    world.cancelledByHand.add(request.paymentHash)
  },
  'the agent dies': async (stage, subject, much) => stage.cradle.kill(agentOf(sellerOf(stage, subject).alias), much),
  'a replica of order stands still': ({ cradle, draws }, _, much) => stand(cradle, `order.${draws.between(1, 2)}`, much),
  'one of order stands still, the other dies': async ({ cradle, draws, world }, _, much) => {
    const [first, other] = draws.pick(EITHER)
    cradle.freeze(`order.${first}`, 5 * much)
    await world.engine.schedule.clock.sleep(much)
    cradle.kill(`order.${other}`, 20)
  },
  'settlement stands still': async ({ cradle, draws }, _, much) => {
    const [first, other] = draws.pick(EITHER)
    cradle.freeze(`settlement.${first}`, much)
    // One of them is behind then.
    cradle.freeze(`settlement.${other}`, 3 * much)
  },
  'order hears settlement late': (stage, { id }, much) => late(stage, 'order', 'settlement.events', (key) => key === id, much),
  'order hears matching late': (stage, { id }, much) => late(stage, 'order', 'matching.events', (key) => key === id, much),
  'order hears the watch late': (stage, { id }, much) =>
    late(stage, 'order', 'channel-watcher.events', (key) => key === id, much),
  'order hears of claims late': (stage, _, much) => late(stage, 'order', 'channel-watcher.events', isOutpoint, much),
  'settlement is asked late': (stage, { id }, much) =>
    late(stage, 'settlement', 'settlement.commands', (key) => key === id, much),
  'matching is asked late': (stage, { id }, much) => late(stage, 'matching', 'matching.commands', (key) => key === id, much),
  'the watch is asked late': (stage, { id }, much) =>
    late(stage, 'channel-watcher', 'channel-watcher.commands', (key) => key === id, much),
  // The streams of payment hashes and of offers have no order's id.
  'payment hashes are answered late': (stage, { id }, much) =>
    late(stage, 'settlement', 'settlement.events', (key) => key !== id, much),
  'offers answer late': (stage, { id }, much) => late(stage, 'matching', 'matching.events', (key) => key !== id, much),
  'order is down': (stage, _, much) => down(stage, 'order', much),
  'matching is down': (stage, _, much) => down(stage, 'matching', much),
  'settlement is down': (stage, _, much) => down(stage, 'settlement', much),
  'channel-watcher is down': (stage, _, much) => down(stage, 'channel-watcher', much),
  'quote is down': (stage, _, much) => down(stage, 'quote', much),
} as const satisfies Partial<Record<StrokeName, Doing>>

const EITHER = [
  [1, 2],
  [2, 1],
] as const

/** Once the money is taken a lost funding is the loss that confirmations are waited for, and no fault of the market. */
const isTaken = ({ settlement }: Pick<Subject, 'settlement'>): boolean =>
  settlement?.hold.status === 'settling' || settlement?.hold.status === 'settled'

const heightOf = ({ simnet }: Stage['world']): number =>
  Number(simnet.rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0)

async function away({ world }: Stage, alias: string, ms: number): Promise<void> {
  world.simnet.control.setOnline(alias, false)
  await world.engine.schedule.clock.sleep(ms)
  world.simnet.control.setOnline(alias, true)
}

const isOutpoint = (key: string): boolean => key.includes(':')

async function late(
  { world }: Stage,
  group: string,
  topic: string,
  isMeant: (key: string) => boolean,
  ms: number,
): Promise<void> {
  world.lags.lag(group, topic, isMeant, world.engine.schedule.now() + ms)
}

async function stand(cradle: Stage['cradle'], name: string, ms: number): Promise<void> {
  cradle.freeze(name, ms)
}

async function down({ cradle }: Stage, service: (typeof SERVICES)[number], ms: number): Promise<void> {
  for (const replica of [1, 2]) cradle.kill(`${service}.${replica}`, ms)
}
