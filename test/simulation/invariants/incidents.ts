import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Order } from '@penstock/order/state.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import { GUARD_PROCESSES, readSimnetHeight, readSettlementState } from './hold-deadlines.ts'
import { BLOCK_MS, type SimulatedWorld } from '../world/simulated-world.ts'

/** The time and the height at which a settlement started. */
type SettleStart = { readonly atMs: number; readonly height: number }

/** Milliseconds after a disturbance in which the guard may still wait for its retry. */
const MAX_BACKOFF_MS = 5000
/** With this number of blocks or fewer before its expiry, a payment is not settled. */
const CLAIM_BLOCKS = 12
/** The number of blocks that may arrive during the call that settles. */
const SLACK_BLOCKS = 2

/** Checks that each incident that the market records has a cause in the simulated world. */
export function createIncidentCheck(world: SimulatedWorld, log: FoldedLog): () => void {
  const settleStarts = new Map<string, SettleStart>()
  let nextEvent = 0
  return () => {
    for (const { category, aggregateId, fact } of log.events.slice(nextEvent)) {
      if (category !== 'settlement') continue
      const { type, data } = fact as SettlementFact // The category determines the type.
      if (type === 'SettlementStarted')
        settleStarts.set(aggregateId, { atMs: world.engine.schedule.now(), height: readSimnetHeight(world.simnet) })
      if (type !== 'IncidentRecorded' || hasCause(world, log, aggregateId, data.what, settleStarts.get(aggregateId))) continue
      throw new InvariantViolation(
        'incidents have causes',
        `order ${aggregateId} records "${data.what}" without a cause in the simulated world`,
      )
    }
    nextEvent = log.events.length
  }
}

function hasCause(
  world: SimulatedWorld,
  log: FoldedLog,
  orderId: string,
  incident: string,
  settleStarts: SettleStart | undefined,
): boolean {
  const { plan } = world
  switch (incident) {
    case 'settle-missed':
      return settleStarts !== undefined && couldNotSettle(world, log, orderId, settleStarts)
    case 'hold-lost-while-settling':
      return (
        wasCancelledManually(world, log, orderId) ||
        (settleStarts !== undefined && couldNotSettle(world, log, orderId, settleStarts))
      )
    case 'operator-loss':
      return isOperatorLoss(world, log, orderId)
    case 'funding-reorged':
      return hasHappened(world, 're-org')
    case 'funding-spent':
      return findFunding(world, log, orderId)?.is_spent === 1n || hasHappened(world, 're-org')
    case 'seller-paid-late':
      return readSettlementState(log, orderId)?.payout.creditor === 'buyer'
    case 'promise-broken':
      return hasExcessiveFees(world, log, orderId)
    // An attestation after the settlement contradicts the proof.
    case 'terms-broken':
      return plan.triggers.some(({ injections }) => injections.some(({ name }) => name === 'the seller attests falsely'))
    default:
      return false
  }
}

/** Whether the market cancelled the payment although the sold channel exists. */
function isOperatorLoss({ simnet }: SimulatedWorld, log: FoldedLog, orderId: string): boolean {
  const state = readSettlementState(log, orderId)
  const terms = state?.hold.registered?.terms
  const [channel] = simnet.rows<{ readonly a: string; readonly capacity_sat: bigint }>(
    `SELECT a, capacity_sat FROM channels WHERE outpoint = '${state?.hold.registered?.outpoint ?? ''}'`,
  )
  return state?.hold.status === 'cancelled' && channel?.a === terms?.sellerPubkey && channel?.capacity_sat !== undefined
}

const hasHappened = ({ engine }: SimulatedWorld, incident: string): boolean => (engine.faults.counts()[incident] ?? 0) > 0

const wasCancelledManually = ({ manuallyCancelled }: SimulatedWorld, log: FoldedLog, orderId: string): boolean =>
  manuallyCancelled.has(readSettlementState(log, orderId)?.hold.request?.paymentHash ?? '')

/** Whether a settlement had an excuse to fail: disturbed guards, blocks faster than usual, or too few blocks at its start. */
function couldNotSettle(
  { engine, simnet, activeFaults }: SimulatedWorld,
  log: FoldedLog,
  orderId: string,
  { atMs, height }: SettleStart,
): boolean {
  const expiryHeight = readSettlementState(log, orderId)?.hold.payment?.expiryHeight ?? 0
  const undisturbedSince = Math.max(...GUARD_PROCESSES.map((guard) => activeFaults.undisturbedSinceMs(guard)))
  const blocks = readSimnetHeight(simnet) - height
  return (
    undisturbedSince > atMs - MAX_BACKOFF_MS ||
    blocks > (engine.schedule.now() - atMs) / BLOCK_MS + SLACK_BLOCKS ||
    height >= expiryHeight - CLAIM_BLOCKS - SLACK_BLOCKS
  )
}

type Funding = { readonly is_spent: bigint; readonly a_base_msat: bigint; readonly a_ppm: bigint }

function findFunding({ simnet }: SimulatedWorld, log: FoldedLog, orderId: string): Funding | undefined {
  const outpoint = readSettlementState(log, orderId)?.hold.registered?.outpoint ?? ''
  return simnet.rows<Funding>(`SELECT is_spent, a_base_msat, a_ppm FROM channel_view WHERE outpoint = '${outpoint}'`)[0]
}

/** Whether the channel's routing fees exceed the caps that the seller promised for the attempt. */
function hasExcessiveFees(world: SimulatedWorld, log: FoldedLog, orderId: string): boolean {
  const funding = findFunding(world, log, orderId)
  const number = readSettlementState(log, orderId)?.hold.registered?.attempt
  const state = log.state(`order-${orderId}`) as Order | undefined // The order service folds it.
  if (!funding || !state || state.status === 'NONE') return false
  const promised = state.attempts.find((attempt) => attempt.number === number)?.candidate.promises
  if (!promised) return false
  return funding.a_base_msat > 1000n * BigInt(promised.baseFeeCapSat) || funding.a_ppm > BigInt(promised.feeRateCapPpm)
}
