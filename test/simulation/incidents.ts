import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Order } from '@penstock/order/state.ts'
import { Broken, type Ledger } from './checks.ts'
import { GUARDS, heightOf, stateOf } from './watches.ts'
import { BLOCK_MS, type World } from './world.ts'

/** When a payment was to be taken, and how high the chain was. */
type Begun = { readonly atMs: number; readonly height: number }

/** Whoever was troubled so shortly before may still be waiting to try again. */
const LONGEST_PAUSE_MS = 5000
/** From so many blocks before its end on nothing is taken any more, and the last of them may come under the call. */
const CLAIM_BLOCKS = 12
const SLACK_BLOCKS = 2

/** An incident is the market's word for what should not be. Each has its cause in the world, or the market has made it. */
export function incidentsHaveCauses(world: World, ledger: Ledger): () => void {
  const begun = new Map<string, Begun>()
  let seen = 0
  return () => {
    for (const { category, aggregateId, fact } of ledger.events.slice(seen)) {
      if (category !== 'settlement') continue
      const { type, data } = fact as SettlementFact // the category's own
      if (type === 'SettleRequested')
        begun.set(aggregateId, { atMs: world.engine.schedule.now(), height: heightOf(world.simnet) })
      if (type !== 'IncidentNoted' || hasCause(world, ledger, aggregateId, data.what, begun.get(aggregateId))) continue
      throw new Broken('incidents have causes', `order ${aggregateId} notes "${data.what}", and nothing in the world shows why`)
    }
    seen = ledger.events.length
  }
}

function hasCause(world: World, ledger: Ledger, order: string, what: string, begun: Begun | undefined): boolean {
  const { plan } = world
  switch (what) {
    case 'settle-missed':
      return begun !== undefined && couldNotBeTaken(world, ledger, order, begun)
    case 'hold-lost-while-settling':
      return isCancelledByHand(world, ledger, order) || (begun !== undefined && couldNotBeTaken(world, ledger, order, begun))
    case 'operator-loss':
      return isLost(world, ledger, order)
    case 'funding-reorged':
      return hasBeen(world, 're-org')
    case 'funding-spent':
      return fundingOf(world, ledger, order)?.is_spent === 1n || hasBeen(world, 're-org')
    case 'promise-broken':
      return takesTooMuch(world, ledger, order)
    // What was proven is wrong by what somebody has signed since.
    case 'terms-broken':
      return plan.cues.some(({ strokes }) => strokes.some(({ does }) => does === 'the seller attests falsely'))
    default:
      return false
  }
}

/** The payment is back by the market's own doing, and the channel that was sold is there. */
function isLost({ simnet }: World, ledger: Ledger, order: string): boolean {
  const state = stateOf(ledger, order)
  const terms = state?.hold.noted?.terms
  const [channel] = simnet.rows<{ readonly a: string; readonly capacity_sat: bigint }>(
    `SELECT a, capacity_sat FROM channels WHERE outpoint = '${state?.hold.noted?.outpoint ?? ''}'`,
  )
  return state?.hold.status === 'cancelled' && channel?.a === terms?.sellerPubkey && channel?.capacity_sat !== undefined
}

const hasBeen = ({ engine }: World, what: string): boolean => (engine.faults.counts()[what] ?? 0) > 0

const isCancelledByHand = ({ cancelledByHand }: World, ledger: Ledger, order: string): boolean =>
  cancelledByHand.has(stateOf(ledger, order)?.hold.request?.paymentHash ?? '')

/** Somebody was kept from it, or its blocks went by faster than they do by themselves, or there were too few from the start. */
function couldNotBeTaken({ engine, simnet, troubles }: World, ledger: Ledger, order: string, { atMs, height }: Begun): boolean {
  const ends = stateOf(ledger, order)?.hold.payment?.expiryHeight ?? 0
  const calmSince = Math.max(...GUARDS.map((guard) => troubles.calmSinceMs(guard)))
  const blocks = heightOf(simnet) - height
  return (
    calmSince > atMs - LONGEST_PAUSE_MS ||
    blocks > (engine.schedule.now() - atMs) / BLOCK_MS + SLACK_BLOCKS ||
    height >= ends - CLAIM_BLOCKS - SLACK_BLOCKS
  )
}

type Funding = { readonly is_spent: bigint; readonly a_base_msat: bigint; readonly a_ppm: bigint }

function fundingOf({ simnet }: World, ledger: Ledger, order: string): Funding | undefined {
  const outpoint = stateOf(ledger, order)?.hold.noted?.outpoint ?? ''
  return simnet.rows<Funding>(`SELECT is_spent, a_base_msat, a_ppm FROM channel_view WHERE outpoint = '${outpoint}'`)[0]
}

/** By what its seller promised when it got the order. */
function takesTooMuch(world: World, ledger: Ledger, order: string): boolean {
  const funding = fundingOf(world, ledger, order)
  const number = stateOf(ledger, order)?.hold.noted?.attempt
  const state = ledger.state(`order-${order}`) as Order | undefined // the category's own
  if (!funding || !state || state.status === 'NONE') return false
  const promised = state.attempts.find((attempt) => attempt.number === number)?.candidate.promises
  if (!promised) return false
  return funding.a_base_msat > 1000n * BigInt(promised.baseFeeCapSat) || funding.a_ppm > BigInt(promised.feeRateCapPpm)
}
